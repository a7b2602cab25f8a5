"""DBOS in this process: one instance at a time, one kind of workflow, quiet.

A workflow is one drive of a run, under the id `<run id>:<number of the drive>`. Must not know: the core, how a drive is
done.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import sqlalchemy as sa
from dbos import DBOS, DBOSConfig, Queue, SetWorkflowID

from agrun_host.durable.serializer import JsonSerializer
from agrun_host.store.database import Database

__all__ = ["Engine"]

#: of the journal's form: a newer one would not find what an older one has recorded
JOURNAL_VERSION = "agrun-journal-1"
#: how often the shared queue is looked at for drives that another process had no room for
_POLL_S = 0.2
#: how often DBOS looks for messages, of which there are none; its end waits for that look
LISTEN_S = 1.0
#: ids of one query: SQLite takes 32,766 parameters at most
_AT_ONCE = 10_000
_NAME = "agrun"
#: what a process that drives one run alone is to DBOS: another application, which takes nothing from the fleet's queues
_ALONE = "agrun-cli"

Execute = Callable[[str, int], Awaitable[None]]

_SILENT = logging.NullHandler()

#: who executes a workflow: set by the one engine that is open
_execute: Execute | None = None


@DBOS.workflow(name="agrun-drive", max_recovery_attempts=None)
async def _drive(run_id: str, number: int) -> None:
    if _execute is None:
        raise RuntimeError("no engine is open")
    await _execute(run_id, number)


class Engine:
    """The open engine. Workflows are executed in the event loop that opened it, `limit` at a time; with `only`, the id
    of a run, nobody else's."""

    def __init__(self, database: Database, executor_id: str, limit: int, only: str | None = None) -> None:
        self._config: DBOSConfig = {
            "name": _NAME if only is None else _ALONE,
            "system_database_url": database.engine_url,
            "executor_id": executor_id,
            # A version is what DBOS hands interrupted workflows out by, among the processes of an application.
            "application_version": JOURNAL_VERSION if only is None else f"{JOURNAL_VERSION}:{only}",
            "serializer": JsonSerializer(),
            "log_level": "CRITICAL",
            "enable_otlp": False,
            "notification_listener_polling_interval_sec": LISTEN_S,
        }
        # Where there is a handler, DBOS adds none of its own, which would keep the error stream of its first launch.
        logging.getLogger("dbos").addHandler(_SILENT)
        self._database = database
        self._only = only
        self._limit = limit
        self._queue: Queue | None = None
        self._is_open = False

    async def open(self, execute: Execute) -> None:
        """Launches DBOS; what this executor had not ended is executed again. To be closed where it fails."""
        global _execute
        if _execute is not None:
            raise RuntimeError("another engine is open in this process")
        _execute, self._is_open = execute, True
        DBOS(config=self._config)
        DBOS.launch()
        if self._only is None:  # a queue belongs to one application: who drives one run alone has none
            self._queue = await DBOS.register_queue_async(
                _NAME, worker_concurrency=self._limit, polling_interval_sec=_POLL_S, on_conflict="always_update"
            )

    async def close(self) -> None:
        """Ends DBOS. What was being executed stays unfinished in the database, for whoever goes on with it."""
        global _execute
        if not self._is_open:
            return
        _execute, self._is_open = None, False
        await asyncio.to_thread(DBOS.destroy)

    async def start(self, run_id: str, number: int, *, here: bool) -> None:
        """Starts a drive, once, in this process; not `here`: in the first one that has room."""
        queue = self._queue
        if queue is None and self._only is None:
            raise RuntimeError("the engine is not open")

        async def started() -> None:
            with SetWorkflowID(workflow_id(run_id, number)):
                if here or queue is None:
                    await DBOS.start_workflow_async(_drive, run_id, number)
                else:
                    await queue.enqueue_async(_drive, run_id, number)

        # In a context of its own: a workflow must not be the child of one that happens to be executed.
        await asyncio.create_task(started(), context=contextvars.Context())

    async def started(self, drives: Iterable[tuple[str, int]]) -> set[tuple[str, int]]:
        """Which of these drives (run and number) were started."""
        asked = {workflow_id(run_id, number): (run_id, number) for run_id, number in drives}
        known: set[tuple[str, int]] = set()
        for ids in _batched(asked, _AT_ONCE):
            found = await DBOS.list_workflows_async(workflow_ids=list(ids), load_input=False, load_output=False)
            known |= {asked[workflow.workflow_id] for workflow in found}
        return known

    async def forget(self, run_id: str, drives: int) -> None:
        """Deletes what is recorded of a run's drives, up to this number; none of them may be being executed."""
        ids = [workflow_id(run_id, number) for number in range(1, drives + 1)]
        for some in _batched(ids, _AT_ONCE):
            await DBOS.delete_workflows_async(list(some))

    async def executor_of(self, run_id: str, number: int) -> str | None:
        """Who had this drive last: "" where it waits in the fleet's queue, None where it was not started."""
        status = await DBOS.get_workflow_status_async(workflow_id(run_id, number))
        return None if status is None else status.executor_id or ""

    async def adopt(self, run_id: str, number: int) -> None:
        """Goes on with one drive that another process had begun and cannot end. DBOS takes over all of an executor's
        workflows or none, so the row is put into this engine's name first."""
        config = self._config
        mine = {"name": config["name"], "version": config["application_version"], "executor": config["executor_id"]}
        async with self._database.transaction() as connection:
            schema = "dbos." if self._database.is_shared else ""
            await connection.execute(
                sa.text(
                    f"UPDATE {schema}workflow_status SET application_name = :name, application_version = :version, "
                    "executor_id = :executor, status = 'PENDING', queue_name = NULL "
                    "WHERE workflow_uuid = :id AND status IN ('PENDING', 'ENQUEUED')"
                ),
                {**mine, "id": workflow_id(run_id, number)},
            )
        await self.take_over(str(config["executor_id"]))

    async def take_over(self, executor_id: str) -> int:
        """Goes on with what an executor that is dead had not ended; how many drives that were."""
        taken: list[Any] = await asyncio.to_thread(DBOS._recover_pending_workflows, [executor_id])
        return len(taken)


def _batched(ids: Iterable[str], size: int) -> Iterator[tuple[str, ...]]:
    rest = iter(ids)
    while some := tuple(islice(rest, size)):
        yield some


def workflow_id(run_id: str, number: int) -> str:
    return f"{run_id}:{number}"
