"""How the text of tools.py becomes tools.

The text is run only for skills whose tools are trusted (`skill`); whatever goes wrong in it is a diagnostic, never an
exception, so that the skill still loads. Knows nothing of actions or a run.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.skills.document import lf
from agrun_wasm.skills.frontmatter import Diagnostic, diagnostic
from agrun_wasm.skills.parameters import check_parameters
from agrun_wasm.skills.tools import FILE, Declared, SkillTool, declared_of


def load_tools(text: str, skill_name: str) -> tuple[dict[str, SkillTool], list[Diagnostic]]:
    """Runs the text in a private module of its own and collects its tools, in the order of the file."""
    module, fault = _run(lf(text), skill_name)
    if module is None:
        return {}, [diagnostic("tools_failed", fault)]
    tools: dict[str, SkillTool] = {}
    diagnostics: list[Diagnostic] = []
    for value in list(vars(module).values()):
        declared = declared_of(value)
        if declared is None:
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


def _tool(name: str, function: Callable[..., Any], declared: Declared) -> SkillTool:
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
