"""Pyodide's event loop, made to run what is due in one go.

Pyodide asks the browser for a task of its own for every callback, which costs thirty times what asyncio does with it
elsewhere, and a cycle of a run has some twenty. Here they stand in a queue, and one task of the browser runs it. Timers
stand in a heap, and the browser is asked for the next one only: a timer that was cancelled is nobody's any more.

Owned here: how what is due is scheduled. Must not know what is scheduled. Only for a Python that is ours: a notebook's
loop is the notebook's.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from heapq import heappop, heappush
from itertools import count
from typing import Any

from pyodide.webloop import WebLoop, scheduleCallback

from agrun_wasm.browser.border import expose_once

__all__ = ["QueueLoop", "run_in_one_go"]

#: how long the queue is run before the browser has its turn: messages, timers and downloads come in between
SLICE_SECONDS = 0.005
#: the browser counts whole milliseconds, and no more than an int of 32 bits
TICK_SECONDS = 0.001
LONGEST_SECONDS = 2_000_000


class QueueLoop(WebLoop):  # type: ignore[misc]
    """A WebLoop with a queue. Made of one that runs already, so it has no constructor."""

    #: for those who may not import this module: a notebook's Pyodide may have another WebLoop
    keeps_timers = True
    _due: deque[asyncio.Handle]
    #: whether the browser was asked to run the queue
    _asked: bool
    #: when, a number that keeps the order of equal ones, what
    _timers: list[tuple[float, int, asyncio.TimerHandle]]
    _numbers: count[int]
    #: when the browser was asked to look at the timers
    _wakes: list[float]

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context=context)
        self._due.append(handle)
        self._ask()
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        if delay <= 0:
            return self.call_soon(callback, *args, context=context)
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context=context)
        if when < math.inf:
            heappush(self._timers, (when, next(self._numbers), timer))
            self._ask_for_timers()
        return timer

    def create_future(self) -> asyncio.Future[Any]:
        """asyncio's own, as elsewhere: WebLoop's are made in Python, and count themselves by one callback more each."""
        return asyncio.Future(loop=self)

    def create_task(self, coro: Coroutine[Any, Any, Any], **options: Any) -> Any:
        if self._task_factory is not None:
            return super().create_task(coro, **options)
        return asyncio.Task(coro, loop=self, **options)

    def _ask(self) -> None:
        """Sees to it that the browser runs the queue."""
        if not self._asked:
            self._asked = True
            scheduleCallback(expose_once(self._run_due), 0)

    def _ask_for_timers(self) -> None:
        """Sees to it that the browser comes back for the next timer."""
        if not self._timers:
            return
        now = self.time()
        when = min(self._timers[0][0], now + LONGEST_SECONDS)
        if not self._wakes or when < self._wakes[0]:
            heappush(self._wakes, when)
            scheduleCallback(expose_once(self._wake), max(0, math.ceil((when - now) * 1000)))

    def _wake(self) -> None:
        heappop(self._wakes)
        until = self.time() + TICK_SECONDS
        while self._timers and (self._timers[0][0] <= until or self._timers[0][2].cancelled()):
            self._due.append(heappop(self._timers)[2])
        self._ask_for_timers()
        self._run_due()

    def _run_due(self) -> None:
        self._asked = False
        self._install_running_loop()
        self._install_asyncgen_hooks()
        until = time.monotonic() + SLICE_SECONDS
        try:
            while self._due and time.monotonic() <= until:
                handle = self._due.popleft()
                if self._due:  # the handle may wait on this stack, for what others of the queue do
                    self._ask()
                self._run_handle(handle)
        finally:
            if self._due:
                self._ask()

    def _run_handle(self, handle: asyncio.Handle) -> None:
        """As WebLoop does it."""
        if handle.cancelled():
            return
        try:
            handle._run()
        except SystemExit as error:
            if not self._system_exit_handler:
                raise
            self._system_exit_handler(error.code)
        except KeyboardInterrupt:
            if not self._keyboard_interrupt_handler:
                raise
            self._keyboard_interrupt_handler()


def run_in_one_go() -> None:
    """From here on this Python's loop has a queue. It stays the same object: Pyodide and tasks in progress hold it."""
    loop: Any = asyncio.get_event_loop()
    if type(loop) is WebLoop:
        loop._due, loop._asked = deque(), False
        loop._timers, loop._numbers, loop._wakes = [], count(), []
        loop.__class__ = QueueLoop
