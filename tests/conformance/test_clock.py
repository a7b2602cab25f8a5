"""The virtual clock: time moves only when nothing else can go on, in the right order, and costs none."""

from __future__ import annotations

import asyncio
import time

from tests.clock import START, FakeClock


async def _steps(number: int) -> None:
    if number:
        await asyncio.create_task(_steps(number - 1))


async def test_sleepers_wake_in_order_of_their_time() -> None:
    clock, woken = FakeClock(), []

    async def sleep(ms: float) -> None:
        await clock.sleep(ms)
        woken.append((ms, clock.now() - START))

    began = time.perf_counter()
    await asyncio.gather(sleep(3_600_000), sleep(20), sleep(5))
    assert woken == [(5, 5), (20, 20), (3_600_000, 3_600_000)]
    assert time.perf_counter() - began < 1


async def test_equal_times_wake_in_order_of_their_call() -> None:
    clock, woken = FakeClock(), []

    async def sleep(name: str) -> None:
        await clock.sleep(10)
        woken.append(name)

    await asyncio.gather(*map(sleep, "abc"))
    assert woken == ["a", "b", "c"]


async def test_a_long_chain_of_callbacks_ends_before_time_moves() -> None:
    clock = FakeClock()
    sleeper = asyncio.create_task(clock.sleep(1))
    await asyncio.sleep(0)
    await _steps(500)
    assert clock.now() == START
    await sleeper
    assert clock.now() == START + 1


async def test_who_sleeps_after_waking_goes_on_from_the_new_time() -> None:
    clock = FakeClock()
    for _ in range(3):
        await clock.sleep(10)
    assert clock.now() == START + 30


async def test_a_cancelled_sleeper_does_not_move_time() -> None:
    clock = FakeClock()
    sleeper = asyncio.create_task(clock.sleep(100))
    await asyncio.sleep(0)
    sleeper.cancel()
    await clock.sleep(1)
    assert clock.now() == START + 1


async def test_moved_by_hand() -> None:
    clock = FakeClock()
    sleeper = asyncio.create_task(clock.sleep(50))
    await asyncio.sleep(0)
    clock.advance(60)
    await sleeper
    assert clock.now() == START + 60


async def test_closing_cancels_sleepers() -> None:
    clock = FakeClock()
    sleeper = asyncio.create_task(clock.sleep(50))
    await asyncio.sleep(0)
    clock.close()
    await asyncio.wait([sleeper])
    assert sleeper.cancelled()


async def test_nothing_to_wait_for_takes_one_turn() -> None:
    clock = FakeClock()
    await clock.sleep(0)
    await clock.sleep(-5)
    assert clock.now() == START
