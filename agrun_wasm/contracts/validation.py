"""Host input to contracts: what pydantic found, said in our words with the key and its nearest known neighbour.

Owns the wording. Values are never echoed, since a config holds keys and headers (2.5).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from agrun_wasm.contracts.base import Contract
from agrun_wasm.contracts.errors import AgrunError, ConfigInvalid
from agrun_wasm.contracts.naming import did_you_mean

M = TypeVar("M", bound=Contract)


def parse(model: type[M], data: Any, where: str, error: Callable[[str], AgrunError] = ConfigInvalid) -> M:
    """`data` as `model`, or `error` with a message that names the place, the key and what was expected.

    `where` is how the host knows the thing: `config`, `action 'add'`, `run input`.
    """
    try:
        return model.model_validate(data)
    except ValidationError as found:
        raise error(explain(model, found, where)) from None


def explain(model: type[BaseModel], found: ValidationError, where: str) -> str:
    """Every fault in one message, one clause each."""
    clauses: list[str] = []
    for fault in found.errors(include_input=False, include_url=False):
        loc = fault["loc"]
        path = _path(loc)
        if fault["type"] == "extra_forbidden":
            clause = f"unknown key {path!r}{did_you_mean(str(loc[-1]), _known_keys(model, loc[:-1]))}"
        elif fault["type"] == "missing":
            clause = f"{path!r} is missing"
        else:
            clause = f"{path!r}: {_said(fault['msg'])}" if path else _said(fault["msg"])
        if clause not in clauses:
            clauses.append(clause)
    return f"{where}: " + "; ".join(clauses)


def _said(text: str) -> str:
    text = text.removeprefix("Value error, ")
    return text[:1].lower() + text[1:]


def _path(loc: tuple[int | str, ...]) -> str:
    """`a.b[2].c`; union tags that pydantic puts into a location are left out."""
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not _is_tag(part):
            path += f".{part}" if path else part
    return path


def _is_tag(part: str) -> bool:
    # pydantic names the member of a union that it tried: a class name, a type word or `function-after[...]`.
    return "[" in part or part[:1].isupper() or part in {"str", "int", "float", "bool", "dict", "list", "none"}


def _known_keys(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    models = [model]
    for part in loc:
        if isinstance(part, str) and _is_tag(part):
            named = [m for m in models if m.__name__ == part]
            models = named or models
            continue
        models = [found for m in models for found in _models_under(m, part)] or models
    return [field.alias or name for m in models for name, field in m.model_fields.items()]


def _models_under(model: type[BaseModel], part: int | str) -> list[type[BaseModel]]:
    for name, field in model.model_fields.items():
        if part in (name, field.alias):
            return _models_in(field.annotation)
    return []


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for arg in get_args(annotation) for found in _models_in(arg)]
