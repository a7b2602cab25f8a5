"""The runs that are being driven in this process: how they are started, driven again, ended when they break down.

Must not know: who asks for a run, who reads it, the other processes.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from agrun_host.durable.backoff import Backoff
from agrun_host.durable.drive import Drive
from agrun_host.durable.engine import Engine, workflow_id
from agrun_host.durable.failing import fail
from agrun_host.durable.journal import WorkflowJournal
from agrun_host.durable.places import Places
from agrun_host.store.database import DatabaseUnavailable
from agrun_wasm.runtime.runtime import Runtime

__all__ = ["Driver"]

_log = logging.getLogger(__name__)


class Driver:
    """Drives at most `limit` runs at once."""

    def __init__(self, runtime: Runtime, places: Places, engine: Engine, limit: int) -> None:
        self._runtime = runtime
        self._places = places
        self._engine = engine
        self._limit = limit
        self._drives: dict[str, Drive] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        #: nothing is driven any more; what was stays unfinished, for the next process
        self.is_closing = False

    def close(self) -> None:
        """From now on nothing new is driven, and failures are the next process's."""
        self.is_closing = True

    async def end(self) -> None:
        """Ends what is being driven."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def get(self, run_id: str) -> Drive | None:
        return self._drives.get(run_id)

    def run_ids(self) -> list[str]:
        return list(self._drives)

    def expect(self, run_id: str, number: int) -> Drive:
        """A drive that begins soon: from here on a reader finds it."""
        drive = self._drives[run_id] = Drive(self._runtime, self._places, run_id, number)
        return drive

    async def set_in_motion(self, run_id: str, number: int) -> None:
        """Starts a drive: here while there is room, else in the first process that has some."""
        here = len(self._drives) < self._limit
        if here:
            self.expect(run_id, number)
        try:
            await self._engine.start(run_id, number, here=here)
        except BaseException:
            self._drives.pop(run_id, None)
            raise

    async def execute(self, run_id: str, number: int) -> None:
        """The body of a workflow."""
        task = asyncio.current_task()
        if task is None or self.is_closing:
            raise asyncio.CancelledError
        self._tasks.add(task)
        try:
            backoff = Backoff()
            while not await self._drive(run_id, number, task):
                await backoff.wait()
        finally:
            self._tasks.discard(task)

    async def _drive(self, run_id: str, number: int, task: asyncio.Task[Any]) -> bool:
        """Drives the run to its next end. False: the database went away, and it is to be driven again.

        An error must not get out to DBOS, which would count the workflow as over: the run would go on nowhere. As after
        a crash the run takes the same path again, with its finished calls from the journal.
        """
        drive = self._drives.get(run_id) or self.expect(run_id, number)
        faults: list[Exception] = []

        def lost(fault: Exception | None) -> None:
            if fault is not None:
                faults.append(fault)
            task.cancel()

        try:
            await WorkflowJournal.begin(workflow_id(run_id, number), lost)
            await drive()
            return True
        except DatabaseUnavailable:
            _log.warning("run %s: the database is away; it is driven again when it is back", run_id)
            return False
        except asyncio.CancelledError:
            if not faults or self.is_closing:  # somebody else executes the workflow, or the next process does
                raise
            task.uncancel()
            _log.error("run %s: a call could not be recorded; the run ends as failed", run_id, exc_info=faults[0])
        except Exception:
            _log.exception("run %s: driving it failed; it ends as failed", run_id)
        finally:
            if self._drives.get(run_id) is drive:
                del self._drives[run_id]
            drive.moves.set()
        return await self._fail(run_id, number)

    async def _fail(self, run_id: str, number: int) -> bool:
        """False: not even that was kept, and the run is to be driven again."""
        try:
            await fail(self._places, run_id, number)
        except Exception:
            _log.exception("run %s: its failure could not be kept", run_id)
            return False
        return True
