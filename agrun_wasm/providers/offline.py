"""The key-less provider: a deterministic planner without a language model that drives the very same loop.

Owned here: what it does next, in the order a model would: read a skill, activate it, run a tool, answer. It sees the
model request and nothing else, keeps no state, and says what it is. Matching words is its trade, not the runtime's.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from agrun_wasm.contracts.model import (
    Finished,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    TokenUsage,
    ToolArgsDelta,
    ToolCall,
    ToolCallDone,
)
from agrun_wasm.providers import offline_answer as answer
from agrun_wasm.providers.offline_choice import (
    WORTH_ASKING,
    WORTH_ASKING_OF_SKILL,
    Candidate,
    rank_tools,
    skill_scores,
)
from agrun_wasm.providers.offline_parts import plan_of_parts
from agrun_wasm.providers.offline_request import Asked, read_request
from agrun_wasm.providers.offline_view import ASK, LIST, PLAN, READ, RUN, USE, View, read_view
from agrun_wasm.providers.offline_words import stems_of

__all__ = ["OfflineProvider"]

#: skills read for one request before it gives up
_MOST_READ = 4
#: stems of questions about the planner itself
_ABOUT_ITSELF = stems_of("skill tool action list available capability able support offline planner agrun")
_PIECE = re.compile(r"\s*\S+")


@dataclass(frozen=True, slots=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    args: dict[str, Any]
    why: str


class OfflineProvider:
    """A ModelProvider that needs no key, no network and no model; the same request gives the same reply."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        step = next_step(request)
        if isinstance(step, Say):
            for piece in _PIECE.findall(step.text) or [step.text]:
                await asyncio.sleep(0)
                yield TextDelta(piece)
            yield Finished("stop", TokenUsage())
            return
        made = sum(len(message.tool_calls) for message in request.messages)
        call = ToolCall(id=f"offline-{made + 1}", name=step.name, args_text=json.dumps(step.args, ensure_ascii=False))
        yield ReasoningDelta(step.why)
        yield ToolArgsDelta(call.id, call.name, call.args_text)
        yield ToolCallDone(call)
        yield Finished("tool_calls", TokenUsage())


def next_step(request: ModelRequest) -> Say | Call:
    """What to do next, from the request alone."""
    if request.purpose not in ("planner", "repair"):
        return Say(answer.written(request))
    view = read_view(request)
    if not request.tools:
        words = f"{answer.WHO} I need native tools (plannerMode auto or native_tools)."
        return Say(json.dumps({"type": "final", "answer": words}))
    done = [result for result in view.results if result.name not in (LIST, READ, USE, ASK)]
    if done:
        return Say(answer.result_sentence(done[-1]))
    asked = read_request(view.prompt, view.known)
    if set(asked.wanted) <= _ABOUT_ITSELF and not asked.numbers and not asked.urls:
        return Say(answer.introduction(view))
    return _serve(view, asked)


def _serve(view: View, asked: Asked) -> Say | Call:
    if not view.skills and view.offers(LIST) and not view.calls(LIST):
        return Call(LIST, {}, "Looking for skills that fit.")
    scores = skill_scores(asked, view.skills)
    tools = [*view.actions, *(tool for tools in view.skill_tools.values() for tool in tools)]
    ranked = rank_tools(asked, tools, scores)
    best = ranked[0] if ranked and ranked[0].is_ready else None
    incomplete = [candidate for candidate in ranked if _is_worth_asking(candidate, scores)]
    unread = _next_to_read(view, scores)
    if unread is not None and _is_worth_reading(asked, scores[unread], best, incomplete):
        return Call(READ, {"skillName": unread}, f"The skill {unread} may fit the request.")
    closest = max(incomplete, key=lambda candidate: candidate.match, default=None)
    if best is not None and (closest is None or closest.match <= best.match):
        return _use(view, asked, best)
    if closest is not None:
        return _ask(view, closest)
    return Say(answer.nothing_fits(view))


def _next_to_read(view: View, scores: dict[str, float]) -> str | None:
    tried = {str(result.args.get("skillName")) for result in view.calls(READ)}
    left = [name for name in view.skills if name not in tried and name not in view.skill_tools]
    if not left or not view.offers(READ) or len(tried) >= _MOST_READ:
        return None
    return max(left, key=lambda name: scores[name])


def _is_worth_reading(asked: Asked, score: float, best: Candidate | None, incomplete: list[Candidate]) -> bool:
    """A description that shares a word or, with nothing better, words that only a tool's schema may know."""
    if best is not None:
        return score > best.score
    return score > 0 or (not incomplete and (bool(asked.numbers) or len(asked.wanted) > 1))


def _is_worth_asking(candidate: Candidate, scores: dict[str, float]) -> bool:
    skill = candidate.tool.skill
    fits = candidate.match >= WORTH_ASKING and (skill is None or scores[skill] >= WORTH_ASKING_OF_SKILL)
    return fits and bool(candidate.filled.missing)


def _use(view: View, asked: Asked, best: Candidate) -> Say | Call:
    tool, args = best.tool, best.filled.args
    if tool.skill is not None and view.active != tool.skill:
        refused = [result for result in view.calls(USE) if not result.ok]
        if refused:
            return Say(answer.result_sentence(refused[-1]))
        return Call(USE, {"skillName": tool.skill}, f"The tool {tool.name} of the skill {tool.skill} fits the request.")
    if view.offers(PLAN) and (plan := plan_of_parts(asked, tool)):
        return Call(PLAN, plan, f"{tool.name} serves each of the {len(plan['actions'])} parts of the request.")
    if tool.skill is None:
        return Call(tool.name, args, f"The action {tool.name} fits the request.")
    return Call(RUN, {"toolName": tool.name, "args": args}, f"Running {tool.name} with what the request says.")


def _ask(view: View, candidate: Candidate) -> Say | Call:
    text, name = answer.question(candidate.tool, candidate.filled)
    if view.offers(ASK) and not view.calls(ASK):
        return Call(ASK, {"question": text}, f"{candidate.tool.name} fits, but {name} is missing.")
    return Say(text)
