"""RunTable: which runs there are, where each one stands, and the state its next drive begins from.

A run is set in motion once by whoever asked for it, and once more for each decision on it: its drives, counted from 1.
Every change of a row is a compare-and-set. Must not know: how a run is driven.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from agrun_host.store import tables
from agrun_host.store.database import Database
from agrun_wasm.contracts.errors import ApprovalInvalid, StateConflict

__all__ = ["RunRow", "RunTable"]

_UNFINISHED = ("queued", "running")


class RunRow(NamedTuple):
    """A run as its row has it. `decisions` is what its drive was given; `result` is the RunResult without `state`."""

    id: str
    session_id: str | None
    status: str
    drive: int
    decisions: dict[str, Any] | None
    stop: str | None
    result: dict[str, Any] | None
    reserved: int
    revision: int
    created_at: float
    asked: str | None

    @property
    def is_over(self) -> bool:
        """Is it over, or does it wait for somebody?"""
        return self.status not in _UNFINISHED


class RunTable:
    """The runs of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, run_id: str, session_id: str | None, state: Mapping[str, Any], asked: str) -> bool:
        """A new run, queued, with the state it begins from. False: there is one of this id, and nothing was changed.
        Raises ConfigInvalid for ids that no database keeps."""
        for given in (run_id, session_id):
            if given is not None:
                tables.check_id(given)
        now = time.time()
        row: dict[str, Any] = {"id": run_id, "session_id": session_id, "status": "queued", "asked": asked}
        row |= {"created_at": now, "changed_at": now}
        async with self._database.transaction() as connection:
            added = await connection.execute(
                self._database.insert(tables.runs).values(row).on_conflict_do_nothing(index_elements=["id"])
            )
            if not added.rowcount:
                return False
            await self._put_state(connection, run_id, state)
        return True

    async def get(self, run_id: str) -> RunRow | None:
        if not tables.is_id(run_id):
            return None
        async with self._database.transaction() as connection:
            found = (await connection.execute(_SELECT.where(tables.runs.c.id == run_id))).first()
        return None if found is None else _row(found)

    async def latest(self, limit: int = 100) -> list[RunRow]:
        """The latest first."""
        query = _SELECT.order_by(tables.runs.c.created_at.desc()).limit(limit)
        async with self._database.transaction() as connection:
            return [_row(found) for found in await connection.execute(query)]

    async def queued(self, for_seconds: float) -> list[tuple[str, int]]:
        """Runs, and the number of the drive, that have been waiting for so long to be begun, the oldest first."""
        runs = tables.runs
        query = sa.select(runs.c.id, runs.c.drive).order_by(runs.c.created_at)
        query = query.where(runs.c.status == "queued", runs.c.changed_at <= time.time() - for_seconds)
        async with self._database.transaction() as connection:
            return [(run_id, drive) for run_id, drive in await connection.execute(query)]

    async def begin(self, run_id: str, drive: int) -> tuple[RunRow, dict[str, Any]] | None:
        """Marks the drive as running; gives the row and the state it begins from. None: that drive is over."""
        runs = tables.runs
        async with self._database.transaction() as connection:
            changed = await connection.execute(
                sa.update(runs)
                .where(runs.c.id == run_id, runs.c.drive == drive, runs.c.status.in_(_UNFINISHED))
                .values(status="running", revision=runs.c.revision + 1, changed_at=time.time())
            )
            if not changed.rowcount:
                return None
            row = _row((await connection.execute(_SELECT.where(runs.c.id == run_id))).one())
            return row, await self._state(connection, run_id)

    async def end(
        self,
        run_id: str,
        drive: int,
        status: str,
        result: Mapping[str, Any],
        state: Mapping[str, Any] | None,
        seq: int,
        *,
        last: Mapping[str, Any] | None = None,
    ) -> bool:
        """The drive's end: status and result, and the state that a decision goes on from (None: nobody goes on); `last`
        is an event that is kept with it. False: it was ended before."""
        runs = tables.runs
        values = {"status": status, "result": json.dumps(result), "reserved": seq, "changed_at": time.time()}
        async with self._database.transaction() as connection:
            changed = await connection.execute(
                sa.update(runs)
                .where(runs.c.id == run_id, runs.c.drive == drive, runs.c.status.in_(_UNFINISHED))
                .values(**values, stop=None, decisions=None, revision=runs.c.revision + 1)
            )
            if not changed.rowcount:
                return False
            if state is not None:
                await self._put_state(connection, run_id, state)
            if last is not None:
                event = {"run_id": run_id, "seq": last["seq"], "event": json.dumps(last)}
                await connection.execute(sa.insert(tables.events).values(event))
            return True

    async def decide(self, row: RunRow, approval_ids: Iterable[str], decisions: Mapping[str, Any]) -> RunRow:
        """Answers count from here on: they are used, and the run is queued for its next drive, all or nothing.
        Raises ApprovalInvalid for one that was used, StateConflict where somebody else has moved the run on."""
        runs = tables.runs
        async with self._database.transaction() as connection:
            for approval_id in approval_ids:
                try:
                    async with connection.begin_nested():
                        await connection.execute(sa.insert(tables.approvals).values(id=approval_id, run_id=row.id))
                except IntegrityError:
                    raise ApprovalInvalid(f"approval {approval_id!r} was already used", reason="used") from None
            changed = await connection.execute(
                sa.update(runs)
                .where(runs.c.id == row.id, runs.c.revision == row.revision)
                .values(
                    status="queued",
                    drive=row.drive + 1,
                    decisions=json.dumps(decisions),
                    stop=None,
                    result=None,
                    revision=row.revision + 1,
                    changed_at=time.time(),
                )
            )
            if not changed.rowcount:
                raise _moved_on(row)
            return _row((await connection.execute(_SELECT.where(runs.c.id == row.id))).one())

    async def is_used(self, approval_id: str) -> bool:
        """Was this approval answered?"""
        if not tables.is_id(approval_id, tables.APPROVAL_MOST):
            return False
        query = sa.select(tables.approvals.c.id).where(tables.approvals.c.id == approval_id)
        async with self._database.transaction() as connection:
            return (await connection.execute(query)).first() is not None

    async def ask_stop(self, run_id: str, how: str) -> None:
        """Whoever drives the run is to stop it; "now" is not taken back by a later "after_step"."""
        runs = tables.runs
        async with self._database.transaction() as connection:
            await connection.execute(
                sa.update(runs)
                .where(
                    runs.c.id == run_id,
                    runs.c.status.in_(_UNFINISHED),
                    sa.or_(runs.c.stop.is_(None), runs.c.stop != "now"),
                )
                .values(stop=how, revision=runs.c.revision + 1)
            )

    async def stops(self, run_ids: Iterable[str]) -> dict[str, str]:
        """Which of these runs are to be stopped, and how."""
        runs = tables.runs
        query = sa.select(runs.c.id, runs.c.stop).where(runs.c.id.in_(list(run_ids)), runs.c.stop.is_not(None))
        async with self._database.transaction() as connection:
            return {run_id: how for run_id, how in (await connection.execute(query)).all()}  # noqa: C416 (rows, not pairs)

    async def state(self, run_id: str) -> dict[str, Any]:
        async with self._database.transaction() as connection:
            return await self._state(connection, run_id)

    async def delete(self, row: RunRow) -> None:
        """The run with its events and its state; its answered approvals stay used. Raises StateConflict where somebody
        has moved it on."""
        runs = tables.runs
        async with self._database.transaction() as connection:
            gone = await connection.execute(sa.delete(runs).where(runs.c.id == row.id, runs.c.revision == row.revision))
            if not gone.rowcount:
                raise _moved_on(row)
            await connection.execute(sa.delete(tables.events).where(tables.events.c.run_id == row.id))
            await connection.execute(sa.delete(tables.states).where(tables.states.c.run_id == row.id))

    async def _state(self, connection: AsyncConnection, run_id: str) -> dict[str, Any]:
        query = sa.select(tables.states.c.state).where(tables.states.c.run_id == run_id)
        found: dict[str, Any] = json.loads((await connection.execute(query)).scalar_one())
        return found

    async def _put_state(self, connection: AsyncConnection, run_id: str, state: Mapping[str, Any]) -> None:
        put = self._database.insert(tables.states).values(run_id=run_id, state=json.dumps(state), revision=1)
        changed = {"state": put.excluded.state, "revision": tables.states.c.revision + 1}
        await connection.execute(put.on_conflict_do_update(index_elements=["run_id"], set_=changed))


_SELECT = sa.select(*(tables.runs.c[name] for name in RunRow._fields))


def _moved_on(row: RunRow) -> StateConflict:
    return StateConflict(f"run {row.id!r} was moved on by somebody else", hint="Look at it again.")


def _row(found: Any) -> RunRow:
    row = RunRow(*found)
    return row._replace(decisions=_json(row.decisions), result=_json(row.result))


def _json(text: Any) -> Any:
    return None if text is None else json.loads(text)
