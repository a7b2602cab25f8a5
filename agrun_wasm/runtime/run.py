"""Run: the handle of one run in progress. An async iterator of its events, its stop, and its result."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.contracts.events import DELTA_TYPES, RunEvent
from agrun_wasm.contracts.result import RunResult
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.waiting import StopHow


class EventLog:
    """The events of one drive: steps for good, deltas while their step is in progress; any number of readers."""

    def __init__(self) -> None:
        self._kept: list[RunEvent] = []
        self._deltas = 0  # at the end of _kept
        self._readers: list[_Reader | _Watcher] = []
        self.closed = False

    def publish(self, event: RunEvent) -> None:
        if event.type in DELTA_TYPES:
            self._deltas += 1
        elif self._deltas:
            del self._kept[-self._deltas :]
            self._deltas = 0
        self._kept.append(event)
        for reader in self._readers:
            reader.push(event)

    def text_so_far(self) -> str:
        """What the model has said of an answer in the step in progress."""
        said: list[str] = []
        for event in self._kept[len(self._kept) - self._deltas :]:
            if event.type == "answer-superseded":
                said.clear()
            elif event.type == "text-delta":
                said.append(str(event.detail.get("text") or ""))
        return "".join(said)

    def close(self) -> None:
        self.closed = True
        for reader in self._readers:
            reader.wake()

    def watch(self, see: Callable[[RunEvent], None]) -> None:
        self._readers.append(_Watcher(see))

    async def read(self, after: int) -> AsyncIterator[RunEvent]:
        """Events whose seq is above `after`: what was kept first, then what comes, until the drive ends."""
        reader = _Reader([event for event in self._kept if event.seq > after])
        self._readers.append(reader)
        try:
            while True:
                while reader.events:
                    yield reader.events.popleft()
                if self.closed:
                    return
                await reader.wait()
        finally:
            self._readers.remove(reader)


class _Reader:
    def __init__(self, events: list[RunEvent]) -> None:
        self.events = deque(events)
        self._waiter: asyncio.Future[None] | None = None

    def push(self, event: RunEvent) -> None:
        self.events.append(event)
        self.wake()

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter
        self._waiter = None


class _Watcher:
    """Told of an event while it is published, before anything else happens."""

    def __init__(self, see: Callable[[RunEvent], None]) -> None:
        self.push = see

    def wake(self) -> None:
        """There is nothing to wake."""


class Run:
    """One run (or the going on of one). `async for event in run` gives steps and deltas in order.

    It ends with the block of `runtime.stream(...)`, or by itself.
    """

    def __init__(
        self,
        context: RunContext,
        log: EventLog,
        drive: Callable[[], Awaitable[None]],
        finish: Callable[[RunContext], Awaitable[RunResult]],
        leave: Callable[[Run], None],
    ) -> None:
        self._context = context
        self._log = log
        self._finish = finish
        self._leave = leave
        self._before = tuple(context.state.steps)
        self._displays: list[asyncio.Task[None]] = []  # an event loop keeps no task alive by itself
        self._task: asyncio.Task[RunResult] = asyncio.ensure_future(self._drive(drive))

    @property
    def id(self) -> str:
        return self._context.state.run_id

    @property
    def status(self) -> str:
        """running, or how the drive ended."""
        return self._context.state.status

    @property
    def session_id(self) -> str:
        return self._context.state.session_id

    async def _drive(self, drive: Callable[[], Awaitable[None]]) -> RunResult:
        try:
            await drive()
            return await self._finish(self._context)
        finally:
            self._log.close()
            self._leave(self)

    def __aiter__(self) -> AsyncIterator[RunEvent]:
        """The events of this drive; after a resume that is from the resume on."""
        return self._log.read(after=0)

    def watch(self, see: Callable[[RunEvent], None]) -> None:
        """Has `see` called with each event from here on, within the step that makes it. It must neither wait nor raise;
        whoever only reads along takes the events as they come instead."""
        self._log.watch(see)

    async def events(self, after: int = 0) -> AsyncIterator[RunEvent]:
        """The whole run's steps whose seq is above `after`, the deltas of the step in progress, then what comes."""
        for event in self._before:
            if event.seq > after:
                yield event
        async for event in self._log.read(after):
            yield event

    def _repr_mimebundle_(self, **_filters: Any) -> dict[str, str]:
        """The run as it stands, in a notebook or a page that shows values: HTML, Markdown and plain text."""
        from agrun_wasm.runtime.rich_view import view_of_state

        return view_of_state(self._context.state, self._log.text_so_far()).mimebundle()

    def _ipython_display_(self) -> None:
        """`display(run)` under IPython: the same view, brought up to date while the run goes on."""
        from agrun_wasm.runtime.live_view import follow, open_display

        display = open_display(self)
        if display is None:
            raise NotImplementedError("display(run): IPython is not there; `run._repr_mimebundle_()` gives the view")
        if not self._log.closed:
            self._displays.append(asyncio.ensure_future(follow(self, display, self._context.ports.clock)))

    def stop(self, how: StopHow = "now") -> None:
        """`now` cancels the call in flight on the wire; `after_step` lets actions in progress finish (2.1)."""
        if how not in ("now", "after_step"):
            raise ConfigInvalid(f"stop: must be 'now' or 'after_step', not {how!r}")
        self._context.stop.set(how)

    async def result(self) -> RunResult:
        """How the run ended; waits for it. Cancelling the waiting does not stop the run."""
        return await asyncio.shield(self._task)

    async def close(self) -> None:
        """Stops the run if it still goes on, and waits until it has ended and its connections are closed."""
        if not self._task.done():
            self._context.stop.set("now")
            await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # looked at: whoever wanted the result has asked for it
