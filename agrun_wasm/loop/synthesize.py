"""Per-action synthesis: one isolated call for each section, intro and outro, then the stitched text. Rules: 2.7."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from agrun_wasm.contracts.decision import PlanDecision, PlanItem
from agrun_wasm.contracts.errors import ProviderError
from agrun_wasm.contracts.model import ModelRequest
from agrun_wasm.contracts.state import CallState
from agrun_wasm.loop.budget import out_of_budget
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.endings import final_section
from agrun_wasm.loop.model_call import call_model
from agrun_wasm.loop.outcome import Answer, Outcome
from agrun_wasm.loop.stitch import SectionText, clean_part, stitch
from agrun_wasm.planner.writing import PartPurpose, part_request

T = TypeVar("T")


class _Part(NamedTuple):
    text: str
    failure: str | None = None
    reused: bool = False


async def synthesize(ctx: RunContext, plan: PlanDecision, calls: list[CallState]) -> Outcome:
    """The stitched answer; OutOfBudget, without stitching, when a budget was spent on the way."""
    intro_prompt = _prompt(plan.stitch.intro_prompt if plan.stitch else None)
    outro_prompt = _prompt(plan.stitch.outro_prompt if plan.stitch else None)
    ctx.emit(
        "synthesize-per-action-start",
        sectionCount=len(calls),
        hasIntro=intro_prompt is not None,
        hasOutro=outro_prompt is not None,
    )
    room = asyncio.Semaphore(ctx.config.max_section_parallel)
    overview = "\n".join(_overview(call) for call in calls)

    async def section(call: CallState, key: str) -> _Part:
        part = _ready_made(ctx, call) or await _write(ctx, room, _section_request(ctx, call), key)
        _done(ctx, call.index or 0, part)
        return part

    async def around(purpose: Literal["intro", "outro"], prompt: str | None, key: str) -> str | None:
        if prompt is None:
            return None
        part = await _write(ctx, room, _request(ctx, purpose, prompt, f"Results, one line each:\n{overview}"), key)
        _done(ctx, purpose, part)
        return part.text

    # Keys in the order of the text, whatever order the calls are made in: who resumes counts the same way.
    first, last, *keys = [ctx.new_model_call() for _ in range(len(calls) + 2)]
    frame = asyncio.ensure_future(_both(around("intro", intro_prompt, first), around("outro", outro_prompt, last)))
    try:
        parts = await _all([section(call, key) for call, key in zip(calls, keys, strict=True)])
        intro, outro = await frame
    finally:
        await _end([frame])
    if spent := out_of_budget(ctx):
        return spent
    sections = [SectionText(_title(call), part.text, part.failure) for call, part in zip(calls, parts, strict=True)]
    text = stitch(sections, plan.stitch, intro, outro)
    failed = sum(1 for part in parts if part.failure is not None)
    ctx.emit("synthesize-stitch-done", sectionCount=len(sections), failedSectionCount=failed)
    return Answer(text=text, source="plan_synthesize")


async def _both(first: Awaitable[T], second: Awaitable[T]) -> tuple[T, T]:
    both = await _all([first, second])
    return both[0], both[1]


async def _all(work: Sequence[Awaitable[T]]) -> list[T]:
    """All results in order; the first exception cancels the others, and none is left behind."""
    tasks = [asyncio.ensure_future(part) for part in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        await _end(tasks)


async def _end(tasks: Sequence[asyncio.Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _request(ctx: RunContext, purpose: PartPurpose, prompt: str, material: str) -> ModelRequest:
    return part_request(ctx.state, purpose, prompt, material, settings=ctx.ports.provider_config.settings)


def _ready_made(ctx: RunContext, call: CallState) -> _Part | None:
    """What needs no call: a failed item, or a final tool result's own markdown."""
    outcome = call.outcome
    if outcome is None or not outcome.has_output:
        return _Part("", failure=(outcome.error if outcome else None) or "not run")
    markdown = final_section(ctx, call, "planIndex")
    if markdown is not None:
        text = clean_part(markdown)
        return _Part(text, failure=None if text.strip() else "empty text", reused=True)
    return None


async def _write(ctx: RunContext, room: asyncio.Semaphore, request: ModelRequest, key: str) -> _Part:
    async with room:
        if out_of_budget(ctx):
            return _Part("", failure="the budget was spent")
        try:
            reply = await call_model(ctx, request, shown=False, key=key)
        except ProviderError as error:
            return _Part("", failure=f"{error.code}: {ctx.ports.redactor.text(error.message)}")
    if reply.finish == "length":
        ctx.state.diagnostics["truncated"] = "a section was cut at the token limit"
    text = clean_part(reply.text)
    return _Part(text) if text.strip() else _Part("", failure="empty text")


def _section_request(ctx: RunContext, call: CallState) -> ModelRequest:
    item = call.call
    prompt = item.section.prompt if isinstance(item, PlanItem) and item.section else None
    observation = call.outcome.observation if call.outcome else ""
    material = f"Result of {item.action_name}:\n{observation}"
    return _request(ctx, "section", prompt or "", material)


def _done(ctx: RunContext, place: int | str, part: _Part) -> None:
    ctx.emit(
        "synthesize-section-done",
        sectionIndex=place,
        ok=part.failure is None,
        reusedDirectFinal=part.reused,
        error=part.failure,
    )


def _overview(call: CallState) -> str:
    outcome = call.outcome
    name = call.call.action_name
    if outcome is None:
        return f"- {name}: not run"
    return f"- {name}: {outcome.summary if outcome.has_output else outcome.error}"


def _title(call: CallState) -> str | None:
    item = call.call
    return item.section.title if isinstance(item, PlanItem) and item.section else None


def _prompt(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
