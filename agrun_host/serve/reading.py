"""A reader of a run's events that may be slow: a bounded buffer before it, and an end where it lags behind for long.

So that one who takes nothing costs this much memory and no more. Must not know: HTTP, what an event holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import TypeVar

import anyio

__all__ = ["Lagging", "at_its_pace"]

E = TypeVar("E")


class Lagging(Exception):
    """The reader took nothing for so long that its buffer stayed full."""


async def at_its_pace(
    events: AsyncIterator[E], most: int, patience: float, ending: anyio.Event | None = None
) -> AsyncGenerator[E, None]:
    """The events, at most `most` of them waiting; no more than those once `ending` is set. Raises Lagging after them,
    where there was no room for `patience` seconds. Leaving it ends the reading."""
    buffer: asyncio.Queue[E] = asyncio.Queue(most)

    async def fill() -> None:
        try:
            async for event in events:
                try:
                    async with asyncio.timeout(patience):
                        await buffer.put(event)
                except TimeoutError:
                    raise Lagging from None
        finally:  # at once, so that nothing more gathers at the source
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    filling = asyncio.create_task(fill())
    told = asyncio.create_task((ending or anyio.Event()).wait())
    try:
        while True:
            taking = asyncio.ensure_future(buffer.get())
            try:
                await asyncio.wait((taking, filling, told), return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not taking.done():
                    taking.cancel()
            if not taking.cancelled() and taking.done():
                yield taking.result()
            else:  # no more comes
                while not buffer.empty():
                    yield buffer.get_nowait()
                if filling.done():
                    filling.result()
                return
    finally:
        told.cancel()
        filling.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await filling
