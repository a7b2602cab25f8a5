"""Skill tools: the decorator, the tool as a value, and the kinds of its results.

Knows nothing of actions or a run, nor of how a file's tools are found (`tool_file`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from agrun_wasm.actions.arguments import CheckedArgs
from agrun_wasm.contracts.action import ArgsSchema
from agrun_wasm.skills.parameters import check_against, specs_of, without_aliases

F = TypeVar("F", bound=Callable[..., Any])

FILE = "tools.py"
_MARK = "__agrun_skill_tool__"

#: kinds of a result that is a step, not the evidence (2.9); every other kind, and none, is terminal
NON_TERMINAL_KINDS = frozenset({"resolution", "lookup", "preparatory", "intermediate", "partial", "other"})


def is_terminal_kind(kind: str | None) -> bool:
    return kind not in NON_TERMINAL_KINDS


class Declared(NamedTuple):
    """What the decorator was given, unchecked: a fault must name the tool, not end the module."""

    description: Any
    parameters: Any
    result_kind: Any
    may_finalize: Any


def skill_tool(
    *,
    description: str = "",
    parameters: Mapping[str, Any] | None = None,
    result_kind: str | None = None,
    may_finalize: bool = True,
) -> Callable[[F], F]:
    """Makes a function of a skill's tools.py a tool of that skill.

    `parameters` is a JSON Schema of an object; properties may declare `aliases`, other spellings a model may use.
    Without a description the docstring's first paragraph counts. `result_kind` is the kind of every result that does
    not name its own; a result of kind final with `markdown` ends the run, unless `may_finalize` is False. The function
    is called with its arguments by name, may be async, and returns JSON.
    """

    def mark(function: F) -> F:
        setattr(function, _MARK, Declared(description, parameters, result_kind, may_finalize))
        return function

    return mark


def declared_of(value: Any) -> Declared | None:
    """What `skill_tool` was given for this value, None where it is no tool."""
    declared = getattr(value, _MARK, None)
    return declared if isinstance(declared, Declared) and callable(value) else None


class SkillTool(NamedTuple):
    """One tool. `parameters` is its JSON Schema with aliases, `accepts` the names its function takes (None: any)."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[..., Any]
    result_kind: str | None = None
    may_finalize: bool = True
    accepts: frozenset[str] | None = None

    @property
    def args_schema(self) -> ArgsSchema:
        """The parameters as far as 2.4 knows their types, with aliases."""
        return specs_of(self.parameters)

    def schema_for_model(self) -> dict[str, Any]:
        """The parameters as a model is shown them: without aliases, at any depth."""
        return dict(without_aliases(self.parameters))

    def describe(self) -> dict[str, Any]:
        """What a model is told of this tool."""
        shown: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "parameters": self.schema_for_model(),
        }
        return shown if self.result_kind is None else {**shown, "resultKind": self.result_kind}

    async def call(self, args: Mapping[str, Any]) -> Any:
        """Runs the function on checked arguments; what it does not take is not passed."""
        result = self.function(**{k: v for k, v in args.items() if self.accepts is None or k in self.accepts})
        return await result if inspect.isawaitable(result) else result


def check_tool_args(tool: SkillTool, args: Mapping[str, Any]) -> CheckedArgs:
    """Arguments under canonical names, the rewrites made on the way, and the first fault with its path inside args."""
    return check_against(tool.parameters, args)
