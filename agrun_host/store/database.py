"""Database: one open database, its tables brought up to date, and short transactions on it.

Must not know: what stands in the tables, runs.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert as insert_postgresql
from sqlalchemy.dialects.sqlite import insert as insert_sqlite
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from agrun_host.store.migrate import migrate
from agrun_host.store.urls import database_url
from agrun_wasm.contracts.errors import AgrunError

__all__ = ["Database", "DatabaseUnavailable"]

#: SQLite's primary result code -> what to do
_HINTS = {
    sqlite3.SQLITE_READONLY: "See that this user may write the file and its folder.",
    sqlite3.SQLITE_CANTOPEN: "See that this user may write the file and its folder.",
    sqlite3.SQLITE_FULL: "Make room on the disk; runs go on by themselves then.",
    sqlite3.SQLITE_CORRUPT: "The file is damaged: bring back a copy of it, or give another database.",
    sqlite3.SQLITE_NOTADB: "The file is no SQLite database, or damaged: give another one.",
    0: "See that the database runs and has room, and try again.",
}
#: how long a writer waits for another one on SQLite
_BUSY_MS = 30_000
_POOL = 10


class DatabaseUnavailable(AgrunError):
    """The database cannot be reached or written now. Nothing of the transaction was kept; it can be tried again."""

    code = "DATABASE_UNAVAILABLE"


class Database:
    """An open database. `async with await Database.open(url) as database:` closes it again.

    On SQLite one process uses a file at a time, and its transactions take turns; PostgreSQL is for many processes.
    """

    def __init__(self, engine: AsyncEngine, engine_url: str, name: str) -> None:
        self._engine = engine
        self._lock: Any = None
        #: the same database for DBOS, whose engine is synchronous; holds the password
        self.engine_url = engine_url
        #: without the password
        self.name = name

    @classmethod
    async def open(cls, url: str | None = None) -> Database:
        """Opens (and makes, and migrates) a database: `sqlite:///file.db` or `postgresql://...`; None is agrun.db in
        the user's data folder. Raises ConfigInvalid and DatabaseUnavailable."""
        ours, engine_url = database_url(url)
        lite = ours.get_backend_name() == "sqlite"
        pool = {"pool_size": 1, "max_overflow": 0, "pool_timeout": 120} if lite else {"pool_size": _POOL}
        engine = create_async_engine(ours, pool_pre_ping=not lite, **pool)
        if lite:
            _set_up_sqlite(engine)
        shown = ours.set(drivername=ours.get_backend_name()).render_as_string(hide_password=True)
        database = cls(engine, engine_url.render_as_string(hide_password=False), shown)
        try:
            if lite:
                database._lock = database._take_file(Path(str(ours.database)))
            async with database.transaction() as connection:
                await connection.run_sync(migrate)
        except BaseException:
            await database.close()
            raise
        return database

    @property
    def is_shared(self) -> bool:
        """May other processes use it at the same time?"""
        return self._engine.dialect.name == "postgresql"

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """A transaction: kept when the block ends, taken back when it raises. Raises DatabaseUnavailable."""
        try:
            async with self._engine.begin() as connection:
                yield connection
        except (OperationalError, OSError, PoolTimeout, sqlite3.DatabaseError) as error:  # SQLite's own: on connecting
            raise self._unavailable(error) from error
        except DBAPIError as error:
            if error.connection_invalidated or not isinstance(error, (IntegrityError, DataError, ProgrammingError)):
                raise self._unavailable(error) from error
            raise

    async def connect(self) -> AsyncConnection:
        """A connection of its own, for locks that live as long as it does. Close it."""
        return await self._engine.connect()

    def insert(self, table: sa.Table) -> Any:
        """An INSERT that knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
        return insert_postgresql(table) if self.is_shared else insert_sqlite(table)

    def _unavailable(self, error: BaseException) -> DatabaseUnavailable:
        cause: Any = getattr(error, "orig", None) or error
        code = sqlite3.SQLITE_CANTOPEN if isinstance(cause, PermissionError) else getattr(cause, "sqlite_errorcode", 0)
        return DatabaseUnavailable(
            f"database {self.name}: {type(cause).__name__}: {cause}",
            hint="Nothing of this step was kept. " + _HINTS.get(code & 0xFF, _HINTS[0]),
        )

    def _take_file(self, path: Path) -> Any:
        """An open lock file beside the database, whose lock ends with the process. Raises DatabaseUnavailable."""
        try:
            import fcntl
        except ImportError:  # Windows: SQLite's own locks keep the file whole, and nobody looks for a second process
            return None
        try:
            lock = path.with_name(path.name + ".lock").open("w")
        except OSError as error:
            raise self._unavailable(error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise DatabaseUnavailable(
                f"database {path.name}: another process serves from it",
                hint="One process at a time uses a SQLite file. End the other one, or use PostgreSQL for several.",
            ) from None
        return lock

    async def close(self) -> None:
        await self._engine.dispose()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(asyncio.CancelledError):
            await self.close()


def _set_up_sqlite(engine: AsyncEngine) -> None:
    @sa.event.listens_for(engine.sync_engine, "connect")
    def connected(connection: Any, _record: Any) -> None:
        try:
            prepare(connection)
        except BaseException:  # the pool has not seen it yet, and its thread would stay
            connection.close()
            raise

    def prepare(connection: Any) -> None:
        connection.isolation_level = None  # so that BEGIN is ours
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        cursor.execute("PRAGMA journal_mode = WAL")
        # NORMAL may lose the last transactions when the power fails: an event that a client was told of, and the bound
        # of the numbers with it, so that the next events would be taken for those that it has.
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.close()

    @sa.event.listens_for(engine.sync_engine, "begin")
    def begun(connection: Any) -> None:
        # A transaction that begins by reading and is overtaken by DBOS's writer could not be gone on with.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
