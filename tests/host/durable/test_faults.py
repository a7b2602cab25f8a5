"""A drive that breaks down ends its run as failed: its readers are told, its session is free, nobody waits for it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from sqlalchemy.exc import ProgrammingError

from agrun_host.durable.runs import DurableRuns
from agrun_wasm import StateInvalid
from tests.host.durable.test_runs import Model, ended

#: what a drive calls: table, method, and whether the run has told anything before
PLACES = [
    ("runs", "begin", False),
    ("sessions", "take_turn", False),
    ("sessions", "history", False),
    ("events", "read", False),
    ("events", "append", False),
    ("sessions", "give_turn", True),
    ("runs", "end", True),
]
FAULTS = [
    ZeroDivisionError("a fault of ours with sk-secret"),
    ProgrammingError("INSERT", {}, Exception("no such table")),
]


async def check_failed(runs: DurableRuns, run_id: str, reader: asyncio.Task[list[Any]] | None = None) -> list[Any]:
    async with asyncio.timeout(30):
        view = await ended(runs, run_id)
        events = [event async for event in runs.events(run_id)]
        assert view.status == "failed", run_id
        assert view.result is not None
        assert view.result["error"]["code"] == "INTERNAL"
        assert "secret" not in str(view.result)
        assert view.result["steps"] == events
        numbers = [event["seq"] for event in events]
        assert numbers == sorted(set(numbers))
        assert events[-1]["type"] == "run-failed"
        with pytest.raises(StateInvalid):
            await runs.decide(run_id, {})
        if reader is not None:
            assert (await reader)[-1] == events[-1], "who reads along is told"
        assert (await ended(runs, (await runs.start({"prompt": "and now?"}, session="s")).run_id)).status == "completed"
    return events


async def test_a_run_whose_drive_breaks_down_ends_as_failed(
    database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    async with await DurableRuns.open(Model().runtime, database_url) as runs:

        async def read(run_id: str) -> list[Any]:
            return [event async for event in runs.events(run_id)]

        for place, (table, method, has_told) in enumerate(PLACES):
            fault, run_id = FAULTS[place % 2], f"{table}-{method}"
            owner = getattr(runs._places, table)
            real = getattr(owner, method)

            async def broken(
                *args: Any,
                fault: Exception = fault,
                owner: Any = owner,
                method: str = method,
                real: Any = real,
                **_: Any,
            ) -> Any:
                monkeypatch.setattr(owner, method, real)
                raise fault

            monkeypatch.setattr(owner, method, broken)
            await runs.start({"prompt": "hello"}, run_id=run_id, session="s")
            events = await check_failed(runs, run_id, asyncio.create_task(read(run_id)))
            assert (len(events) > 1) == has_told, run_id


async def test_a_call_that_cannot_be_recorded_ends_its_run_and_is_not_made_again(
    database_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    model = Model()
    async with await DurableRuns.open(model.runtime, database_url) as runs:

        def broken(_serializer: Any, data: Any) -> str:
            raise TypeError("sk-secret is no JSON value")

        with monkeypatch.context() as patch:
            await runs.start({"prompt": "one before"}, session="s")
            await model.was_asked()
            model.hold.clear()
            await runs.start({"prompt": "hello"}, run_id="r", session="s2")
            await model.was_asked(2)
            patch.setattr("agrun_host.durable.serializer.JsonSerializer.serialize", broken)
            model.hold.set()
            async with asyncio.timeout(30):
                await ended(runs, "r")
        await check_failed(runs, "r")
        assert sum(request.messages[-1].text == "hello" for request in model.asked) == 1


async def test_a_full_disk_is_waited_for_and_the_call_before_it_is_not_made_again(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dbos import DBOS
    from sqlalchemy.exc import OperationalError

    model, left, real = Model(), [2], DBOS.run_step_async

    async def full(*args: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise OperationalError("INSERT", {}, Exception("database or disk is full"))
        return await real(*args)

    async with await DurableRuns.open(model.runtime, database_url) as runs:
        monkeypatch.setattr(DBOS, "run_step_async", full)
        assert (await ended(runs, (await runs.start({"prompt": "hello"})).run_id)).status == "completed"
        assert left[0] < 0
        assert len(model.asked) == 1
