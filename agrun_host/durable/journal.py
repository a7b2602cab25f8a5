"""The core's Journal port over DBOS: what a finished call gave is a step of the run's workflow, named by its key.

DBOS numbers a workflow's steps in the order they are recorded in, and takes a name at its old number only. Calls of a
plan end in another order when they are replayed. So nothing is looked up by number here: what was recorded is read
once, when the workflow begins, and found by its name; what is new goes to the numbers after. Must not know: runs.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any

from dbos import DBOS
from sqlalchemy.exc import InterfaceError, OperationalError

from agrun_host.durable.backoff import Backoff
from agrun_host.store.database import DatabaseUnavailable

__all__ = ["DbosJournal", "WorkflowJournal"]

#: DBOS waits for a connection by itself; a disk that is full, or a lock that stays, it raises
_AWAY = (OperationalError, InterfaceError, OSError)
#: a database that does not answer holds nobody up for longer
_LANDS_S = 5.0

#: called when a step cannot be recorded; None: somebody else executes the workflow now
Lost = Callable[[Exception | None], object]

_current: contextvars.ContextVar[WorkflowJournal] = contextvars.ContextVar("agrun_journal")


class WorkflowJournal:
    """The steps of the workflow that is being executed."""

    def __init__(self, recorded: dict[str, Any], lost: Lost) -> None:
        self._recorded = recorded
        self._lost = lost

    @classmethod
    async def begin(cls, workflow_id: str, lost: Lost) -> WorkflowJournal:
        """Reads what was recorded, and is the journal of every call that is made from here on in this task. Raises
        DatabaseUnavailable."""

        async def read() -> list[Any]:
            return list(await DBOS.list_workflow_steps_async(workflow_id))

        # In a context of its own, where DBOS sees no workflow: within one it would record the list as a step.
        try:
            steps = await asyncio.create_task(read(), context=contextvars.Context())
        except _AWAY as error:
            raise DatabaseUnavailable(f"the journal cannot be read: {error}") from error
        for _ in range(max((step["function_id"] for step in steps), default=0)):
            DBOS.reserve_step()
        journal = cls({step["function_name"]: step["output"] for step in steps}, lost)
        _current.set(journal)
        return journal

    @property
    def replays(self) -> bool:
        """Was anything recorded before?"""
        return bool(self._recorded)

    async def once(self, key: str, call: Callable[[], Awaitable[Any]]) -> Any:
        if key in self._recorded:
            return self._recorded[key]["value"]
        # Called before the step begins: DBOS would record an exception too, and the core makes such a call again.
        value = await call()

        result = {"value": value}
        try:
            await self._record(key, result)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # DBOS's conflicts are no Exceptions
            self._lost(error if isinstance(error, Exception) else None)
            raise asyncio.CancelledError from error  # as the whole drive is: told of the error, the core calls again
        self._recorded[key] = result  # the run may be driven again in this very workflow
        return value

    async def _record(self, key: str, result: Any) -> None:
        """As often as it takes: the call was made, and must not be made again because the disk was full for a while."""

        async def given() -> Any:
            return result

        backoff = Backoff()
        while True:
            try:
                await _landed(asyncio.ensure_future(DBOS.run_step_async({"name": key}, given)))
                return
            except _AWAY:
                await backoff.wait()


async def _landed(step: asyncio.Future[Any]) -> None:
    """Waits until a step is recorded. DBOS writes it in a thread, which cancelling does not stop: the row would come
    after whoever goes on with the workflow in this process has read them, and the number would be taken twice."""
    try:
        await asyncio.shield(step)
    except asyncio.CancelledError:
        step.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody asks for it any more
        await asyncio.wait([step], timeout=_LANDS_S)
        raise


class DbosJournal:
    """The Journal port of a runtime whose runs are workflows, each with its own journal."""

    async def once(self, key: str, call: Callable[[], Awaitable[Any]]) -> Any:
        return await _current.get().once(key, call)
