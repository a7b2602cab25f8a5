"""The retry policy and what a whole reply is, on a clock that does not wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from agrun_wasm.contracts.config import RetryConfig
from agrun_wasm.contracts.errors import ProviderError
from agrun_wasm.contracts.model import (
    Finished,
    FinishReason,
    ModelEvent,
    ModelReply,
    ReasoningDelta,
    TextDelta,
    TokenUsage,
    ToolCall,
    ToolCallDone,
)
from agrun_wasm.providers.retry import collect_reply
from tests.fakes.clock import RecordingClock

CALL = ToolCallDone(ToolCall(id="k", name="add", args_text="{}"))


def finished(reason: FinishReason = "stop", raw: str | None = None) -> Finished:
    return Finished(reason, TokenUsage(), raw)


class Tries:
    """Each try plays one list: events, and where it ends in an error, that is raised."""

    def __init__(self, *tries: list[ModelEvent | ProviderError]) -> None:
        self.left = list(tries)
        self.closed = 0

    async def stream(self) -> AsyncIterator[ModelEvent]:
        try:
            for item in self.left.pop(0):
                if isinstance(item, ProviderError):
                    raise item
                yield item
        finally:
            self.closed += 1


async def reply_of(tries: Tries, clock: RecordingClock | None = None, retry: RetryConfig | None = None) -> ModelReply:
    return await collect_reply(
        tries.stream,
        retry=retry or RetryConfig(),
        clock=clock or RecordingClock(),
        on_delta=lambda event: None,
        on_retry=lambda attempt, delay, error: None,
    )


def failure(code: str = "PROVIDER_UNAVAILABLE", after: float | None = None) -> ProviderError:
    return ProviderError(code, "x", retry_after_ms=after)


async def test_a_reply_is_collected() -> None:
    seen: list[ModelEvent] = []
    events: list[ModelEvent | ProviderError] = [ReasoningDelta("hm"), TextDelta("a"), TextDelta("b"), CALL, finished()]
    reply = await collect_reply(
        Tries(events).stream,
        retry=RetryConfig(),
        clock=RecordingClock(),
        on_delta=seen.append,
        on_retry=lambda *_: None,
    )
    assert (reply.text, reply.reasoning, reply.tool_calls, reply.finish) == ("ab", "hm", [CALL.call], "tool_calls")
    assert seen == events


@pytest.mark.parametrize(
    ("events", "finish"),
    [
        ([TextDelta("x"), finished("stop")], "stop"),
        ([CALL, finished("stop")], "tool_calls"),
        ([CALL, finished("length")], "length"),
        ([TextDelta("x"), finished("tool_calls")], "stop"),
        ([TextDelta("x"), finished("content_filter")], "content_filter"),
        ([CALL, finished("content_filter")], "content_filter"),
    ],
)
async def test_what_came_counts_not_what_was_said(events: list[ModelEvent], finish: str) -> None:
    assert (await reply_of(Tries(list(events)))).finish == finish


async def test_filtered_without_text_names_the_reason() -> None:
    with pytest.raises(ProviderError, match="SAFETY") as caught:
        await reply_of(Tries([TextDelta(" \n"), finished("content_filter", "SAFETY")]))
    assert caught.value.code == "CONTENT_FILTERED"


async def test_a_stream_without_its_end_is_no_reply() -> None:
    with pytest.raises(ProviderError) as caught:
        await reply_of(Tries([TextDelta("first, ")]))
    assert (caught.value.code, caught.value.partial_text) == ("PROVIDER_BAD_RESPONSE", "first, ")


async def test_backoff_doubles_and_the_tries_are_closed() -> None:
    clock = RecordingClock()
    noted: list[tuple[int, float, str]] = []
    tries = Tries([TextDelta("lost"), failure()], [failure()], [TextDelta("kept"), finished()])
    reply = await collect_reply(
        tries.stream,
        retry=RetryConfig(),
        clock=clock,
        on_delta=lambda event: None,
        on_retry=lambda attempt, delay, error: noted.append((attempt, delay, error.partial_text)),
    )
    assert reply.text == "kept"
    assert clock.waits == [500, 1000]
    assert noted == [(1, 500, "lost"), (2, 1000, "")]
    assert tries.closed == 3


@pytest.mark.parametrize(
    ("after", "waits"),
    [(None, [500]), (0, [500]), (100, [500]), (1_500, [1_500]), (30_000, [30_000])],
)
async def test_the_longer_of_backoff_and_retry_after(after: float | None, waits: list[float]) -> None:
    clock = RecordingClock()
    await reply_of(Tries([failure("PROVIDER_RATE_LIMITED", after)], [finished()]), clock)
    assert clock.waits == waits


async def test_a_retry_after_beyond_the_limit_fails_at_once() -> None:
    clock = RecordingClock()
    tries = Tries([failure("PROVIDER_RATE_LIMITED", 30_001)], [finished()])
    with pytest.raises(ProviderError):
        await reply_of(tries, clock)
    assert (clock.waits, len(tries.left)) == ([], 1)


@pytest.mark.parametrize("code", ["PROVIDER_AUTH", "PROVIDER_BAD_RESPONSE", "CONTEXT_OVERFLOW", "CONTENT_FILTERED"])
async def test_other_failures_are_not_tried_again(code: str) -> None:
    tries = Tries([failure(code)], [finished()])
    with pytest.raises(ProviderError):
        await reply_of(tries)
    assert len(tries.left) == 1


async def test_the_last_error_stands_after_max_retries() -> None:
    clock = RecordingClock()
    tries = Tries([failure()], [failure()], [failure("PROVIDER_TIMEOUT")], [finished()])
    with pytest.raises(ProviderError) as caught:
        await reply_of(tries, clock)
    assert (caught.value.code, clock.waits, len(tries.left)) == ("PROVIDER_TIMEOUT", [500, 1000], 1)
    with pytest.raises(ProviderError):
        await reply_of(Tries([failure()]), retry=RetryConfig(max_retries=0))


async def test_a_stopped_run_leaves_the_wait() -> None:
    class Asleep(RecordingClock):
        async def sleep(self, ms: float) -> None:
            await asyncio.Event().wait()

    task = asyncio.ensure_future(reply_of(Tries([failure()], [finished()]), Asleep()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_leaving_a_call_closes_its_stream() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncIterator[ModelEvent]:
        try:
            yield TextDelta("a")
            await asyncio.Event().wait()
        finally:
            closed.set()

    task = asyncio.ensure_future(
        collect_reply(
            endless, retry=RetryConfig(), clock=RecordingClock(), on_delta=lambda e: None, on_retry=lambda *_: None
        )
    )
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed.is_set()
