"""One model call of any purpose: streamed, retried, booked, cut by stop and deadline. Rules: 2.5 Retries, 2.14."""

from __future__ import annotations

from agrun_wasm.contracts.errors import ProviderError
from agrun_wasm.contracts.model import ModelEvent, ModelReply, ModelRequest, ReasoningDelta, TextDelta, ToolArgsDelta
from agrun_wasm.loop.budget import book
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.waiting import bounded
from agrun_wasm.providers.retry import collect_reply


async def call_model(ctx: RunContext, request: ModelRequest, *, shown: bool) -> ModelReply:
    """The reply. `shown`: its text is streamed as the answer it may be, and is what a stop leaves as partial text.

    Raises ProviderError when retries are used up, Stopped and DeadlineReached.
    """
    pieces: list[str] = []

    def on_delta(event: ModelEvent) -> None:
        if type(event) is TextDelta:
            if shown and event.text:
                pieces.append(event.text)
                ctx.emit("text-delta", text=event.text)
        elif isinstance(event, ReasoningDelta):
            ctx.emit("reasoning-delta", text=event.text)
        elif isinstance(event, ToolArgsDelta):
            ctx.emit("tool-args-delta", callId=event.call_id, name=event.name, text=event.text)

    def on_retry(attempt: int, delay_ms: float, error: ProviderError) -> None:
        if pieces:
            pieces.clear()
            ctx.emit("answer-superseded", reason="the call is tried again")
        ctx.emit("model-retry", attempt=attempt, delayMs=delay_ms, code=error.code, purpose=request.purpose)

    try:
        reply = await bounded(
            collect_reply(
                lambda: ctx.ports.provider.stream(request),
                retry=ctx.ports.provider_config.retry,
                clock=ctx.clock,
                on_delta=on_delta,
                on_retry=on_retry,
            ),
            clock=ctx.clock,
            stop=ctx.stop.cuts_model_calls,
            deadline_at=ctx.deadline_at,
        )
    finally:
        if shown:
            ctx.streamed = bool(pieces)
            ctx.state.partial_text = "".join(pieces)
    book(ctx, reply.usage)
    return _redacted(ctx, reply)


def _redacted(ctx: RunContext, reply: ModelReply) -> ModelReply:
    """What a model writes enters the state: a key that it was shown somewhere must not (2.5)."""
    redactor = ctx.ports.redactor
    reply.text = redactor.text(reply.text)
    reply.tool_calls = [
        call
        if (text := redactor.text(call.args_text)) is call.args_text
        else call.model_copy(update={"args_text": text})
        for call in reply.tool_calls
    ]
    return reply
