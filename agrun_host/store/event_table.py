"""EventTable: the kept events of all runs, and how far each run's numbers are taken.

What many runs add at once is written in one transaction: under load a transaction costs more than what is in it.
Must not know: who reads them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from agrun_host.store import tables
from agrun_host.store.database import Database

__all__ = ["EventTable"]

#: rows of one INSERT: SQLite takes 32,766 parameters at most, three for each row
_ROWS = 5_000
#: events that are read at once; a reader who takes nothing holds so many
_PAGE = 200


class EventTable:
    """The events of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        #: added since the last transaction began, and who waits for it
        self._rows: list[dict[str, Any]] = []
        self._reserved: dict[str, int] = {}
        self._written: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    async def append(self, run_id: str, events: Sequence[Mapping[str, Any]], reserved: int | None = None) -> None:
        """Keeps these events, and raises the bound of the run's numbers to `reserved`; once it returns they are kept.
        An event whose number is there already is that one."""
        self._rows += [{"run_id": run_id, "seq": event["seq"], "event": json.dumps(event)} for event in events]
        if reserved is not None:
            self._reserved[run_id] = max(reserved, self._reserved.get(run_id, 0))
        if self._written is None:
            self._written = asyncio.create_task(self._write())
        # Others wait for the same transaction: one that is cancelled takes it from nobody.
        await asyncio.shield(self._written)

    async def _write(self) -> None:
        """Waits for the transaction before, and writes what was gathered meanwhile."""
        async with self._writing:
            rows, reserved = self._rows, self._reserved
            self._rows, self._reserved, self._written = [], {}, None
            async with self._database.transaction() as connection:
                for place in range(0, len(rows), _ROWS):
                    put = self._database.insert(tables.events).values(rows[place : place + _ROWS])
                    await connection.execute(put.on_conflict_do_nothing(index_elements=["run_id", "seq"]))
                if reserved:
                    await connection.execute(
                        sa.update(tables.runs)
                        .where(
                            tables.runs.c.id == sa.bindparam("of_run"), tables.runs.c.reserved < sa.bindparam("bound")
                        )
                        .values(reserved=sa.bindparam("bound")),
                        [{"of_run": run_id, "bound": bound} for run_id, bound in reserved.items()],
                    )

    async def read(self, run_id: str, after: int = 0, limit: int = _PAGE) -> list[dict[str, Any]]:
        """Events whose number is above `after`, in order."""
        events = tables.events
        query = (
            sa.select(events.c.event)
            .where(events.c.run_id == run_id, events.c.seq > after)
            .order_by(events.c.seq)
            .limit(limit)
        )
        async with self._database.transaction() as connection:
            return [json.loads(text) for text in (await connection.execute(query)).scalars()]
