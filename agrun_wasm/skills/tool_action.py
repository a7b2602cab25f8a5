"""execute_skill_tool: one action for every tool of the active skill. Rules: document 2, 2.9 Tool args, Tool results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from agrun_wasm.actions.definition import Prepared, Refused
from agrun_wasm.contracts.naming import did_you_mean
from agrun_wasm.contracts.policy import PolicyEntry
from agrun_wasm.contracts.state import RunState
from agrun_wasm.skills.allowed import offered_tools
from agrun_wasm.skills.catalog import ResolveAction, SkillCatalog
from agrun_wasm.skills.reading import text_arg
from agrun_wasm.skills.skill import Skill
from agrun_wasm.skills.tools import SkillTool, check_tool_args

NAME = "execute_skill_tool"
RESULT_KIND = "agent_skill_tool_result"

#: keys of the action itself; any other key beside toolName is one of the tool's
CONTROL_KEYS = ("skillName", "toolName", "args", "reasoning")

Steps = tuple[tuple[str, dict[str, Any]], ...]


class LiftedArgs(NamedTuple):
    """The action's args under their three keys, and the other keys: lifted into args, or dropped beside full ones."""

    args: dict[str, Any]
    lifted: tuple[str, ...]
    dropped: tuple[str, ...]


def lift_args(args: Mapping[str, Any]) -> LiftedArgs:
    """Lifts a tool's arguments that stand beside toolName, only where `args` is absent, null or empty."""
    beside = {key: value for key, value in args.items() if key not in CONTROL_KEYS}
    inner = args.get("args")
    lifts = not inner
    canonical = {key: args[key] for key in ("skillName", "toolName") if args.get(key) is not None}
    canonical["args"] = beside if lifts else inner
    keys = tuple(beside)
    return LiftedArgs(canonical, keys if lifts else (), () if lifts else keys)


class ExecuteTool:
    """Runs a tool of the active skill on checked arguments."""

    def __init__(self, catalog: SkillCatalog, resolve: ResolveAction) -> None:
        self._catalog = catalog
        self._resolve = resolve

    def gate(self, state: RunState, args: dict[str, Any]) -> PolicyEntry | None:
        named = text_arg(args, "skillName") or state.agent_skill_context.active or ""
        skill = self._catalog.get(named)
        return self._catalog.policy_of(skill, text_arg(args, "toolName")) if skill else None

    def prepare(self, state: RunState, args: dict[str, Any]) -> Prepared | Refused:
        lifted = lift_args(args)
        tool_name = args["toolName"].strip()
        lifted.args["toolName"] = tool_name
        steps: Steps = ()
        if lifted.lifted:
            steps = (("skill-tool-args-lifted", {"toolName": tool_name, "keys": list(lifted.lifted)}),)
        found = self._find(state, text_arg(args, "skillName"), tool_name)
        if not isinstance(found, SkillTool):
            error, problem = found
            return Refused(error, problem=problem, detail=(("toolName", tool_name),), steps=steps)
        checked = check_tool_args(found, lifted.args["args"])
        if checked.rewrites:
            detail = {"actionName": NAME, "toolName": tool_name, "rewrites": checked.rewrites}
            steps += (("action-args-alias-rewrite", detail),)
        if checked.fault is not None:
            fault = checked.fault
            return Refused(
                fault.error,
                key=fault.key,
                reason="preflight" if fault.reason == "not_object" else fault.reason,
                problem="args_invalid",
                detail=(("toolName", tool_name),),
                steps=steps,
            )
        return Prepared({**lifted.args, "args": checked.args}, steps)

    def _find(self, state: RunState, skill_name: str | None, tool_name: str) -> SkillTool | tuple[str, str]:
        """The tool, or why it cannot be called and the problem code of that."""
        active = state.agent_skill_context.active
        if active is None:
            return "no skill is active; activate one with use_agent_skill first", "preflight_failed"
        skill = self._catalog.get_visible(active)
        if skill is None:
            return f"the active skill {active!r} is not available here", "preflight_failed"
        if skill_name is not None and self._catalog.get(skill_name) is not skill:
            return f"the active skill is {skill.name!r}, not {skill_name!r}; leave skillName out", "preflight_failed"
        if action := self._resolve(tool_name):
            return f"{tool_name!r} is no skill tool but the action {action}; call {action} itself", "preflight_failed"
        tools = offered_tools(self._catalog, skill, self._resolve)
        if tool_name not in tools:
            return _no_such_tool(skill, tools, tool_name), "skill_tool_unknown"
        return tools[tool_name]

    async def execute(self, context: Any, args: dict[str, Any]) -> dict[str, Any]:
        state: RunState = context.state
        skill = self._catalog.get_visible(state.agent_skill_context.active or "")
        tool = skill.tools.get(args["toolName"]) if skill else None
        if skill is None or tool is None:
            raise LookupError(f"the tool {args['toolName']!r} is not available any more")
        output = tool_output(skill.name, tool, args["args"], await tool.call(args["args"]))
        return {
            "control": "continue",
            "output": output,
            "summary": f"{skill.name}.{tool.name}: {'done' if tool_result_ok(output) else 'not ok'}",
            "effects": [],
        }


def _no_such_tool(skill: Skill, tools: Mapping[str, SkillTool], name: str) -> str:
    if name in skill.tools:
        return f"the tool {name!r} is left out by the allowed-tools of the skill {skill.name!r}"
    if skill.has_tools_file and not skill.trusted:
        return f"the tools of the skill {skill.name!r} are not trusted here and cannot be run"
    listed = ", ".join(tools) or "none"
    return f"the skill {skill.name!r} has no tool {name!r}{did_you_mean(name, tools)} (tools: {listed})"


def tool_output(skill: str, tool: SkillTool, args: Mapping[str, Any], result: Any) -> dict[str, Any]:
    """A tool's result in its envelope: resultKind and _meta are moved out of it, the call's own kind before the
    declared one."""
    if isinstance(result, BaseModel):
        result = result.model_dump(mode="json", by_alias=True)
    kind, meta = tool.result_kind, None
    if isinstance(result, Mapping):
        rest = dict(result)
        own, meta = rest.pop("resultKind", None), rest.pop("_meta", None)
        kind = own if isinstance(own, str) and own else kind
        result = rest
    output = {"kind": RESULT_KIND, "skill": skill, "tool": tool.name, "args": dict(args), "result": result}
    if kind is not None:
        output["resultKind"] = kind
    if meta is not None:
        output["_meta"] = meta
    return output


def tool_result_ok(output: Any) -> bool:
    """Is this a skill tool's result that does not say `ok: false`?"""
    if not isinstance(output, Mapping) or output.get("kind") != RESULT_KIND:
        return False
    result = output.get("result")
    return not (isinstance(result, Mapping) and result.get("ok") is False)
