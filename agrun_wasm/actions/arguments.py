"""Argument validation against an argsSchema: alias rewriting, then required, type, enum. Rules: 2.4 Validation.

Pure. Single calls, batch and plan items, approved calls and skill tools all pass through here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from agrun_wasm.contracts.action import ArgSpec, ArgsSchema

FaultReason = Literal["missing", "type", "enum", "not_object", "preflight"]


class ArgFault(NamedTuple):
    """The first failure: `key` is the path inside args (None for the whole), `error` says what was expected."""

    key: str | None
    reason: FaultReason
    error: str


class CheckedArgs(NamedTuple):
    """Canonical arguments, the rewrites made on the way, and the first fault if there is one."""

    args: dict[str, Any]
    rewrites: list[dict[str, Any]]
    fault: ArgFault | None


def check_args(schema: ArgsSchema | None, args: Mapping[str, Any]) -> CheckedArgs:
    """`args` after the phases of 2.4; the given mapping is left as it is. Without a schema any object passes."""
    if schema is None:
        return CheckedArgs(dict(args), [], None)
    rewrites: list[dict[str, Any]] = []
    canonical = _rewrite_object(schema, args, "", rewrites)
    fault = None
    for phase in (_missing, _wrong_type, _outside_enum):
        fault = next((f for spec, path, value in _walk(schema, canonical, "") if (f := phase(spec, path, value))), None)
        if fault:
            break
    return CheckedArgs(canonical, rewrites, fault)


def _rewrite_object(
    schema: Mapping[str, ArgSpec], args: Mapping[str, Any], at: str, rewrites: list[dict[str, Any]]
) -> dict[str, Any]:
    result: dict[str, Any] = {}
    alias_owner = {alias: key for key, spec in schema.items() for alias in spec.aliases}
    chosen = {key: _choose(key, spec, args, at, rewrites) for key, spec in schema.items() if spec.aliases}
    for name, value in args.items():
        owner = alias_owner.get(name)
        key = owner if owner is not None else name
        if key in chosen:
            value = chosen[key]
        if key in result:
            continue
        spec = schema.get(key)
        if value is None and spec is not None and not spec.required:
            continue  # an optional null says "nothing"
        if owner is not None and value is None:
            continue  # only null aliases were given
        result[key] = value if spec is None else _rewrite_value(spec, value, f"{at}{key}", rewrites)
    return result


def _choose(key: str, spec: ArgSpec, args: Mapping[str, Any], at: str, rewrites: list[dict[str, Any]]) -> Any:
    """The value that counts for `key`: the canonical one, else the first declared alias present."""
    present = [alias for alias in spec.aliases if alias in args]
    if not present:
        return args.get(key)
    value = args.get(key)
    kept = key if value is not None else next((alias for alias in present if args[alias] is not None), None)
    if kept is not None:
        value = args[kept]
    for alias in present:
        given = args[alias]
        if given is not None:  # a null alias counts as absent
            collision = alias != kept and not _same(given, value)
            rewrites.append({"from": f"{at}{alias}", "to": f"{at}{key}", "collision": collision})
    return value


def _rewrite_value(spec: ArgSpec, value: Any, path: str, rewrites: list[dict[str, Any]]) -> Any:
    if spec.properties is not None and isinstance(value, Mapping):
        return _rewrite_object(spec.properties, value, f"{path}.", rewrites)
    if spec.items is not None and isinstance(value, list):
        return [_rewrite_value(spec.items, item, f"{path}[{i}]", rewrites) for i, item in enumerate(value)]
    return value


_ABSENT = object()


def _walk(schema: Mapping[str, ArgSpec], args: Mapping[str, Any], at: str) -> Iterator[tuple[ArgSpec, str, Any]]:
    for key, spec in schema.items():
        yield from _walk_value(spec, f"{at}{key}", args.get(key, _ABSENT))


def _walk_value(spec: ArgSpec, path: str, value: Any) -> Iterator[tuple[ArgSpec, str, Any]]:
    yield spec, path, value
    if spec.properties is not None and isinstance(value, Mapping):
        yield from _walk(spec.properties, value, f"{path}.")
    if spec.items is not None and isinstance(value, list):
        for i, item in enumerate(value):
            yield from _walk_value(spec.items, f"{path}[{i}]", item)


def _missing(spec: ArgSpec, path: str, value: Any) -> ArgFault | None:
    blank = isinstance(value, str) and not value.strip()
    if spec.required and (value is _ABSENT or value is None or blank):
        return ArgFault(path, "missing", f"{path!r} is required ({spec.type})")
    return None


def _wrong_type(spec: ArgSpec, path: str, value: Any) -> ArgFault | None:
    if value is _ABSENT or has_type(value, spec.type):
        return None
    return ArgFault(path, "type", f"{path!r} must be {_ARTICLES[spec.type]}, not {json_type(value)}")


def _outside_enum(spec: ArgSpec, path: str, value: Any) -> ArgFault | None:
    if value is _ABSENT or spec.enum is None or any(_same(value, member) for member in spec.enum):
        return None
    return ArgFault(path, "enum", f"{path!r} must be one of {spec.enum}")


def _same(value: Any, member: Any) -> bool:
    # In JSON true is not 1, though Python says so.
    return value == member and isinstance(value, bool) == isinstance(member, bool)


_ARTICLES = {
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "a boolean",
    "array": "an array",
    "object": "an object",
}


def has_type(value: Any, expected: str) -> bool:
    """Is `value` of the JSON type? A bool is no number; 2.0 is an integer; nothing is coerced."""
    if expected in ("number", "integer"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return expected == "number" or isinstance(value, int) or value.is_integer()
    kinds: dict[str, type | tuple[type, ...]] = {"string": str, "boolean": bool, "array": list, "object": Mapping}
    return isinstance(value, kinds[expected])


def json_type(value: Any) -> str:
    """The JSON type of `value`, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    for python, name in ((str, "a string"), ((int, float), "a number"), (list, "an array")):
        if isinstance(value, python):
            return name
    return "an object"
