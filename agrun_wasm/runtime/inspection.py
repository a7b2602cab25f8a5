"""Inspection: what a runtime is made of and what it would send, without a model call. Rules: document 2, 2.13."""

from __future__ import annotations

import json
from typing import Any

from agrun_wasm.contracts.model import Message, ToolSpec
from agrun_wasm.contracts.state import RunState
from agrun_wasm.planner.mode import planner_mode
from agrun_wasm.planner.projection import DECISION_TOOL_SPECS, parameters
from agrun_wasm.planner.prompt import PlannerPrompt, PromptBuilder
from agrun_wasm.planner.sections import BuiltSection
from agrun_wasm.planner.surface import Surface
from agrun_wasm.runtime.plugin import Plugin
from agrun_wasm.session.transcript import Transcript
from agrun_wasm.skills.allowed import allowed_tools
from agrun_wasm.text.digest import digest

#: characters that one token stands for, roughly, in the estimates here
CHARS_PER_TOKEN = 4


def size(value: Any) -> int:
    """Bytes of a text, or of a value as compact JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode("utf-8"))


def describe(surface: Surface, state: RunState) -> dict[str, Any]:
    """The composition as JSON; see 2.13 for its parts. `state` is one of a run that has not begun."""
    prompt = PromptBuilder(surface).prompt(state)
    config = surface.config
    provider = config.provider_config()
    offered = set(prompt.names)
    actions = [
        {
            **action.info().to_json(),
            "policy": surface.policy(action).action,
            "origin": action.origin,
            "schemaBytes": size(parameters(action)),
            "active": action.name in offered,
            "inactiveReason": _inactive_reason(surface, action.name, offered),
        }
        for action in surface.registry
    ]
    described = {
        "profile": config.profile,
        "plugins": [_plugin(plugin) for plugin in config.plugins],
        "capabilities": [
            {"id": name, "active": why is None, "reason": why} for name, why in surface.capabilities.items()
        ],
        "actions": actions,
        "skills": [
            {
                "name": skill.name,
                "description": skill.description,
                "tools": list(skill.tools),
                "trusted": skill.trusted,
                "visible": not surface.catalog.is_denied(skill),
                "diagnostics": [*skill.diagnostics, *allowed_tools(skill, surface.registry.name_of).diagnostics],
            }
            for skill in surface.catalog
        ],
        "promptSections": [_section(section) for section in prompt.sections],
        "provider": {"name": provider.name, "model": provider.model},
        "plannerMode": {
            "mode": state.planner_mode,
            "reason": planner_mode(config)[1],
        },
        "totals": _totals(prompt),
    }
    return {**described, "fingerprint": digest(described)[:32]}


def _inactive_reason(surface: Surface, name: str, offered: set[str]) -> str | None:
    action = surface.registry.get(name)
    if action is None or name in offered:
        return None
    if name in surface.off:
        return surface.off[name]
    if action.planner is None:
        return "hidden from the planner"
    return "denied by policy" if surface.policy(action).action == "deny" else "not available now"


def _plugin(plugin: Plugin) -> dict[str, Any]:
    return {
        "name": plugin.name,
        "version": plugin.version,
        "actions": [action.name for action in plugin.actions],
        "skills": [skill.name for skill in plugin.skills],
        "promptSections": list(plugin.prompt_sections),
        "policy": list(plugin.policy),
        "requiresCapabilities": list(plugin.requires_capabilities),
        "requiresAdapters": list(plugin.requires_adapters),
        "diagnostics": dict(plugin.diagnostics),
    }


def _section(section: BuiltSection) -> dict[str, Any]:
    count = size(section.text)
    return {
        "id": section.id,
        "origin": section.origin,
        "bytes": count,
        "estTokens": -(-len(section.text) // CHARS_PER_TOKEN),
        "active": bool(section.text),
    }


def _totals(prompt: PlannerPrompt) -> dict[str, Any]:
    tools = sum(size(_tool(tool)) for tool in prompt.tools)
    system = size(prompt.system)
    return {
        "systemBytes": system,
        "toolBytes": tools,
        "bytes": system + tools,
        "estTokens": -(-(system + tools) // CHARS_PER_TOKEN),
        "tools": len(prompt.tools),
    }


def inspect(surface: Surface, state: RunState) -> dict[str, Any]:
    """The request that the loop would send first: system with its sections' spans, messages, tools."""
    builder = PromptBuilder(surface)
    prompt = builder.prompt(state)
    as_text = state.planner_mode == "envelope"
    messages = Transcript(state, surface.config.context_budget).view(as_text=as_text)
    request = builder.request(prompt, messages, surface.config.provider_config().settings)
    spans: list[dict[str, Any]] = []
    start = 0
    for section in prompt.sections:
        if section.text:
            spans.append({**_section(section), "start": start, "end": start + len(section.text)})
            start += len(section.text) + 2
    return {
        "plannerMode": state.planner_mode,
        "system": request.system,
        "messages": [_message(message) for message in request.messages],
        "tools": [_tool(tool) for tool in request.tools],
        "sections": spans,
        "totals": {**_totals(prompt), "messageBytes": sum(size(_message(m)) for m in request.messages)},
    }


def _message(message: Message) -> dict[str, Any]:
    shown: dict[str, Any] = {"role": message.role, "text": message.text}
    if message.images:
        shown["images"] = [image.to_json() for image in message.images]
    return shown


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def surface_index(surface: Surface, state: RunState) -> dict[str, Any]:
    """All static definitions: actions, decision tools, prompt sections, capabilities; generated, never hand-kept."""
    return {
        "capabilities": list(surface.capabilities),
        "decisionTools": [_tool(tool) for tool in DECISION_TOOL_SPECS],
        "actions": [
            {
                **action.info().to_json(),
                "origin": action.origin,
                "capability": action.built_in.capability if action.built_in else None,
                "aliases": action.aliases,
                "standalone": action.standalone,
                "guidance": action.planner.guidance if action.planner else "",
                "parameters": parameters(action),
            }
            for action in surface.registry
        ],
        "promptSections": [
            {"id": section.id, "origin": section.origin} for section in PromptBuilder(surface).prompt(state).sections
        ],
    }
