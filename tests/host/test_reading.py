"""A slow reader: what it costs, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from agrun_host.serve.reading import Lagging, at_its_pace


class Numbers:
    """An endless (or failing) source that counts what was taken of it."""

    def __init__(self, count: int = 1_000_000, fault: Exception | None = None) -> None:
        self.count, self.fault = count, fault
        self.given = 0
        self.ended = asyncio.Event()

    async def __call__(self) -> AsyncIterator[int]:
        try:
            while self.given < self.count:
                self.given += 1
                yield self.given
                await asyncio.sleep(0)
            if self.fault:
                raise self.fault
        finally:
            self.ended.set()


async def test_a_reader_that_keeps_up_gets_everything_in_order() -> None:
    numbers = Numbers(500)
    assert [n async for n in at_its_pace(numbers(), 3, 10)] == list(range(1, 501))
    assert numbers.ended.is_set()


async def test_a_reader_that_takes_nothing_costs_a_buffer_and_is_then_let_go() -> None:
    numbers = Numbers()
    reading = at_its_pace(numbers(), 5, 0.01)
    seen = [await anext(reading)]
    await asyncio.wait_for(numbers.ended.wait(), 20)  # the reader lies still meanwhile
    assert numbers.given <= 8
    with pytest.raises(Lagging):
        await _take_all(reading, seen)
    assert seen == list(range(1, len(seen) + 1)), "what waited is told before the end, without a gap"
    assert len(seen) >= 5


async def test_what_goes_wrong_at_the_source_is_raised_after_what_came() -> None:
    seen: list[int] = []
    with pytest.raises(LookupError):
        await _take_all(at_its_pace(Numbers(3, LookupError())(), 10, 10), seen)
    assert seen == [1, 2, 3]


async def _take_all(reading: AsyncIterator[int], seen: list[int]) -> None:
    async for n in reading:
        seen += [n]


async def test_leaving_ends_the_reading() -> None:
    numbers = Numbers()
    reading = at_its_pace(numbers(), 5, 10)
    await anext(reading)
    await reading.aclose()
    assert numbers.ended.is_set()


async def test_a_cancelled_reader_leaves_nothing_behind() -> None:
    numbers = Numbers(0)

    async def endless() -> AsyncIterator[int]:
        try:
            await asyncio.Event().wait()
            yield 1
        finally:
            numbers.ended.set()

    reader = asyncio.create_task(anext(at_its_pace(endless(), 5, 10)))  # type: ignore[arg-type]
    await asyncio.sleep(0.01)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert numbers.ended.is_set()
