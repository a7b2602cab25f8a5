"""A SQLite file that cannot be used as it should: read-only, full, damaged, of somebody else. Each says what to do."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agrun_host.store.database import Database, DatabaseUnavailable
from agrun_host.store.run_table import RunTable
from agrun_wasm import ConfigInvalid

NOBODY = 65_534
BIG = {"text": "x" * 400_000}


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that another user may look into, which tmp_path is not."""
    made = Path(tempfile.mkdtemp(prefix="agrun-store-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@contextmanager
def without_rights() -> Iterator[None]:
    """As a user whom file modes hold back; root they do not."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


def url(path: Path) -> str:
    return f"sqlite:///{path}"


async def refusal(path: Path) -> DatabaseUnavailable:
    with pytest.raises(DatabaseUnavailable) as refused:
        async with await Database.open(url(path)) as database:
            await RunTable(database).add("new", None, {}, "")
    async with asyncio.timeout(10):  # aiosqlite does not wait for the thread of a connection that was none
        while any("_connection_worker_thread" in thread.name for thread in threading.enumerate()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return refused.value


async def filled(path: Path, count: int = 1) -> None:
    async with await Database.open(url(path)) as database:
        for number in range(count):
            await RunTable(database).add(f"r{number}", None, BIG, "")


async def test_a_file_that_may_not_be_written_is_told(folder: Path) -> None:
    path = folder / "test.db"
    await filled(path)
    path.chmod(0o444)
    (folder / "test.db.lock").chmod(0o666)
    os.chmod(folder, 0o555)  # noqa: PTH101 (not in a thread, as ASYNC240 has it)
    with without_rights():
        error = await refusal(path)
    assert error.hint.endswith("See that this user may write the file and its folder.")
    (folder / "test.db.lock").chmod(0o444)
    with without_rights():
        error = await refusal(path)
    assert "Permission denied" in error.message
    assert error.hint.endswith("See that this user may write the file and its folder.")


@pytest.mark.parametrize("where", ["none/test.db", "."])
async def test_a_place_where_no_file_can_be_is_told(tmp_path: Path, where: str) -> None:
    assert (await refusal(tmp_path / where)).hint


async def test_a_full_disk_keeps_nothing_by_halves_and_is_gone_on_with(tmp_path: Path) -> None:
    async with await Database.open(url(tmp_path / "test.db")) as database:
        runs = RunTable(database)
        await runs.add("before", None, {"n": 1}, "")

        async def limit(pages: int) -> None:
            async with database.transaction() as connection:
                await connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

        async with database.transaction() as connection:
            pages: Any = (await connection.exec_driver_sql("PRAGMA page_count")).scalar_one()
        await limit(pages + 10)
        with pytest.raises(DatabaseUnavailable) as full:
            await runs.add("big", None, BIG, "")
        assert "full" in full.value.message
        assert "Make room" in full.value.hint
        assert await runs.get("big") is None
        assert await runs.state("before") == {"n": 1}
        await limit(pages + 1_000)
        assert await runs.add("big", None, BIG, "")
        assert await runs.state("big") == BIG


async def test_a_file_that_is_no_database_is_told_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "test.db"
    path.write_bytes(b"a letter to somebody" * 500)
    error = await refusal(path)
    assert "no SQLite database" in error.hint
    assert path.read_bytes() == b"a letter to somebody" * 500


async def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "test.db"
    await filled(path, 8)
    whole = path.read_bytes()
    path.write_bytes(whole[:4_096] + b"\xa5" * (len(whole) - 4_096))
    error = await refusal(path)
    assert "damaged" in error.hint
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DatabaseUnavailable, match="malformed"):
        await _read_all(path, 8)


async def _read_all(path: Path, count: int) -> None:
    async with await Database.open(url(path)) as database:
        for number in range(count):
            await RunTable(database).state(f"r{number}")


async def test_another_program_s_database_is_joined_and_not_harmed(tmp_path: Path) -> None:
    path = tmp_path / "test.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes (text)")
        other.execute("INSERT INTO notes VALUES ('mine')")
    other.close()
    await filled(path)
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT text FROM notes").fetchall() == [("mine",)]
    other.close()


async def test_what_is_kept_is_on_the_disk_when_it_is_told(tmp_path: Path) -> None:
    """No power can be cut here; that SQLite waits for the disk is a setting of the connection."""
    async with await Database.open(url(tmp_path / "test.db")) as database, database.transaction() as connection:
        full = 2
        assert (await connection.exec_driver_sql("PRAGMA synchronous")).scalar_one() == full
        assert (await connection.exec_driver_sql("PRAGMA journal_mode")).scalar_one() == "wal"


@pytest.mark.parametrize("given", ["sqlite://", "sqlite:///:memory:", "mysql://x/y", "nonsense", "postgresql//x"])
async def test_what_is_no_database_url_is_refused(given: str) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        await Database.open(given)
    assert "sqlite:///" in refused.value.hint
