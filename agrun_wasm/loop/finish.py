"""The only door: every way a run can end passes here once. Rules: document 2, 2.5 outputs, 2.8, 2.10 Sources.

Normalises the text, adds disclosure and Sources as data, and never deletes what the model wrote. A second call is a
programming error.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from agrun_wasm.contracts.errors import ErrorInfo
from agrun_wasm.contracts.events import StepType
from agrun_wasm.contracts.request import RequestedCitations
from agrun_wasm.contracts.result import AnswerSource, RunStatus
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.outcome import Answer, Blocked, Failed, OutOfBudget
from agrun_wasm.research.citations import (
    append_disclosure,
    append_sources,
    cite,
    disclosure,
    has_own_sources,
    sources_section,
)
from agrun_wasm.research.review import ANNOTATED
from agrun_wasm.text.blocks import trim, with_lf

DOOR = "loop/finish"
_CONTINUATION_TEXT = {
    "steps": "The steps of this run are spent; extend it to go on.",
    "deadline": "The time of this run is spent; extend it to go on.",
    "cost": "The cost budget of this run is spent; extend it to go on.",
}


class Composed(NamedTuple):
    """An output as it leaves, with what the diagnostics say of it."""

    output: dict[str, Any]
    notes: dict[str, Any]


def requested_citations(ctx: RunContext) -> RequestedCitations | None:
    return ctx.state.request.requested_citations or ctx.config.requested_citations


def compose(ctx: RunContext, answer: Answer) -> Composed:
    """The output of a final answer. Pure: the same answer gives the same output, however often it is asked for."""
    research = ctx.state.research_context
    text = _normalised(answer.text)
    cited = cite(text, answer.citations, research)
    notes: dict[str, Any] = {"finalTextNormalizedBy": DOOR}
    if cited.unread:
        notes["citations"] = {"unread": cited.unread}
    wanted = requested_citations(ctx)
    short = wanted is not None and cited.cited_read < wanted.min_url_count
    if short and wanted is not None:
        notes["citationGap"] = {"have": cited.cited_read, "need": wanted.min_url_count}
    if answer.source in ANNOTATED:
        if ctx.config.research.append_sources == "auto" and cited.citations and not has_own_sources(text):
            text = append_sources(text, sources_section(cited.citations, research))
        if short and wanted is not None:
            text = append_disclosure(text, disclosure(cited.cited_read, wanted.min_url_count))
    output = {
        **answer.fields,
        "kind": "final",
        "text": text,
        "citations": cited.citations,
        "citationsStatus": cited.status,
    }
    return Composed(ctx.ports.redactor.value(output), notes)


def _normalised(text: str) -> str:
    return trim(with_lf(text))


def deliver(ctx: RunContext, answer: Answer) -> None:
    """A final answer leaves."""
    composed = compose(ctx, answer)
    ctx.state.diagnostics.update(composed.notes)
    _stream_rest(ctx, composed.output["text"])
    _end(ctx, "completed", answer.source, output=composed.output)


def _stream_rest(ctx: RunContext, text: str) -> None:
    """What a reader of the stream has not seen of the text that is delivered; all of it where they saw another one."""
    shown = ctx.state.partial_text if ctx.streamed else ""
    if _normalised(shown) == text:
        return
    if shown and not text.startswith(shown):
        ctx.supersede("the delivered text is another one")
        shown = ""
    if rest := text[len(shown) :]:
        ctx.emit("text-delta", text=rest)


def block(ctx: RunContext, blocked: Blocked) -> None:
    _end(ctx, "blocked", blocked.source, output=ctx.ports.redactor.value(blocked.output))


def pause(ctx: RunContext, spent: OutOfBudget) -> None:
    output = {"kind": "continuation_required", "reason": spent.reason, "text": _CONTINUATION_TEXT[spent.reason]}
    _end(ctx, "continuation", "budget", output=output)


def abort(ctx: RunContext) -> None:
    """The run was stopped: what had been written stays."""
    ctx.state.diagnostics["partialText"] = ctx.state.partial_text
    _end(ctx, "aborted", "aborted")


def fail(ctx: RunContext, failed: Failed) -> None:
    error = ErrorInfo.model_validate(ctx.ports.redactor.value(failed.error.to_json()))
    if ctx.state.partial_text:
        ctx.state.diagnostics["partialText"] = ctx.state.partial_text
    _end(ctx, "failed", "failed", error=error)


_END_STEPS: dict[RunStatus, StepType] = {
    "completed": "run-completed",
    "blocked": "run-blocked",
    "continuation": "run-continuation",
    "failed": "run-failed",
    "aborted": "run-aborted",
}


def _end(
    ctx: RunContext,
    status: RunStatus,
    source: AnswerSource,
    *,
    output: dict[str, Any] | None = None,
    error: ErrorInfo | None = None,
) -> None:
    state = ctx.state
    if state.status != "running":
        raise RuntimeError(f"the run has ended already ({state.status}); the door is passed once")
    state.status = status
    state.output = output
    state.final_answer_source = source
    state.error = error
    detail: dict[str, Any] = {"source": source}
    if output is not None and output.get("reason"):
        detail["reason"] = output["reason"]
    if error is not None:
        detail["code"] = error.code
        detail["message"] = error.message
    ctx.emit(_END_STEPS[status], **detail)
    ctx.settle()
