"""The planner's request: system text, tools and messages for one cycle; the loop and inspection both build it here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from agrun_wasm.actions.definition import Action
from agrun_wasm.contracts.model import Message, ModelRequest, ToolSpec
from agrun_wasm.contracts.state import RunState
from agrun_wasm.planner.decision_schema import decision_schema
from agrun_wasm.planner.mode import has_native_tools
from agrun_wasm.planner.projection import DECISION_TOOL_SPECS, tool_spec
from agrun_wasm.planner.sections import BuiltSection, Moment, build_sections
from agrun_wasm.planner.surface import Surface


class PlannerPrompt(NamedTuple):
    """System text with its sections, the tools (native mode only), and the names offered."""

    system: str
    sections: list[BuiltSection]
    tools: tuple[ToolSpec, ...]
    offered: list[Action]
    #: what the reply must fit, for a model without native tools that can be held to a schema
    response_schema: Mapping[str, Any] | None = None

    @property
    def names(self) -> list[str]:
        return [action.name for action in self.offered]


class PromptBuilder:
    """Builds planner prompts of one run; the same surface and skill give the very same objects again."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._known: tuple[object, PlannerPrompt] | None = None
        self._sent = 0

    def prompt(self, state: RunState) -> PlannerPrompt:
        offered = self._surface.offered(state)
        skill = state.agent_skill_context
        key = (state.planner_mode, tuple(a.name for a in offered), skill.active, skill.handoff_context)
        if self._known is None or self._known[0] != key:
            self._known = (key, self._build(state, offered))
        return self._known[1]

    def _build(self, state: RunState, offered: list[Action]) -> PlannerPrompt:
        sections = build_sections(Moment(self._surface, state, state.planner_mode, offered))
        system = "\n\n".join(section.text for section in sections if section.text)
        native = state.planner_mode == "native_tools"
        tools = (*(tool_spec(action) for action in offered), *DECISION_TOOL_SPECS) if native else ()
        schema = None if native or has_native_tools(self._surface.config) else decision_schema(offered)
        return PlannerPrompt(system, sections, tools, offered, schema)

    def request(
        self, prompt: PlannerPrompt, messages: tuple[Message, ...], settings: Mapping[str, Any]
    ) -> ModelRequest:
        """The planner's request; remembers how much of it the next one will repeat."""
        request = ModelRequest(
            purpose="planner",
            system=prompt.system,
            messages=messages,
            tools=prompt.tools,
            settings=settings,
            response_schema=prompt.response_schema,
            stable_prefix=min(self._sent, len(messages)),
        )
        self._sent = len(messages)
        return request
