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
        self.closed = False

    async def __call__(self) -> AsyncIterator[int]:
        try:
            while self.given < self.count:
                self.given += 1
                yield self.given
                await asyncio.sleep(0)
            if self.fault:
                raise self.fault
        finally:
            self.closed = True


async def test_a_reader_that_keeps_up_gets_everything_in_order() -> None:
    numbers = Numbers(500)
    assert [n async for n in at_its_pace(numbers(), 3, 10)] == list(range(1, 501))
    assert numbers.closed


async def test_a_reader_that_takes_nothing_costs_a_buffer_and_is_then_let_go() -> None:
    numbers = Numbers()
    reading = at_its_pace(numbers(), 5, 0.01)
    seen = [await anext(reading)]
    while not numbers.closed:  # it lies still meanwhile
        await asyncio.sleep(0.005)
    assert numbers.given <= 8
    with pytest.raises(Lagging):
        while True:
            seen.append(await anext(reading))
    assert seen == list(range(1, len(seen) + 1)), "what waited is told before the end, without a gap"
    assert len(seen) >= 5


async def test_what_goes_wrong_at_the_source_is_raised_after_what_came() -> None:
    seen = []
    with pytest.raises(LookupError):
        async for n in at_its_pace(Numbers(3, LookupError())(), 10, 10):
            seen.append(n)
    assert seen == [1, 2, 3]


async def test_leaving_ends_the_reading() -> None:
    numbers = Numbers()
    reading = at_its_pace(numbers(), 5, 10)
    await anext(reading)
    await reading.aclose()
    assert numbers.closed


async def test_a_cancelled_reader_leaves_nothing_behind() -> None:
    numbers = Numbers(0)

    async def endless() -> AsyncIterator[int]:
        try:
            await asyncio.Event().wait()
            yield 1
        finally:
            numbers.closed = True

    reader = asyncio.create_task(anext(at_its_pace(endless(), 5, 10)))  # type: ignore[arg-type]
    await asyncio.sleep(0.01)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert numbers.closed
