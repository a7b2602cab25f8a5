"""Waiting: whichever end comes first, it is that one, and the work has ended when the wait has."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agrun_wasm.loop.waiting import CLEAN_UP_MS, DeadlineReached, Stopped, StopSignal, TimedOut, bounded
from tests.clock import FakeClock


class Work:
    """Work of `ms`, and what became of it."""

    def __init__(self, clock: FakeClock, ms: float, *, fails: BaseException | None = None) -> None:
        self._clock = clock
        self._ms = ms
        self._fails = fails
        self.started = self.ended = self.cancelled = False

    async def run(self) -> str:
        self.started = True
        try:
            await self._clock.sleep(self._ms)
            if self._fails is not None:
                raise self._fails
            return "done"
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        finally:
            self.ended = True


#: work ms, timeout ms, deadline ms from now, stop after ms -> what comes of it, and when
ENDS: list[tuple[float, float | None, float | None, float | None, Any, float]] = [
    (50, None, None, None, "done", 50),
    (50, 100, 200, 300, "done", 50),
    (500, 100, None, None, TimedOut, 100),
    (500, 100, 200, None, TimedOut, 100),
    (500, 200, 100, None, DeadlineReached, 100),
    (500, 100, 100, None, DeadlineReached, 100),
    (500, None, 100, None, DeadlineReached, 100),
    (500, 200, 300, 100, Stopped, 100),
    (500, None, None, 100, Stopped, 100),
    (50, None, 0, None, DeadlineReached, 0),
    (50, None, -5, None, DeadlineReached, 0),
    (50, 10, 0, 0, Stopped, 0),
]


@pytest.mark.parametrize(("ms", "limit", "deadline", "stop_after", "end", "at"), ENDS)
async def test_the_first_end_wins(
    ms: float, limit: float | None, deadline: float | None, stop_after: float | None, end: Any, at: float
) -> None:
    clock, signal = FakeClock(), StopSignal()
    began = clock.now()
    work = Work(clock, ms)
    if stop_after == 0:
        signal.set("now")

    async def stops() -> None:
        await clock.sleep(stop_after or 0)
        signal.set("now")

    stopper = asyncio.ensure_future(stops()) if stop_after else None
    wait = bounded(
        work.run(),
        clock=clock,
        stop=signal.cuts_actions,
        timeout_ms=limit,
        deadline_at=None if deadline is None else began + deadline,
    )
    if end == "done":
        assert await wait == "done"
    else:
        with pytest.raises(end):
            await wait
    assert clock.now() - began == at
    assert work.ended or not work.started
    assert work.cancelled == (work.started and end != "done")
    if stopper:
        stopper.cancel()


async def test_an_error_of_the_work_passes_through() -> None:
    clock = FakeClock()
    with pytest.raises(KeyError):
        await bounded(
            Work(clock, 5, fails=KeyError("x")).run(),
            clock=clock,
            stop=StopSignal().cuts_model_calls,
            timeout_ms=9,
        )


async def test_work_that_cancels_itself_is_an_error_and_no_cancellation_of_the_run() -> None:
    clock = FakeClock()
    with pytest.raises(Exception, match="cancelled") as caught:
        await bounded(
            Work(clock, 5, fails=asyncio.CancelledError()).run(), clock=clock, stop=StopSignal().cuts_model_calls
        )
    assert isinstance(caught.value, Exception)


async def test_a_result_that_is_there_wins_over_a_stop_in_the_same_moment() -> None:
    signal = StopSignal()

    async def stops_itself() -> str:
        signal.set("now")
        return "done"

    assert await bounded(stops_itself(), clock=FakeClock(), stop=signal.cuts_model_calls) == "done"


async def test_cancelling_the_wait_cancels_the_work() -> None:
    clock = FakeClock()
    work = Work(clock, 10_000_000)
    blocked = asyncio.Event()

    async def waits() -> str:
        await blocked.wait()
        return await work.run()

    task = asyncio.ensure_future(bounded(waits(), clock=clock, stop=StopSignal().cuts_model_calls))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not work.started


async def test_work_that_refuses_to_end_is_left_behind_after_its_time_to_clean_up() -> None:
    clock = FakeClock()
    began = clock.now()
    release = False

    async def stubborn() -> None:
        while not release:
            try:
                await clock.sleep(60_000)
            except asyncio.CancelledError:
                continue

    with pytest.raises(TimedOut):
        await bounded(stubborn(), clock=clock, stop=StopSignal().cuts_model_calls, timeout_ms=100)
    assert clock.now() - began == 100 + CLEAN_UP_MS
    release = True
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("calls", "cuts_model_calls", "cuts_actions"),
    [
        ([], False, False),
        (["after_step"], True, False),
        (["now"], True, True),
        (["after_step", "now"], True, True),
        (["now", "after_step"], True, True),
        (["now", "now"], True, True),
    ],
)
@pytest.mark.parametrize("waits_first", [True, False])
async def test_a_stop_never_goes_back(
    calls: list[Any], cuts_model_calls: bool, cuts_actions: bool, waits_first: bool
) -> None:
    signal = StopSignal()
    if waits_first:
        assert not signal.cuts_model_calls.done()
        assert not signal.cuts_actions.done()
    for how in calls:
        signal.set(how)
    assert signal.cancelled == bool(calls)
    assert signal.cuts_model_calls.done() == cuts_model_calls
    assert signal.cuts_actions.done() == cuts_actions
