"""The processes that drive runs from one database, and which of them are dead.

Each holds a lock that PostgreSQL gives back when the process's connection ends. Whoever gets another one's lock knows
that this one is dead, and takes its runs over: no leases, no clocks to agree on. Must not know: runs, DBOS.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from agrun_host.store import tables
from agrun_host.store.database import Database
from agrun_wasm.contracts.errors import ConfigInvalid

__all__ = ["Fleet"]

#: how long a lock is waited for that the process before may have left behind, and how often it is tried
_FREED_S, _AGAIN_S = 5.0, 0.1


class Fleet:
    """This process among the others. On SQLite it is alone."""

    def __init__(self, database: Database, executor_id: str) -> None:
        self._database = database
        self._id = executor_id
        self._connection: AsyncConnection | None = None
        self._is_held = False

    async def join(self) -> None:
        """From here on this process counts as alive, until `leave` or its end. Raises ConfigInvalid where a living
        process has this executor id: each would end the other's runs."""
        if not self._database.is_shared:
            return
        await self._hold()
        for _ in range(round(_FREED_S / _AGAIN_S)):
            if self._is_held:
                return
            await asyncio.sleep(_AGAIN_S)
            await self._hold()
        if not self._is_held:
            await self.leave()
            raise ConfigInvalid(
                f"executor id {self._id!r}: a living process has it",
                hint="Give each process of a fleet an id of its own, or none: then one is made.",
            )

    async def _hold(self) -> None:
        """Tries for the lock; the server may not have noticed yet that the connection which had it is gone."""
        if self._connection is None:
            self._connection = await self._connect()
        if not self._is_held:
            self._is_held = await self._lock(self._connection, self._id)
        async with self._database.transaction() as connection:
            new = self._database.insert(tables.executors).values(id=self._id)
            await connection.execute(new.on_conflict_do_nothing(index_elements=["id"]))

    async def leave(self) -> None:
        if self._connection is not None:
            connection, self._connection, self._is_held = self._connection, None, False
            await _let_go(connection)

    async def rejoin(self) -> None:
        """Takes the lock again where the connection that held it was lost, as often as it takes."""
        if not self._database.is_shared:
            return
        if self._connection is not None:
            try:
                await self._connection.execute(sa.text("SELECT 1"))
            except (DBAPIError, OSError):
                await self.leave()
        if not self._is_held:
            await self._hold()

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
            async with self.if_dead(other) as dead:
                if not dead:
                    continue
                await take_over(other)
                async with self._database.transaction() as connection:
                    await connection.execute(sa.delete(tables.executors).where(tables.executors.c.id == other))
                buried.append(other)
        return buried

    @asynccontextmanager
    async def if_dead(self, executor_id: str) -> AsyncIterator[bool]:
        """Has the process of this id ended? Within the block nobody else is told so, for its lock is held."""
        if not self._database.is_shared or executor_id == self._id:
            yield True
            return
        connection = await self._connect()
        try:
            yield await self._lock(connection, executor_id)
        finally:
            await _let_go(connection)

    async def _connect(self) -> AsyncConnection:
        connection = await self._database.connect()
        return await connection.execution_options(isolation_level="AUTOCOMMIT")

    async def _lock(self, connection: AsyncConnection, executor_id: str) -> bool:
        key = int.from_bytes(hashlib.sha256(executor_id.encode()).digest()[:8], signed=True)
        taken = await connection.execute(sa.text("SELECT pg_try_advisory_lock(:key)"), {"key": key})
        return bool(taken.scalar_one())


async def _let_go(connection: AsyncConnection) -> None:
    """Closes it for good instead of giving it back to the pool, and its lock with it."""
    await connection.invalidate()
    await connection.close()
