"""SqlStore: the core's Store port on a database, for whoever drives runs in a process of one's own.

Its sessions and used approvals are those of the server's runs. Nothing is overwritten that somebody else has written
since: every change is a compare-and-set on what this store has read or written last. Must not know: DBOS, HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from agrun_host.store import tables
from agrun_host.store.database import Database
from agrun_wasm.contracts.errors import StateConflict

__all__ = ["SqlStore"]


class _Seen(NamedTuple):
    """What this store knows of a row: its revision, and how many entries were added to the state."""

    revision: int
    entries: int = 0


class SqlStore:
    """`async with await SqlStore.open(url) as store: Runtime(..., store=store)`; the URL as Database.open has it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._runs: dict[str, _Seen] = {}
        self._sessions: dict[str, _Seen] = {}

    @classmethod
    async def open(cls, url: str | None = None) -> Self:
        """Raises ConfigInvalid and DatabaseUnavailable."""
        return cls(await Database.open(url))

    async def close(self) -> None:
        await self._database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def save_run(self, run_id: str, state: Mapping[str, Any]) -> None:
        """As Store says. Raises StateConflict where somebody else has moved the run on."""
        async with self._database.transaction() as connection:
            seen = await self._save(connection, run_id, state)
        self._runs[run_id] = seen

    async def add_to_run(self, run_id: str, entry: Mapping[str, Any]) -> None:
        """As Store says. Raises StateConflict where somebody else has moved the run on."""
        seen = self._runs.get(run_id)
        if seen is None:
            raise StateConflict(f"run {run_id!r} is not one that this store has saved or given")
        states = tables.states
        try:
            async with self._database.transaction() as connection:
                # The row is written, though nothing of it changes: whoever saves it whole waits, or is waited for.
                same = sa.update(states).where(states.c.run_id == run_id, states.c.revision == seen.revision)
                if not (await connection.execute(same.values(revision=seen.revision))).rowcount:
                    raise _moved_on("run", run_id)
                row = {"run_id": run_id, "number": seen.entries, "entry": json.dumps(entry)}
                await connection.execute(sa.insert(tables.entries).values(row))
        except IntegrityError:
            raise _moved_on("run", run_id) from None
        self._runs[run_id] = seen._replace(entries=seen.entries + 1)

    async def load_run(self, run_id: str) -> Mapping[str, Any] | None:
        if not tables.is_id(run_id):
            return None
        states, entries = tables.states, tables.entries
        async with self._database.transaction() as connection:
            # Locked, so that the entries are those of this very state.
            query = sa.select(states.c.state, states.c.revision).where(states.c.run_id == run_id).with_for_update()
            found = (await connection.execute(query)).first()
            if found is None:
                return None
            added = sa.select(entries.c.entry).where(entries.c.run_id == run_id).order_by(entries.c.number)
            journal = [json.loads(text) for text in (await connection.execute(added)).scalars()]
        state: dict[str, Any] = json.loads(found.state)
        if journal:
            state["journal"] = [*state.get("journal", []), *journal]
        self._runs[run_id] = _Seen(found.revision, len(journal))
        return state

    async def save_session(self, session_id: str, history: list[Any]) -> None:
        """As Store says. Raises StateConflict where somebody else has written since."""
        tables.check_id(session_id)
        seen, written = self._sessions.get(session_id), {"history": json.dumps(history)}
        async with self._database.transaction() as connection:
            revision = await self._put(connection, tables.sessions.c.id, session_id, written, seen)
            if revision is None:
                raise _moved_on("session", session_id)
        self._sessions[session_id] = _Seen(revision)

    async def load_session(self, session_id: str) -> list[Any] | None:
        if not tables.is_id(session_id):
            return None
        sessions = tables.sessions
        query = sa.select(sessions.c.history, sessions.c.revision).where(sessions.c.id == session_id)
        async with self._database.transaction() as connection:
            found = (await connection.execute(query)).first()
        if found is None:
            self._sessions.pop(session_id, None)
            return None
        self._sessions[session_id] = _Seen(found.revision)
        history: list[Any] = json.loads(found.history)
        return history

    async def use_approvals(self, approval_ids: list[str], run_id: str, state: Mapping[str, Any]) -> str | None:
        """As Store says. Raises StateConflict where somebody else has moved the run on; nothing is used then."""
        async with self._database.transaction() as connection:
            for approval_id in approval_ids:
                new = self._database.insert(tables.approvals).values(id=approval_id, run_id=run_id)
                done = await connection.execute(new.on_conflict_do_nothing(index_elements=["id"]))
                if not done.rowcount:
                    await connection.rollback()
                    return approval_id
            seen = await self._save(connection, run_id, state)
        self._runs[run_id] = seen
        return None

    async def _save(self, connection: AsyncConnection, run_id: str, state: Mapping[str, Any]) -> _Seen:
        tables.check_id(run_id)
        seen, written = self._runs.get(run_id), {"state": json.dumps(state)}
        revision = await self._put(connection, tables.states.c.run_id, run_id, written, seen)
        if revision is None:
            raise _moved_on("run", run_id)
        gone = sa.delete(tables.entries).where(tables.entries.c.run_id == run_id)
        removed = (await connection.execute(gone)).rowcount
        if removed != (0 if seen is None else seen.entries):  # somebody has added what this state does not have
            raise _moved_on("run", run_id)
        return _Seen(revision)

    async def _put(
        self,
        connection: AsyncConnection,
        key: sa.Column[str],
        name: str,
        written: Mapping[str, str],
        seen: _Seen | None,
    ) -> int | None:
        """Compare-and-set of the row of this name: its new revision; None where somebody else has written it."""
        table = key.table
        if seen is None:
            new = self._database.insert(table).values({key.name: name, **written, "revision": 1})
            done = await connection.execute(new.on_conflict_do_nothing(index_elements=[key.name]))
        else:
            same = sa.update(table).where(key == name, table.c.revision == seen.revision)
            done = await connection.execute(same.values(**written, revision=seen.revision + 1))
        if not done.rowcount:
            return None
        return 1 if seen is None else seen.revision + 1


def _moved_on(what: str, name: str) -> StateConflict:
    return StateConflict(f"{what} {name!r} was moved on by somebody else", hint="Read it again, and go on from there.")
