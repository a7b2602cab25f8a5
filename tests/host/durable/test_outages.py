"""A database that goes away in the middle of a run costs no run, and has nothing done again that was recorded."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from agrun_host.durable.fleet import Fleet
from agrun_host.durable.runs import DurableRuns
from agrun_host.store.database import Database, DatabaseUnavailable
from agrun_wasm import ConfigInvalid
from tests.host.durable.cable import Cable, cable
from tests.host.durable.test_runs import Model
from tests.host.postgres import Postgres

#: what a drive does in the database outside the run itself: table and method, in the order of a drive
MOMENTS = [
    ("runs", "begin"),
    ("sessions", "take_turn"),
    ("sessions", "history"),
    ("events", "read"),
    ("sessions", "give_turn"),
    ("runs", "end"),
]


class Outage:
    """Cuts the cable when a method of a table is called, or when it has done its work and says so."""

    def __init__(self, line: Cable, monkeypatch: pytest.MonkeyPatch) -> None:
        self._line = line
        self._patch = monkeypatch

    def at(self, runs: DurableRuns, table: str, method: str, *, done: bool) -> None:
        owner = getattr(runs._places, table)
        real = getattr(owner, method)

        async def cut(*args: Any, **keys: Any) -> Any:
            self._patch.setattr(owner, method, real)
            if done:
                await real(*args, **keys)
            self._line.cut()
            asyncio.get_running_loop().call_later(0.1, self._line.mend)
            if done:
                raise DatabaseUnavailable("the answer was lost on its way")
            return await real(*args, **keys)

        self._patch.setattr(owner, method, cut)


async def start(runs: DurableRuns, run_id: str) -> None:
    """A client that asks again until it is answered: the same id starts nothing twice."""
    while True:
        try:
            await runs.start({"prompt": "hello"}, run_id=run_id, session="s")
            return
        except DatabaseUnavailable:
            await asyncio.sleep(0.05)


async def read_on(runs: DurableRuns, run_id: str) -> list[Any]:
    """A client that comes back, with the last number it has seen, until the run is over."""
    seen: list[Any] = []
    while True:
        try:
            async for event in runs.events(run_id, after=seen[-1]["seq"] if seen else 0):
                seen.append(event)  # noqa: PERF401 (what came before an error counts)
            return seen
        except DatabaseUnavailable:
            await asyncio.sleep(0.05)


async def test_a_run_is_driven_again_wherever_its_database_went_away(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Model()
    with cable(postgres.new_database()) as line:
        outage = Outage(line, monkeypatch)
        async with await DurableRuns.open(model.runtime, line.url) as runs:
            for table, method in MOMENTS:
                for done in (False, True):
                    run_id, asked = f"{table}-{method}-{done}", len(model.asked)
                    outage.at(runs, table, method, done=done)
                    async with asyncio.timeout(60):
                        await start(runs, run_id)
                        events = await read_on(runs, run_id)
                    kinds = Counter(event["type"] for event in events)
                    assert kinds["run-started"] == kinds["run-completed"] == 1, run_id
                    numbers = [event["seq"] for event in events]
                    assert numbers == sorted(set(numbers)), run_id
                    assert len(model.asked) == asked + 1, f"{run_id}: what was recorded is asked for again"
            turns = await runs._places.sessions.history("s")
            ids = [turn["runId"] for turn in turns if turn["role"] == "user"]
            assert ids == [f"{table}-{method}-{done}" for table, method in MOMENTS for done in (False, True)]


async def test_a_process_that_lives_is_not_taken_for_dead_when_its_lock_came_late(postgres: Postgres) -> None:
    """The server may hold the lock of a lost connection for a while after the process has a new one."""
    url = postgres.new_database()
    buried: list[str] = []

    async def take_over(executor_id: str) -> None:
        buried.append(executor_id)

    async with await Database.open(url) as database, await Database.open(url) as other:
        left_behind, mine, watcher = Fleet(database, "mine"), Fleet(database, "mine"), Fleet(other, "other")
        await watcher.join()
        await left_behind.join()
        await mine.rejoin()
        await left_behind.leave()
        await mine.rejoin()
        await watcher.bury(take_over)
        assert buried == [], "its lock was free, though it lives"
        await mine.leave()
        await watcher.bury(take_over)
        assert buried == ["mine"]
        await watcher.leave()


async def test_an_executor_id_that_a_living_process_has_is_refused(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agrun_host.durable.fleet._FREED_S", 0.2)
    async with await Database.open(postgres.new_database()) as database:
        first, second = Fleet(database, "same"), Fleet(database, "same")
        await first.join()
        with pytest.raises(ConfigInvalid, match="a living process has it"):
            await second.join()
        await first.leave()
        await second.join()
        await second.leave()
