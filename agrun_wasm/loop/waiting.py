"""Waiting for one piece of work under the run's stop, its deadline and a time limit of its own.

The only place where the loop waits. Whatever ends the wait, the work is cancelled and given time to end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Literal, TypeVar

from agrun_wasm.contracts.ports import Clock

T = TypeVar("T")
StopHow = Literal["now", "after_step"]

#: how long cancelled work may take to clean up before it is left behind
CLEAN_UP_MS = 2_000


class Interrupted(Exception):
    """The run must not go on with this: it was stopped, or its time is over. Never a failure of the work itself."""


class Stopped(Interrupted):
    """The run was stopped while it waited."""


class DeadlineReached(Interrupted):
    """The run's deadline passed while it waited."""


class TimedOut(Exception):
    """The work took longer than its own limit."""


class StopSignal:
    """Whether and how a run is to stop. `now` also counts as `after_step`; it never goes back."""

    def __init__(self) -> None:
        self.how: StopHow | None = None
        self._now: asyncio.Future[None] | None = None
        self._any: asyncio.Future[None] | None = None

    def set(self, how: StopHow) -> None:
        if self.how != "now":
            self.how = how
        for future in (self._any, self._now if self.how == "now" else None):
            if future is not None and not future.done():
                future.set_result(None)

    @property
    def cancelled(self) -> bool:
        return self.how is not None

    @property
    def cuts_model_calls(self) -> asyncio.Future[None]:
        """Done by any stop."""
        self._any = self._waiter(self._any, self.how is not None)
        return self._any

    @property
    def cuts_actions(self) -> asyncio.Future[None]:
        """Done by a stop `now`; after_step lets actions in progress finish."""
        self._now = self._waiter(self._now, self.how == "now")
        return self._now

    @staticmethod
    def _waiter(known: asyncio.Future[None] | None, set_already: bool) -> asyncio.Future[None]:
        future = known or asyncio.get_running_loop().create_future()
        if set_already and not future.done():
            future.set_result(None)
        return future


async def bounded(
    work: Coroutine[Any, Any, T],
    *,
    clock: Clock,
    stop: asyncio.Future[None],
    timeout_ms: float | None = None,
    deadline_at: float | None = None,
) -> T:
    """The result of `work`; raises Stopped, DeadlineReached or TimedOut when that came first.

    A result that is there already wins over all of them. Cancelling the waiter cancels the work.
    """
    left = None if deadline_at is None else max(0.0, deadline_at - clock.now())
    if stop.done() or left == 0.0:
        work.close()
        raise Stopped if stop.done() else DeadlineReached
    task = asyncio.ensure_future(work)
    by_deadline = left is not None and (timeout_ms is None or left <= timeout_ms)
    limit = left if by_deadline else timeout_ms
    timer = asyncio.ensure_future(clock.sleep(limit)) if limit is not None else None
    try:
        await asyncio.wait([t for t in (task, timer, stop) if t is not None], return_when=asyncio.FIRST_COMPLETED)
        if task.cancelled():  # not by us: something inside was cancelled, which ends the work and not the run
            raise RuntimeError("it was cancelled from inside")
        if task.done():
            return task.result()
        if stop.done():
            raise Stopped
        raise DeadlineReached if by_deadline else TimedOut
    finally:
        if timer is not None:
            timer.cancel()
        if not task.done():
            await _cancel(task, clock)


async def _cancel(task: asyncio.Future[Any], clock: Clock) -> None:
    """Cancels the work and waits until it has freed what it held; work that refuses to end is left behind."""
    task.cancel()
    grace = asyncio.ensure_future(clock.sleep(CLEAN_UP_MS))
    try:
        await asyncio.wait([task, grace], return_when=asyncio.FIRST_COMPLETED)
    finally:
        grace.cancel()
    if task.done() and not task.cancelled():
        task.exception()  # looked at, so that the event loop does not report it as lost
