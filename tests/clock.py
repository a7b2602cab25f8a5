"""Virtual time: a Clock port on which hours pass in microseconds, on CPython's event loop and on Pyodide's.

Owns when time moves: to the earliest sleeper, once nothing else in the event loop can go on without it. Nothing real is
waited for. Knows nothing of runs.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from typing import Any, Protocol

START = 1_760_000_000_000.0
"""What `now()` says first, in milliseconds since the epoch; any fixed time would do."""

QUIET_ROUNDS = 3
"""Rounds of the loop in a row without other work before time moves: one is exact, the others let I/O be polled."""


class FakeClock:
    """The Clock port, virtual. `await sleep(ms)` returns as soon as everything else waits too.

    Sleepers wake one at a time, in order of their time, then of their call.
    """

    def __init__(self, start: float = START) -> None:
        self._now = start
        self._order = 0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now

    async def sleep(self, ms: float) -> None:
        if ms <= 0:
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()
        self._order += 1
        heapq.heappush(self._sleepers, (self._now + ms, self._order, woken))
        _Driver.of(loop).start(self)
        await woken

    def advance(self, ms: float) -> None:
        """Move the clock by hand and wake everyone whose time has come."""
        until = self._now + ms
        while self._sleepers and self._sleepers[0][0] <= until:
            self._pop()
        self._now = until

    def close(self) -> None:
        """Cancel every sleeper and stop driving the loop; for the end of a test on a loop that lives on."""
        for _, _, woken in self._sleepers:
            woken.cancel()
        self._sleepers.clear()

    def wait_left(self) -> float | None:
        """Milliseconds to the earliest sleeper that still waits; None when there is none."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] - self._now if self._sleepers else None

    def wake_earliest(self) -> None:
        """Let time pass to the earliest sleeper."""
        self._pop()

    def _pop(self) -> None:
        due, _, woken = heapq.heappop(self._sleepers)
        self._now = max(self._now, due)
        if not woken.done():
            woken.set_result(None)


class _Driver:
    """Turns with the loop, as a callback among its callbacks, and moves a clock whenever all else is quiet.

    One for all clocks of a loop: two would keep each other from ever finding it quiet.
    """

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> _Driver:
        driver: _Driver | None = getattr(loop, "_virtual_time", None)
        if driver is None:
            driver = cls(loop)
            loop._virtual_time = driver  # type: ignore[attr-defined]  # it is to live and die with its loop
        return driver

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._clocks: list[FakeClock] = []
        self._others = _others_of(loop)
        self._quiet = 0
        self._running = False

    def start(self, clock: FakeClock) -> None:
        self._quiet = 0
        if clock not in self._clocks:
            self._clocks.append(clock)
        if not self._running:
            self._running = True
            self._others.watch()
            self._others.call_soon(self._turn)

    def _move(self) -> bool:
        """Moves the clock whose next sleeper has least to wait; False when nobody sleeps."""
        waiting = [(left, clock) for clock in self._clocks if (left := clock.wait_left()) is not None]
        self._clocks = [clock for _, clock in waiting]
        if not waiting:
            return False
        min(waiting, key=lambda each: each[0])[1].wake_earliest()
        return True

    def _turn(self) -> None:
        self._quiet = 0 if self._others.waiting() else self._quiet + 1
        if self._quiet >= QUIET_ROUNDS:
            self._quiet = 0
            if not self._move():
                self._running = False
                self._others.unwatch()
                return
        self._others.call_soon(self._turn)


class _Others(Protocol):
    """Everything of the loop but the driver: is a callback of it ready to run?"""

    def watch(self) -> None: ...

    def unwatch(self) -> None: ...

    def waiting(self) -> bool: ...

    def call_soon(self, callback: Callable[[], None]) -> None: ...


class _ReadyQueue:
    """CPython's loops: what is ready stands in `_ready`, from which the running callback has been taken."""

    def __init__(self, loop: Any) -> None:
        self._loop = loop

    def watch(self) -> None:
        pass

    def unwatch(self) -> None:
        pass

    def waiting(self) -> bool:
        return bool(self._loop._ready)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._loop.call_soon(callback)


class _DueQueue:
    """The page's own loop (agrun_wasm/browser/event_loop.py): what is ready stands in `_due`. A round goes through the
    browser, whose promises and messages have their turn between two of them."""

    def __init__(self, loop: Any) -> None:
        self._loop = loop
        self._through_the_browser = super(type(loop), loop).call_later

    def watch(self) -> None:
        pass

    def unwatch(self) -> None:
        pass

    def waiting(self) -> bool:
        return bool(self._loop._due)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._through_the_browser(0, callback)


def _others_of(loop: asyncio.AbstractEventLoop) -> _Others:
    if hasattr(loop, "_ready"):
        return _ReadyQueue(loop)
    return _DueQueue(loop) if hasattr(loop, "_due") else _CountedCallbacks(loop)


class _CountedCallbacks:
    """Pyodide's WebLoop hands its callbacks to JavaScript, so those without a delay are counted on their way."""

    def __init__(self, loop: Any) -> None:
        self._loop = loop
        self._call_later = loop.call_later
        self._pending: dict[int, asyncio.Handle] = {}
        self._number = 0

    def watch(self) -> None:
        # WebLoop.call_soon calls self.call_later(0, ...), so one method sees all.
        self._loop.call_later = self._counted

    def unwatch(self) -> None:
        self._loop.call_later = self._call_later
        self._pending.clear()

    def waiting(self) -> bool:
        self._pending = {n: handle for n, handle in self._pending.items() if not handle.cancelled()}
        return bool(self._pending)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._call_later(0, callback)

    def _counted(self, delay: float, callback: Callable[..., Any], *args: Any, context: Any = None) -> asyncio.Handle:
        handle: asyncio.Handle
        if delay > 0:
            handle = self._call_later(delay, callback, *args, context=context)
            return handle
        self._number += 1
        number = self._number

        def run() -> None:
            self._pending.pop(number, None)
            callback(*args)

        handle = self._call_later(delay, run, context=context)
        self._pending[number] = handle
        return handle
