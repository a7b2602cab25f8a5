"""What is kept: deleted runs leave nothing, an opening that fails holds nothing, runs nobody started are found."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
import sqlalchemy as sa
from dbos import DBOS

from agrun_host.durable.runs import DurableRuns
from agrun_host.runs import NoSuchRun
from agrun_host.store.urls import database_url as read_url
from agrun_wasm import StateInvalid
from tests.host.durable.test_runs import Model, approvals, ended
from tests.host.postgres import Postgres


def rows_with(url: str, word: str) -> dict[str, int]:
    """How many rows of each table, DBOS's too, hold this word."""
    engine = sa.create_engine(read_url(url)[1])
    found: dict[str, int] = {}
    with engine.connect() as connection:
        looked = sa.inspect(connection)
        for schema in [None, *(["dbos"] if engine.dialect.name == "postgresql" else [])]:
            for table in looked.get_table_names(schema=schema):
                rows = connection.execute(sa.select(sa.text("*")).select_from(sa.table(table, schema=schema))).all()
                if count := sum(re.search(rf"\b{word}\b", str(tuple(row))) is not None for row in rows):
                    found[table] = count
    engine.dispose()
    return found


async def test_a_deleted_run_leaves_nothing_but_its_used_approval(database_url: str) -> None:
    model = Model()
    async with await DurableRuns.open(model.runtime, database_url) as runs:
        await runs.start({"prompt": "order A"}, run_id="gone")
        blocked = await ended(runs, "gone")
        await runs.decide("gone", {approvals(blocked)[0]: "approve"})
        assert (await ended(runs, "gone")).status == "completed"
        await ended(runs, (await runs.start({"prompt": "hello"}, run_id="stays")).run_id)
        model.hold.clear()
        await runs.start({"prompt": "hello"}, run_id="goes-on")
        with pytest.raises(StateInvalid, match="in progress"):
            await runs.delete("goes-on")
        assert {"agrun_runs", "agrun_events", "workflow_status", "operation_outputs"} <= set(
            rows_with(database_url, "gone")
        )
        await runs.delete("gone")
        with pytest.raises(NoSuchRun):
            await runs.view("gone")
        with pytest.raises(NoSuchRun):
            await runs.delete("gone")
        model.hold.set()
        assert (await ended(runs, "goes-on")).status == "completed"
        assert (await runs.view("stays")).status == "completed"
    assert rows_with(database_url, "gone") == {"agrun_approvals": 1}


async def test_an_opening_that_fails_holds_nothing(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    url, real = postgres.new_database(), DBOS.register_queue_async

    async def failing(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no queue today")

    monkeypatch.setattr(DBOS, "register_queue_async", failing)
    with pytest.raises(RuntimeError, match="no queue today"):
        await DurableRuns.open(Model().runtime, url, executor_id="one")
    monkeypatch.setattr(DBOS, "register_queue_async", real)
    database = url.rpartition("/")[2]
    query = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}'"
    for _ in range(50):
        if (left := postgres.sql(query, "postgres").strip()) == "0":
            break
        await asyncio.sleep(0.1)
    assert left == "0", "connections stay open"
    async with await DurableRuns.open(Model().runtime, url, executor_id="one") as runs:
        with pytest.raises(RuntimeError, match="another engine"):
            await DurableRuns.open(Model().runtime, postgres.new_database())
        assert (await ended(runs, (await runs.start({"prompt": "hello"})).run_id)).status == "completed"


async def test_runs_that_nobody_started_are_found_by_one_query(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Model()
    async with await DurableRuns.open(model.runtime, database_url) as runs:

        async def dies(*_: Any, **__: Any) -> None:
            raise ConnectionError("dies before it has started what it wrote down")

        with monkeypatch.context() as patch:
            patch.setattr(runs._engine, "start", dies)
            for number in range(20):
                with pytest.raises(ConnectionError):
                    await runs.start({"prompt": "hello"}, run_id=f"r{number}")
        asked: list[Any] = []
        real = DBOS.list_workflows_async

        async def counted(**keys: Any) -> Any:
            asked.append(keys)
            return await real(**keys)

        monkeypatch.setattr(DBOS, "list_workflows_async", counted)
        await runs._look(0.0)
        assert len(asked) == 1
        for number in range(20):
            assert (await ended(runs, f"r{number}")).status == "completed"
        await runs._look(0.0)
        assert len(model.asked) == 20
