"""One model call of any purpose: streamed, retried, booked, cut by stop and deadline. Rules: 2.5 Retries, 2.14."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agrun_wasm.contracts.errors import ErrorInfo, ProviderError
from agrun_wasm.contracts.model import (
    ModelEvent,
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolArgsDelta,
    ToolCall,
)
from agrun_wasm.loop.budget import book
from agrun_wasm.loop.checkpoints import Codec, Keep
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.waiting import bounded
from agrun_wasm.providers.retry import collect_reply
from agrun_wasm.text.redaction import StreamRedactor


def _to_json(answer: ModelReply | ProviderError) -> dict[str, Any]:
    """A failure is kept too: whoever goes on from it must take the same way, and may ask anew only under a new key."""
    if isinstance(answer, ProviderError):
        return {"failed": answer.info().to_json(), "protocolFailure": answer.protocol_failure}
    return answer.to_json()


def _from_json(saved: Mapping[str, Any]) -> ModelReply | ProviderError:
    if "failed" not in saved:
        return ModelReply.from_json(saved)
    info = ErrorInfo.model_validate(saved["failed"])
    failure = saved["protocolFailure"] is True
    return ProviderError(info.code, info.message, protocol_failure=failure, hint=info.hint, details=info.details)


async def call_model(ctx: RunContext, request: ModelRequest, *, shown: bool, key: str | None = None) -> ModelReply:
    """The reply. `shown`: its text is streamed as the answer it may be, and is what a stop leaves as partial text.

    `key` names the call in the journal; without one it is the next in the run's sequence. Raises ProviderError when
    retries are used up, Stopped and DeadlineReached.
    """
    key = key or ctx.new_model_call()
    if shown:
        ctx.streamed, ctx.state.partial_text = False, ""
    codec = Codec(write=_to_json, read=_from_json, of=request.purpose)
    reply = await ctx.checkpoints.once(key, lambda keep: _asked(ctx, request, keep, shown=shown), codec)
    if isinstance(reply, ProviderError):
        raise reply
    if shown and ctx.state.partial_text != reply.text:  # a recorded reply is shown at once
        ctx.supersede_unknown()
        ctx.emit("text-delta", text=reply.text)
        ctx.streamed, ctx.state.partial_text = True, reply.text
    book(ctx, reply.usage)
    return reply


async def _asked(
    ctx: RunContext, request: ModelRequest, keep: Keep[ModelReply | ProviderError], *, shown: bool
) -> ModelReply | ProviderError:
    """One call on the wire, with its retries; redacted, since what it gives may be saved."""
    if shown:
        ctx.supersede_unknown()
    stream = _Stream(ctx, shown=shown)

    def on_retry(attempt: int, delay_ms: float, error: ProviderError) -> None:
        stream.restart()
        ctx.emit("model-retry", attempt=attempt, delayMs=delay_ms, code=error.code, purpose=request.purpose)

    async def whole() -> ModelReply | ProviderError:
        try:
            reply = await collect_reply(
                lambda: ctx.ports.provider.stream(request),
                retry=ctx.ports.provider_config.retry,
                clock=ctx.clock,
                on_delta=stream.on_delta,
                on_retry=on_retry,
            )
        except ProviderError as error:
            return keep(error)
        return keep(_redacted(ctx, reply))

    try:
        return await bounded(whole(), clock=ctx.clock, stop=ctx.stop.cuts_model_calls, deadline_at=ctx.deadline_at)
    finally:
        stream.close()
        if shown:
            ctx.streamed = bool(stream.pieces)
            ctx.state.partial_text = "".join(stream.pieces)


class _Stream:
    """The deltas of one call as events, each channel redacted as one text: a key may come in pieces."""

    def __init__(self, ctx: RunContext, *, shown: bool) -> None:
        self._ctx = ctx
        self._shown = shown
        self.pieces: list[str] = []
        self._begin()

    def _begin(self) -> None:
        redactor = self._ctx.ports.redactor
        self._text = StreamRedactor(redactor)
        self._reasoning = StreamRedactor(redactor)
        self._args: dict[str, tuple[str, StreamRedactor]] = {}

    def on_delta(self, event: ModelEvent) -> None:
        if type(event) is TextDelta:
            if self._shown:
                self._emit_text(self._text.feed(event.text))
        elif isinstance(event, ReasoningDelta):
            self._emit_reasoning(self._reasoning.feed(event.text))
        elif isinstance(event, ToolArgsDelta):
            name, args = self._args.setdefault(event.call_id, (event.name, StreamRedactor(self._ctx.ports.redactor)))
            self._emit_args(event.call_id, name, args.feed(event.text))

    def restart(self) -> None:
        """The call is tried again: nothing of it counts."""
        self._begin()
        if self.pieces:
            self.pieces.clear()
            self._ctx.emit("answer-superseded", reason="the call is tried again")

    def close(self) -> None:
        """What was held back is shown."""
        self._emit_text(self._text.close())
        self._emit_reasoning(self._reasoning.close())
        for call_id, (name, args) in self._args.items():
            self._emit_args(call_id, name, args.close())

    def _emit_text(self, text: str) -> None:
        if text:
            self.pieces.append(text)
            self._ctx.emit("text-delta", text=text)

    def _emit_reasoning(self, text: str) -> None:
        if text:
            self._ctx.emit("reasoning-delta", text=text)

    def _emit_args(self, call_id: str, name: str, text: str) -> None:
        if text:
            self._ctx.emit("tool-args-delta", callId=call_id, name=name, text=text)


def _redacted(ctx: RunContext, reply: ModelReply) -> ModelReply:
    """What a model writes enters the state and the journal: a key that it was shown somewhere must not (2.5)."""
    redactor = ctx.ports.redactor
    reply.text = redactor.text(reply.text)
    reply.reasoning = redactor.text(reply.reasoning)
    reply.provider_data = redactor.value(reply.provider_data)
    for at, call in enumerate(reply.tool_calls):
        clean = redactor.value(held := dict(call))
        if clean is not held:
            reply.tool_calls[at] = ToolCall(**clean)
    return reply
