"""Trying a model call again. Rules: document 2, 2.5 Retries.

Owned here: which failures are tried again, when, and how often. Must not know: why a call failed beyond its code, and
what the reply is for. The waiting is the clock's, so that a stopped run leaves it at once.
"""

from __future__ import annotations

from collections.abc import Callable

from agrun_wasm.contracts.config import RetryConfig
from agrun_wasm.contracts.errors import ProviderError
from agrun_wasm.contracts.model import ModelEvent, ModelReply
from agrun_wasm.contracts.ports import Clock
from agrun_wasm.providers.collect import EventStream, collect

__all__ = ["FIRST_BACKOFF_MS", "collect_reply", "retry_delay_ms"]

#: the wait before the first retry; it doubles with each one
FIRST_BACKOFF_MS = 500.0


async def collect_reply(
    stream_once: Callable[[], EventStream],
    *,
    retry: RetryConfig,
    clock: Clock,
    on_delta: Callable[[ModelEvent], None],
    on_retry: Callable[[int, float, ProviderError], None],
) -> ModelReply:
    """The reply of a model call, tried again where its failure allows it.

    `on_delta` gets every event of every try as it comes. `on_retry(attempt, delay_ms, error)` is called before each
    wait, attempts counting from 1; where `error.partial_text` is not empty, deltas of the failed try have been seen and
    what follows supersedes them. Raises the last ProviderError.
    """
    attempt = 0
    while True:
        try:
            return await collect(stream_once(), on_delta)
        except ProviderError as error:
            delay = retry_delay_ms(error, attempt, retry)
            if delay is None:
                raise
            attempt += 1
            on_retry(attempt, delay, error)
            await clock.sleep(delay)


def retry_delay_ms(error: ProviderError, retries_made: int, retry: RetryConfig) -> float | None:
    """How long to wait before the next try, None when there is none."""
    asked = error.retry_after_ms
    if not error.retryable or retries_made >= retry.max_retries:
        return None
    if asked is not None and asked > retry.max_wait_ms:
        return None
    backoff = min(FIRST_BACKOFF_MS * 2.0**retries_made, retry.max_wait_ms)
    return max(backoff, asked or 0.0)
