"""Bringing a database up to date: raced, from an older version, and refused for a newer one."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from agrun_host.store.database import Database, DatabaseUnavailable
from agrun_host.store.migrate import FOLDER
from agrun_host.store.run_table import RunTable
from agrun_host.store.tables import metadata
from agrun_wasm import ConfigInvalid
from tests.browser.serving import ROOT

#: opens the database when told to, and says how that went
OPENS = """
import asyncio, sys
from agrun_host.store.database import Database, DatabaseUnavailable

async def main():
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        async with await Database.open(sys.argv[1]):
            print("opened", flush=True)
    except DatabaseUnavailable as error:
        print("busy" if "another process serves" in error.message else error, flush=True)

asyncio.run(main())
"""


def test_processes_that_open_an_empty_database_at_once_make_its_tables_once(database_url: str) -> None:
    command = [sys.executable, "-c", OPENS, database_url]
    racers = [
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [racer.communicate(timeout=60)[0].strip() for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * 4
    if database_url.startswith("sqlite"):  # one process has the file; the others are told so
        assert "opened" in said
        assert set(said) <= {"opened", "busy"}
    else:
        assert said == ["opened"] * 4


async def test_the_migrations_make_the_tables_that_the_code_knows(database_url: str) -> None:
    async with await Database.open(database_url) as database, database.transaction() as connection:

        def differences(sync: sa.Connection) -> list[object]:
            context = MigrationContext.configure(sync, opts={"version_table": "agrun_schema", "compare_type": True})
            return list(compare_metadata(context, metadata))

        assert await connection.run_sync(differences) == []


async def test_every_version_has_one_before_it_and_opening_again_changes_nothing(database_url: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    versions = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert versions == sorted(versions, reverse=True)
    for _ in range(2):
        async with await Database.open(database_url) as database, database.transaction() as connection:
            found = (await connection.execute(sa.text("SELECT version_num FROM agrun_schema"))).scalars().all()
            assert list(found) == versions[:1]


async def test_a_run_of_the_first_version_is_still_there(database_url: str) -> None:
    async with await Database.open(database_url) as database:
        await RunTable(database).add("old", "s", {"n": 1}, "digest")
        async with database.transaction() as connection:
            await connection.execute(sa.text("DROP TABLE agrun_entries"))
            await connection.execute(sa.text("ALTER TABLE agrun_runs DROP COLUMN asked"))
            await connection.execute(sa.text("UPDATE agrun_schema SET version_num = '0001'"))
    async with await Database.open(database_url) as database:
        runs = RunTable(database)
        row = await runs.get("old")
        assert row is not None
        assert (row.session_id, row.status, row.asked) == ("s", "queued", None)
        assert await runs.state("old") == json.loads('{"n": 1}')


async def test_a_database_that_a_newer_version_has_made_is_refused_and_left_as_it_is(database_url: str) -> None:
    async with await Database.open(database_url) as database, database.transaction() as connection:
        await connection.execute(sa.text("UPDATE agrun_schema SET version_num = '9999'"))
    for _ in range(2):
        with pytest.raises(ConfigInvalid, match="knows them up to 0003") as refused:
            await Database.open(database_url)
        assert "Update agrun-host" in refused.value.hint


async def test_a_server_that_is_not_there_is_told_without_the_password() -> None:
    with pytest.raises(DatabaseUnavailable) as away:
        await Database.open("postgresql://me:sk-secret@127.0.0.1:9/none")
    assert "secret" not in str(away.value)
    assert away.value.hint
