"""LiveRun: the events of a run that is driven in this process, kept before anybody sees them, and read at any pace.

A step is in the table before it is shown; deltas are shown while their step is in progress, and kept nowhere. Numbers
are taken in blocks: whoever goes on after a crash begins above every number that may have been shown.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from agrun_host.durable.backoff import Backoff
from agrun_host.store.database import DatabaseUnavailable
from agrun_host.store.event_table import EventTable
from agrun_wasm.contracts.events import DELTA_TYPES, RunEvent

__all__ = ["BLOCK", "LiveRun"]

#: numbers that are taken at once
BLOCK = 4_096
#: events that wait for a reader; one that lags further reads the kept ones again
BEHIND_MOST = 2_000


class LiveRun:
    """The events of one drive on their way to the table and to readers."""

    def __init__(self, run_id: str, events: EventTable, reserved: int) -> None:
        self._run_id = run_id
        self._events = events
        self._reserved = reserved
        #: the number that was shown last, by this drive or an earlier one
        self._shown = reserved
        self._new: list[RunEvent] = []
        self._wake = asyncio.Event()
        self._deltas: list[dict[str, Any]] = []
        self._readers: set[_Reader] = set()
        self._closed = False
        self._task = asyncio.create_task(self._keep())

    def add(self, event: RunEvent) -> None:
        """Raises what kept the events before from being kept: a run that nobody could follow does not go on."""
        if self._task.done():
            self._task.result()
        self._new.append(event)
        self._wake.set()

    async def finish(self) -> None:
        """Returns when every event is kept and shown."""
        self._closed = True
        self._wake.set()
        await self._task

    def abandon(self) -> None:
        """Nothing more is kept or shown: the run goes on elsewhere."""
        self._task.cancel()
        for reader in self._readers:
            reader.end()

    def end_readers(self) -> None:
        for reader in self._readers:
            reader.end()

    async def _keep(self) -> None:
        while not (self._closed and not self._new):
            await self._wake.wait()
            self._wake.clear()
            events, self._new = self._new, []
            if not events:
                continue
            shown = [event.to_json() for event in events]
            steps = [event for event in shown if event["type"] not in DELTA_TYPES]
            bound = None
            if (last := shown[-1]["seq"]) >= self._reserved:
                bound = self._reserved = last + BLOCK
            if steps or bound is not None:
                await self._append(steps, bound)
            for event in shown:
                self._show(event)

    async def _append(self, steps: Sequence[Mapping[str, Any]], bound: int | None) -> None:
        """Tries until the database takes them: a run goes on while its database is away."""
        backoff = Backoff()
        while True:
            try:
                return await self._events.append(self._run_id, steps, bound)
            except DatabaseUnavailable:
                await backoff.wait()

    def _show(self, event: dict[str, Any]) -> None:
        self._shown = event["seq"]
        if event["type"] in DELTA_TYPES:
            self._deltas.append(event)
        else:
            self._deltas.clear()
        for reader in self._readers:
            reader.push(event)

    async def read(self, after: int) -> AsyncIterator[dict[str, Any]]:
        """Kept events above `after`, the deltas of the step in progress, then what comes, until the drive is over."""
        reader = _Reader(self._deltas)
        self._readers.add(reader)
        try:
            while True:
                async for event in self._kept(after, self._shown):
                    after = event["seq"]
                    yield event
                async for event in reader.read():
                    if event["seq"] > after:
                        after = event["seq"]
                        yield event
                if not reader.lagged:
                    return
                reader.begin(self._deltas)
        finally:
            self._readers.discard(reader)

    async def _kept(self, after: int, last: int) -> AsyncIterator[dict[str, Any]]:
        """Up to `last`: what came later waits in the reader, with the deltas before it."""
        while page := await self._events.read(self._run_id, after):
            for event in page:
                after = event["seq"]
                if after > last:
                    return
                yield event


class _Reader:
    def __init__(self, events: list[dict[str, Any]]) -> None:
        self._wake = asyncio.Event()
        self._ended = False
        self.begin(events)

    def begin(self, events: list[dict[str, Any]]) -> None:
        self._events = deque(events)
        self.lagged = False

    def push(self, event: dict[str, Any]) -> None:
        if self.lagged:
            return
        self._events.append(event)
        if len(self._events) > BEHIND_MOST:
            self._events.clear()
            self.lagged = True
        self._wake.set()

    def end(self) -> None:
        self._ended = True
        self._wake.set()

    async def read(self) -> AsyncIterator[dict[str, Any]]:
        """Until the end, or until it lags."""
        while True:
            while self._events:
                yield self._events.popleft()
            if self._ended or self.lagged:
                return
            self._wake.clear()
            await self._wake.wait()
