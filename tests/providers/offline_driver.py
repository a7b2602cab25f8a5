"""A loop in small for the tests of the offline planner: skills and actions run, everything as native messages."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agrun_wasm.actions.arguments import check_args
from agrun_wasm.actions.clarification import clarification_action
from agrun_wasm.actions.definition import Action, Refused
from agrun_wasm.contracts.effects import SkillActivated, SkillRead
from agrun_wasm.contracts.model import Finished, Message, ModelRequest, TextDelta, ToolCallDone, ToolSpec
from agrun_wasm.contracts.request import RunInput
from agrun_wasm.contracts.state import Budgets, RunState
from agrun_wasm.planner.projection import DECISION_TOOL_SPECS, tool_spec
from agrun_wasm.providers.offline import OfflineProvider
from agrun_wasm.skills.actions import skill_actions
from agrun_wasm.skills.catalog import SkillCatalog
from agrun_wasm.skills.prompt import catalog_section
from agrun_wasm.skills.skill import Skill


@dataclass
class Context:
    state: RunState


@dataclass
class Played:
    """How a request went: the calls in order, the last text, and the question if one was asked."""

    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    text: str = ""
    question: str | None = None
    messages: list[Message] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    @property
    def tool(self) -> tuple[str, dict[str, Any]] | None:
        """The skill tool that was run, with its arguments."""
        found = [args for name, args in self.calls if name == "execute_skill_tool"]
        return (found[-1]["toolName"], found[-1]["args"]) if found else None


async def reply_to(request: ModelRequest) -> tuple[str, Message]:
    """The reply's text, and the whole reply as a message."""
    text, calls, finished = "", [], False
    async for event in OfflineProvider().stream(request):
        assert not finished
        if isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, ToolCallDone):
            calls.append(event.call)
        finished = isinstance(event, Finished)
    assert finished
    assert len(calls) <= 1
    return text, Message(role="assistant", kind="decision", text=text, tool_calls=calls)


async def play(
    prompt: str,
    skills: Sequence[Skill],
    actions: Sequence[Action] = (),
    *,
    before: Sequence[Message] = (),
    system: Callable[[SkillCatalog], str] = catalog_section,
    policy: dict[str, Any] | None = None,
    most: int = 9,
) -> Played:
    catalog = SkillCatalog(skills, policy or {})
    builtins = skill_actions(catalog, reserved=lambda _name: None) if catalog.visible() else []
    offered = {action.name: action for action in (*builtins, clarification_action(), *actions)}
    tools: tuple[ToolSpec, ...] = (*(tool_spec(action) for action in offered.values()), *DECISION_TOOL_SPECS)
    state = RunState(run_id="r", session_id="s", request=RunInput(prompt=prompt), budgets=Budgets(steps_left=9))
    played = Played(messages=[*before, Message(role="user", kind="prompt", text=prompt)])
    for _ in range(most):
        request = ModelRequest("planner", f"You plan.\n\n{system(catalog)}\n\nMore.", tuple(played.messages), tools)
        text, message = await reply_to(request)
        played.messages.append(message)
        if not message.tool_calls:
            played.text = text
            return played
        call = message.tool_calls[0]
        args = json.loads(call.args_text)
        played.calls.append((call.name, args))
        if call.name == "ask_clarification":
            played.question = args["question"]
            return played
        result, is_error = await _run(offered[call.name], state, args)
        played.messages.append(
            Message(
                role="tool", kind="result", tool_call_id=call.id, tool_name=call.name, text=result, is_error=is_error
            )
        )
    raise AssertionError(f"no end after {played.calls}")


async def _run(action: Action, state: RunState, args: dict[str, Any]) -> tuple[str, bool]:
    checked = check_args(action.args_schema, args)
    if checked.fault:
        return checked.fault.error, True
    ready = checked.args
    if action.built_in and action.built_in.gate:
        entry = action.built_in.gate(state, ready)
        if entry and entry.action == "deny":
            return f"{action.name} is denied by policy", True
    if action.built_in and action.built_in.prepare:
        prepared = action.built_in.prepare(state, ready)
        if isinstance(prepared, Refused):
            return prepared.error, True
        ready = prepared.args
    try:
        value = action.execute(Context(state), ready)  # type: ignore[arg-type]
        value = await value if inspect.isawaitable(value) else value
    except Exception as error:
        return f"{action.name} failed: {error}", True
    for effect in value.get("effects", []) if isinstance(value, dict) else []:
        if isinstance(effect, SkillRead):
            state.agent_skill_context.read.append(effect.name)
            state.agent_skill_context.last_read = effect.name
        elif isinstance(effect, SkillActivated):
            state.agent_skill_context.active = effect.name
    output = value["output"] if isinstance(value, dict) and "control" in value else value
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False), False
