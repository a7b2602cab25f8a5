"""Skill tools: the decorator, the tool as a value, and how the text of tools.py becomes tools.

The text is run only for skills whose tools are trusted (`skill`); whatever goes wrong in it is a diagnostic, never an
exception, so that the skill still loads. Knows nothing of actions or a run.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

from agrun_wasm.actions.arguments import CheckedArgs
from agrun_wasm.contracts.action import ArgsSchema
from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.skills.document import lf
from agrun_wasm.skills.frontmatter import Diagnostic, diagnostic
from agrun_wasm.skills.parameters import check_against, check_parameters, specs_of, without_aliases

F = TypeVar("F", bound=Callable[..., Any])

FILE = "tools.py"
_MARK = "__agrun_skill_tool__"

#: kinds of a result that is a step, not the evidence (2.9); every other kind, and none, is terminal
NON_TERMINAL_KINDS = frozenset({"resolution", "lookup", "preparatory", "intermediate", "partial", "other"})


def is_terminal_kind(kind: str | None) -> bool:
    return kind not in NON_TERMINAL_KINDS


@dataclass(frozen=True, slots=True)
class _Declared:
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
        setattr(function, _MARK, _Declared(description, parameters, result_kind, may_finalize))
        return function

    return mark


@dataclass(frozen=True)
class SkillTool:
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


def load_tools(text: str, skill_name: str) -> tuple[dict[str, SkillTool], list[Diagnostic]]:
    """Runs the text in a private module of its own and collects its tools, in the order of the file."""
    module, fault = _run(lf(text), skill_name)
    if module is None:
        return {}, [diagnostic("tools_failed", fault)]
    tools: dict[str, SkillTool] = {}
    diagnostics: list[Diagnostic] = []
    for value in list(vars(module).values()):
        declared = getattr(value, _MARK, None)
        if not isinstance(declared, _Declared) or not callable(value):
            continue
        name = getattr(value, "__name__", "")
        try:
            tools[name] = _tool(name, value, declared)
        except ConfigInvalid as error:
            diagnostics.append(diagnostic("tool_invalid", f"{FILE}: {error.message}; this tool was left out"))
    if not tools and not diagnostics:
        diagnostics.append(diagnostic("no_tools", f"{FILE} defines no function with @skill_tool"))
    return tools, diagnostics


def _run(text: str, skill_name: str) -> tuple[ModuleType | None, str]:
    file = f"{skill_name}/{FILE}"
    digest = hashlib.sha256(f"{skill_name}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()
    # The name derives from the content, so that loading a skill again and again leaves one entry; dataclasses and
    # annotations look their module up in sys.modules, during the import and later.
    module = ModuleType(f"_agrun_skill_{re.sub(r'[^a-z0-9]', '_', skill_name.lower())}_{digest[:16]}")
    module.__file__ = file
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, file, "exec", dont_inherit=True), vars(module))
    except (Exception, SystemExit) as error:
        sys.modules.pop(module.__name__, None)
        return None, f"{FILE} cannot be loaded: {_place(error, file)}{type(error).__name__}: {error}"
    return module, ""


def _place(error: BaseException, file: str) -> str:
    """`line 7: ` for the innermost line of the tool file that the error passed."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f"line {error.lineno}: "
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"line {lines[-1]}: " if lines else ""


def _tool(name: str, function: Callable[..., Any], declared: _Declared) -> SkillTool:
    where = f"tool {name!r}"
    description = declared.description or (inspect.getdoc(function) or "").split("\n\n")[0]
    if not isinstance(description, str):
        raise ConfigInvalid(f"{where}: 'description' must be a string")
    if declared.result_kind is not None and not isinstance(declared.result_kind, str):
        raise ConfigInvalid(f"{where}: 'result_kind' must be a string")
    if not isinstance(declared.may_finalize, bool):
        raise ConfigInvalid(f"{where}: 'may_finalize' must be True or False")
    parameters = {"type": "object", "properties": {}} if declared.parameters is None else declared.parameters
    check_parameters(parameters, where)
    return SkillTool(
        name=name,
        description=" ".join(description.split()),
        parameters=parameters,
        function=function,
        result_kind=declared.result_kind or None,
        may_finalize=declared.may_finalize,
        accepts=_accepted(function),
    )


def _accepted(function: Callable[..., Any]) -> frozenset[str] | None:
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
