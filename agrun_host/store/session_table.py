"""SessionTable: the turns of each conversation, and which run has its turn.

The turn belongs to a run, not to a process: a run whose process has died keeps it until it has ended elsewhere.
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from agrun_host.store import tables
from agrun_host.store.database import Database

__all__ = ["SessionTable"]


class SessionTable:
    """The sessions of a database. Turns are PastTurn as JSON."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take_turn(self, session_id: str, run_id: str) -> bool:
        """True: the run has the session's turn, from now or from before."""
        sessions = tables.sessions
        async with self._database.transaction() as connection:
            new = self._database.insert(sessions).values(id=session_id, history="[]", revision=1)
            await connection.execute(new.on_conflict_do_nothing(index_elements=["id"]))
            taken = await connection.execute(
                sa.update(sessions)
                .where(sessions.c.id == session_id, sa.or_(sessions.c.holder.is_(None), sessions.c.holder == run_id))
                .values(holder=run_id)
            )
        return bool(taken.rowcount)

    async def give_turn(self, session_id: str, run_id: str, turns: list[dict[str, Any]]) -> None:
        """Adds the run's turns, once, and lets the next run have the session."""
        sessions = tables.sessions
        async with self._database.transaction() as connection:
            query = sa.select(sessions.c.history, sessions.c.holder).where(sessions.c.id == session_id)
            found = (await connection.execute(query.with_for_update())).first()
            if found is None or found.holder != run_id:
                return
            history = json.loads(found.history)
            if turns and all(turn.get("runId") != run_id for turn in history):
                history += turns
            await connection.execute(
                sa.update(sessions)
                .where(sessions.c.id == session_id)
                .values(history=json.dumps(history), holder=None, revision=sessions.c.revision + 1)
            )

    async def history(self, session_id: str) -> list[dict[str, Any]]:
        query = sa.select(tables.sessions.c.history).where(tables.sessions.c.id == session_id)
        async with self._database.transaction() as connection:
            found = (await connection.execute(query)).scalar_one_or_none()
        return [] if found is None else json.loads(found)

    async def ids(self) -> list[str]:
        async with self._database.transaction() as connection:
            return list(
                (await connection.execute(sa.select(tables.sessions.c.id).order_by(tables.sessions.c.id))).scalars()
            )

    async def delete(self, session_id: str) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(sa.delete(tables.sessions).where(tables.sessions.c.id == session_id))
