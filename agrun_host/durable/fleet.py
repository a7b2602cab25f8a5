"""The processes that drive runs from one database, and which of them are dead.

Each holds a lock that PostgreSQL gives back when the process's connection ends. Whoever gets another one's lock knows
that this one is dead, and takes its runs over: no leases, no clocks to agree on. Must not know: runs, DBOS.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from agrun_host.store import tables
from agrun_host.store.database import Database

__all__ = ["Fleet"]


class Fleet:
    """This process among the others. On SQLite it is alone."""

    def __init__(self, database: Database, executor_id: str) -> None:
        self._database = database
        self._id = executor_id
        self._connection: AsyncConnection | None = None

    async def join(self) -> None:
        """From here on this process counts as alive, until `leave` or its end."""
        if not self._database.is_shared:
            return
        self._connection = await self._connect()
        await self._lock(self._connection, self._id)
        async with self._database.transaction() as connection:
            new = self._database.insert(tables.executors).values(id=self._id)
            await connection.execute(new.on_conflict_do_nothing(index_elements=["id"]))

    async def leave(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def rejoin(self) -> None:
        """Takes the lock again where the connection that held it was lost."""
        if self._connection is None:
            return
        try:
            await self._connection.execute(sa.text("SELECT 1"))
        except (DBAPIError, OSError):
            await self._connection.invalidate()
            await self._connection.close()
            self._connection = None
            await self.join()

    async def bury(self, take_over: Callable[[str], Awaitable[object]]) -> list[str]:
        """Has the runs of every dead process taken over; gives their ids. Each is taken over by one of the living."""
        if not self._database.is_shared:
            return []
        async with self._database.transaction() as connection:
            others = (await connection.execute(sa.select(tables.executors.c.id))).scalars().all()
        buried = []
        for other in others:
            if other == self._id:
                continue
            connection = await self._connect()
            try:
                if await self._lock(connection, other):
                    await take_over(other)
                    async with self._database.transaction() as writing:
                        await writing.execute(sa.delete(tables.executors).where(tables.executors.c.id == other))
                    buried.append(other)
            finally:
                await connection.invalidate()  # closes it for good, and its lock with it
                await connection.close()
        return buried

    async def _connect(self) -> AsyncConnection:
        connection = await self._database.connect()
        return await connection.execution_options(isolation_level="AUTOCOMMIT")

    async def _lock(self, connection: AsyncConnection, executor_id: str) -> bool:
        key = int.from_bytes(hashlib.sha256(executor_id.encode()).digest()[:8], signed=True)
        taken = await connection.execute(sa.text("SELECT pg_try_advisory_lock(:key)"), {"key": key})
        return bool(taken.scalar_one())
