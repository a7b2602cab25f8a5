"""A tool's JSON Schema: what of it the argsSchema rules cover, what a model is shown, and the check of arguments.

Rules: document 2, 2.9 Tool args. The phases of 2.4 come first; what they cannot express is left to a JSON Schema
validator, which is imported only where a schema needs one. Knows nothing of skills or of running a tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, get_args

from agrun_wasm.actions.arguments import ArgFault, CheckedArgs, FaultReason, check_args
from agrun_wasm.actions.definition import schema_fault
from agrun_wasm.contracts.action import ArgSpec, ArgsSchema, ArgType
from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.text.shorten import one_line

_TYPES: tuple[str, ...] = get_args(ArgType)
#: keywords that the phases of 2.4 check, and those that check nothing
_COVERED = frozenset({"type", "properties", "required", "enum", "items", "aliases"})
_NOTES = frozenset({"title", "description", "default", "examples", "deprecated", "$comment"})
#: keywords whose value maps names to schemas, and those whose value is data
_NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
_DATA = frozenset({"enum", "const", "default", "examples", "required", "dependentRequired"})
#: JSON Schema keyword -> reason of the fault, in the order of 2.4's phases; any other keyword is preflight
_REASONS: dict[str, FaultReason] = {"required": "missing", "type": "type", "enum": "enum"}


def check_parameters(parameters: Any, where: str) -> None:
    """Raises CONFIG_INVALID where the schema cannot be used: no object, malformed keywords, aliases that collide."""
    if not isinstance(parameters, Mapping):
        raise ConfigInvalid(f"{where}: 'parameters' must be a JSON Schema object")
    if parameters.get("type", "object") != "object":
        raise ConfigInvalid(f"{where}: 'parameters.type' must be 'object', not {parameters['type']!r}")
    try:
        json.dumps(parameters, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigInvalid(f"{where}: 'parameters' is not JSON: {error}") from None
    _check_shape(parameters, where, "parameters")
    if fault := schema_fault(specs_of(parameters, every_type=True)):
        raise ConfigInvalid(f"{where}: {fault}")


def _check_shape(schema: Mapping[str, Any], where: str, at: str) -> None:
    for keyword, form, words in (("properties", Mapping, "an object"), ("required", list, "a list of names")):
        if keyword in schema and not isinstance(schema[keyword], form):
            raise ConfigInvalid(f"{where}: '{at}.{keyword}' must be {words}")
    aliases = schema.get("aliases", [])
    if not isinstance(aliases, list) or not all(isinstance(alias, str) and alias for alias in aliases):
        raise ConfigInvalid(f"{where}: '{at}.aliases' must be a list of names")
    parts = {f"properties.{name}": part for name, part in schema.get("properties", {}).items()}
    if isinstance(schema.get("items"), Mapping):
        parts["items"] = schema["items"]
    for name, part in parts.items():
        if isinstance(part, Mapping):
            _check_shape(part, where, f"{at}.{name}")
        elif not isinstance(part, bool):
            raise ConfigInvalid(f"{where}: '{at}.{name}' must be a JSON Schema")


def specs_of(schema: Mapping[str, Any], *, every_type: bool = False) -> ArgsSchema:
    """The schema's properties as an argsSchema, nested ones too.

    A property of a type that 2.4 does not know is left out; `every_type` keeps it as an object, for its aliases.
    """
    required = schema.get("required", ())
    specs: ArgsSchema = {}
    for name, part in schema.get("properties", {}).items():
        if (spec := _spec_of(part, required=name in required, every_type=every_type)) is not None:
            specs[name] = spec
    return specs


def _spec_of(part: Any, *, required: bool, every_type: bool) -> ArgSpec | None:
    if not isinstance(part, Mapping):
        return None
    known = part.get("type") in _TYPES
    if not known and not every_type:
        return None
    return ArgSpec(
        type=part["type"] if known else "object",
        required=required,
        aliases=list(part.get("aliases", ())),
        enum=list(part["enum"]) if isinstance(part.get("enum"), list) else None,
        items=_spec_of(part.get("items"), required=False, every_type=every_type),
        properties=specs_of(part, every_type=every_type) if "properties" in part else None,
        description=part["description"] if isinstance(part.get("description"), str) else "",
    )


def without_aliases(schema: Any) -> Any:
    """The schema without the keyword `aliases`, at any depth; a property of that name stays."""
    if isinstance(schema, list):
        return [without_aliases(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    shown: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in _DATA:
            shown[keyword] = value
        elif keyword in _NAMED_SCHEMAS and isinstance(value, Mapping):
            shown[keyword] = {name: without_aliases(part) for name, part in value.items()}
        elif keyword != "aliases":
            shown[keyword] = without_aliases(value)
    return shown


def check_against(parameters: Mapping[str, Any], args: Mapping[str, Any]) -> CheckedArgs:
    """`args` under canonical names, the rewrites made, and the first fault (key: its path inside args)."""
    rewritten = check_args(specs_of(parameters, every_type=True), args)
    checked = check_args(specs_of(parameters), rewritten.args)
    fault = checked.fault
    if fault is None and not _is_covered(parameters):
        fault = _schema_fault(without_aliases(parameters), checked.args)
    return CheckedArgs(checked.args, rewritten.rewrites, fault)


def _is_covered(schema: Any) -> bool:
    """Do the phases of 2.4 check all that this schema asks for?"""
    if not isinstance(schema, Mapping):
        return schema is True
    parts = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return (
        all(keyword in _COVERED or keyword in _NOTES for keyword in schema)
        and schema.get("type") in _TYPES
        and all(_is_covered(part) for part in parts)
    )


def _schema_fault(schema: dict[str, Any], args: Mapping[str, Any]) -> ArgFault | None:
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import EMPTY_REGISTRY

    validator_class = validator_for(schema, default=Draft202012Validator)
    try:
        validator_class.check_schema(schema)
        # The registry is given, since the default one would fetch remote references over the network.
        errors = list(validator_class(schema, registry=EMPTY_REGISTRY).iter_errors(args))
    except (SchemaError, Unresolvable, RecursionError, re.error) as error:
        return ArgFault(
            None, "preflight", f"the tool's parameters are no usable JSON Schema: {one_line(str(error), 200)}"
        )
    if not errors:
        return None
    order = [*_REASONS]
    first = min(errors, key=lambda error: order.index(error.validator) if error.validator in order else len(order))
    reason = _REASONS.get(str(first.validator), "preflight")
    return ArgFault(_key(first), reason, one_line(first.message, 300))


def _key(error: Any) -> str | None:
    """`range.start`, `tags[2]`: where the fault is; for a missing or superfluous key, where that key is."""
    path = list(error.absolute_path)
    if error.validator == "required":
        path += [name for name in error.validator_value if name not in error.instance][:1]
    elif error.validator == "additionalProperties":
        declared = error.schema.get("properties", {})
        patterns = error.schema.get("patternProperties", {})
        path += [n for n in error.instance if n not in declared and not any(re.search(p, n) for p in patterns)][:1]
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or None
