"""`@action`: an Action from a typed function. Its argsSchema comes from the type hints or from one pydantic model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

from pydantic import BaseModel, PydanticSchemaGenerationError, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema

from agrun_wasm.actions.context import ActionContext
from agrun_wasm.actions.definition import Action
from agrun_wasm.contracts.errors import ConfigInvalid

_ARG_TYPES = ("string", "number", "integer", "boolean", "array", "object")


def action(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    tier: int | None = None,
    aliases: list[str] | None = None,
    guidance: str = "",
    args_example: dict[str, Any] | None = None,
    standalone: bool = False,
    planner: bool = True,
    permission: Mapping[str, Any] | None = None,
    timeout_ms: int = 30_000,
) -> Callable[[Callable[..., Any]], Action]:
    """Makes the decorated function an Action; `tier` is required.

    The first parameter named `context` is given the ActionContext. All others become arguments by their type hints; a
    single one whose hint is a pydantic model takes the whole arguments object. The description is the docstring's
    first paragraph unless given. Raises CONFIG_INVALID for a hint that JSON cannot express.
    """

    if function is not None:
        raise ConfigInvalid("@action needs its tier in brackets: @action(tier=0) runs, tier 1 or 2 asks, 3 is denied")

    def make(function: Callable[..., Any]) -> Action:
        if not inspect.isroutine(function):
            raise ConfigInvalid(f"@action: takes a function, not {type(function).__name__}")
        label = name or function.__name__
        # Types defined in the function that the action is made in, as in a test or a notebook cell.
        caller = inspect.currentframe()
        names = caller.f_back.f_locals if caller is not None and caller.f_back is not None else {}
        signature = _Signature(function, label, names)
        meta: dict[str, Any] = {
            "aliases": aliases or [],
            "guidance": guidance,
            "standalone": standalone,
            "argsSchema": signature.args_schema(),
        }
        if args_example is not None:
            meta["argsExample"] = args_example
        return Action(
            label,
            description if description is not None else _first_paragraph(function),
            tier,
            planner=meta if planner else False,
            permission=permission,
            timeout_ms=timeout_ms,
            execute=signature.call,
            parameters=signature.names,
        )

    return make


def _first_paragraph(function: Callable[..., Any]) -> str:
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())


def _type_hints(function: Callable[..., Any], label: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters' hints, resolved; the return's is nobody's business here."""
    wanted = {key: hint for key, hint in function.__annotations__.items() if key not in ("return", "context")}
    holder = type("_Hints", (), {"__annotations__": wanted, "__module__": function.__module__})
    try:
        return get_type_hints(holder, getattr(function, "__globals__", {}), dict(names), include_extras=True)
    except NameError as error:
        raise ConfigInvalid(f"action {label!r}: a type hint cannot be resolved: {error}") from None


class _Signature:
    """A function's parameters as JSON Schema, and the way back from JSON to its arguments."""

    def __init__(self, function: Callable[..., Any], label: str, names: Mapping[str, Any]) -> None:
        self._function = function
        self._label = label
        hints = _type_hints(function, label, names)
        parameters = list(inspect.signature(function).parameters.values())
        self._takes_context = bool(parameters) and parameters[0].name == "context"
        own = parameters[1:] if self._takes_context else parameters
        for parameter in own:
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
                raise ConfigInvalid(f"action {label!r}: parameter {parameter.name!r} must be usable by its name")
            if hints.get(parameter.name) is ActionContext:
                raise ConfigInvalid(f"action {label!r}: name the context parameter 'context', and put it first")
        self._open = any(p.kind is p.VAR_KEYWORD for p in own)
        named = [p for p in own if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        self._model: type[BaseModel] | None = None
        if len(named) == 1 and isinstance(hint := hints.get(named[0].name), type) and issubclass(hint, BaseModel):
            self._model = hint
            self._model_parameter = named[0].name
        self._parameters = {p.name: (hints.get(p.name, Any), p.default) for p in named}
        self._adapters = {
            key: _adapter(hint, label, key)
            for key, (hint, _) in self._parameters.items()
            if self._model is None and hint is not Any
        }

    @property
    def names(self) -> frozenset[str] | None:
        """The arguments the function takes, None when it takes any."""
        if self._open:
            return None
        if self._model is not None:
            return frozenset(field.alias or key for key, field in self._model.model_fields.items())
        return frozenset(self._parameters)

    def args_schema(self) -> dict[str, Any]:
        if self._model is not None:
            schema = self._model.model_json_schema(by_alias=True)
            return _properties(schema, schema.get("$defs", {}), self._label, "")
        keys: dict[str, Any] = {}
        for key, (hint, default) in self._parameters.items():
            if hint is Any:
                raise ConfigInvalid(f"action {self._label!r}: parameter {key!r} needs a type hint")
            try:
                schema = self._adapters[key].json_schema(by_alias=True)
            except PydanticInvalidForJsonSchema:
                raise _inexpressible(self._label, key) from None
            spec = _arg_spec(schema, schema.get("$defs", {}), self._label, key)
            keys[key] = {**spec, "required": default is inspect.Parameter.empty}
        return keys

    async def call(self, context: ActionContext, args: dict[str, Any]) -> Any:
        leading = (context,) if self._takes_context else ()
        try:
            if self._model is not None:
                keywords = {self._model_parameter: self._model.model_validate(args)}
            else:
                keywords = {
                    key: self._adapters[key].validate_python(value) if key in self._adapters else value
                    for key, value in args.items()
                }
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise ValueError(f"argument {where or 'value'}: {first['msg']}") from None
        value = self._function(*leading, **keywords)
        return await value if inspect.isawaitable(value) else value


def _adapter(hint: Any, label: str, key: str) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(hint)
    except PydanticSchemaGenerationError:
        raise _inexpressible(label, key) from None


def _inexpressible(label: str, key: str) -> ConfigInvalid:
    return ConfigInvalid(f"action {label!r}: parameter {key!r} has a type that argsSchema cannot express")


def _properties(schema: Mapping[str, Any], defs: Mapping[str, Any], label: str, at: str) -> dict[str, Any]:
    required = schema.get("required", [])
    return {
        key: {**_arg_spec(part, defs, label, f"{at}{key}"), "required": key in required}
        for key, part in schema.get("properties", {}).items()
    }


def _arg_spec(schema: Mapping[str, Any], defs: Mapping[str, Any], label: str, at: str) -> dict[str, Any]:
    """One JSON Schema as an argsSchema entry. `X | None` is an optional X."""
    while "$ref" in schema:
        schema = {**defs[schema["$ref"].rsplit("/", 1)[-1]], **{k: v for k, v in schema.items() if k != "$ref"}}
    if "anyOf" in schema:
        members = [member for member in schema["anyOf"] if member.get("type") != "null"]
        if len(members) != 1:
            raise ConfigInvalid(f"action {label!r}: parameter {at!r} has a union type that argsSchema cannot express")
        return _arg_spec({**members[0], **{k: v for k, v in schema.items() if k == "description"}}, defs, label, at)
    kind = schema.get("type")
    if kind is None and "const" in schema:
        schema = {**schema, "enum": [schema["const"]]}
    if kind is None and "enum" in schema:
        kind = {str: "string", bool: "boolean", int: "integer", float: "number"}.get(type(schema["enum"][0]))
    if kind not in _ARG_TYPES:
        raise _inexpressible(label, at)
    spec: dict[str, Any] = {"type": kind}
    if "enum" in schema:
        spec["enum"] = list(schema["enum"])
    elif "const" in schema:
        spec["enum"] = [schema["const"]]
    if schema.get("description"):
        spec["description"] = schema["description"]
    if kind == "array" and schema.get("items"):
        spec["items"] = _arg_spec(schema["items"], defs, label, f"{at}[]")
    if kind == "object" and schema.get("properties"):
        spec["properties"] = _properties(schema, defs, label, f"{at}.")
    return spec
