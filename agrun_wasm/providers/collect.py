"""A stream of model events to one reply, and its rules for how a stream ends (2.3, 2.5).

Owned here: what counts as a whole reply. Must not know: transports, dialects, and what is tried again (`retry`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from agrun_wasm.contracts.errors import ProviderError
from agrun_wasm.contracts.model import (
    Finished,
    FinishReason,
    ModelEvent,
    ModelReply,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDone,
)
from agrun_wasm.providers.errors import bad_response

__all__ = ["EventStream", "collect"]

#: what a provider's `stream` gives: an async iterator, or a coroutine that gives one
EventStream = AsyncIterator[ModelEvent] | Awaitable[AsyncIterator[ModelEvent]]


async def collect(stream: EventStream, on_event: Callable[[ModelEvent], None]) -> ModelReply:
    """The reply of one stream; `on_event` is called with every event as it comes.

    Raises ProviderError, with the text so far as `partial_text`. The stream is closed however it ends, so that its
    connection goes with it.
    """
    text: list[str] = []
    reasoning: list[str] = []
    calls: list[ToolCall] = []
    finished: Finished | None = None
    events = stream if isinstance(stream, AsyncIterator) else await stream
    try:
        async for event in events:
            kind = type(event)
            if kind is TextDelta:
                text.append(event.text)  # type: ignore[union-attr]
            elif kind is ReasoningDelta:
                reasoning.append(event.text)  # type: ignore[union-attr]
            elif isinstance(event, ToolCallDone):
                calls.append(event.call)
            elif isinstance(event, Finished):
                finished = event
            on_event(event)
    except ProviderError as error:
        error.partial_text = error.partial_text or "".join(text)
        raise
    finally:
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()
    whole = "".join(text)
    if finished is None:
        raise bad_response("the stream ended without its end mark", partial_text=whole)
    reason = _finish(finished.reason, bool(calls))
    if reason == "content_filter" and not whole.strip() and not calls:
        named = finished.raw_reason or "content_filter"
        raise ProviderError(
            "CONTENT_FILTERED",
            f"the provider's content filter left no text ({named})",
            hint="Rephrase the request, or use another model.",
            details={"reason": named},
        )
    return ModelReply(
        text=whole,
        reasoning="".join(reasoning),
        tool_calls=calls,
        finish=reason,
        usage=finished.usage,
        raw_reason=finished.raw_reason,
        provider_data=finished.provider_data,
    )


def _finish(said: FinishReason, has_calls: bool) -> FinishReason:
    """What came counts, not what was said: servers say "stop" beside calls and "tool_calls" without any."""
    if said in ("stop", "tool_calls"):
        return "tool_calls" if has_calls else "stop"
    return said
