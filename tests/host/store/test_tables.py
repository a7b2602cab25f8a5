"""The tables on both databases: compare and set, and ids that are none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agrun_host.durable.runs import DurableRuns
from agrun_host.runs import NoSuchRun
from agrun_host.store.database import Database
from agrun_host.store.run_table import RunRow, RunTable
from agrun_host.store.session_table import SessionTable
from agrun_wasm import ApprovalInvalid, ConfigInvalid, StateConflict
from tests.host.durable.test_runs import Model, approvals, ended

NO_IDS = ["", "a\0b", "\0", "\ud800", "x" * 201]
ODD_IDS = [
    "x" * 200,
    "'; DROP TABLE agrun_runs; --",
    "%_%",
    "🦜" * 200,
    "a\nb",
    " ",
    "\\u0000",
    "%00",
    '"',
    "\u00e9",
    "e\u0301",
]


async def blocked(runs: RunTable, run_id: str) -> RunRow:
    await runs.add(run_id, None, {}, "")
    assert await runs.begin(run_id, 1)
    assert await runs.end(run_id, 1, "blocked", {"n": 1}, {"n": 1}, 5)
    row = await runs.get(run_id)
    assert row is not None
    return row


async def test_odd_ids_are_kept_as_they_are_and_what_is_none_is_refused(database_url: str) -> None:
    async with await Database.open(database_url) as database:
        runs, sessions = RunTable(database), SessionTable(database)
        for run_id in ODD_IDS:
            assert await runs.add(run_id, run_id, {"id": run_id}, "")
            assert await runs.state(run_id) == {"id": run_id}
            assert await sessions.take_turn(run_id, run_id)
            assert not await runs.is_used(run_id)
        assert {row.id for row in await runs.latest()} == set(ODD_IDS)
        for run_id in NO_IDS:
            assert await runs.get(run_id) is None
            assert not await runs.is_used(run_id)
            for ids in ((run_id, None), ("good", run_id)):
                with pytest.raises(ConfigInvalid) as refused:
                    await runs.add(*ids, {}, "")
                assert refused.value.hint
        assert await runs.get("good") is None


async def test_ids_that_are_none_are_answered_as_unknown(database_url: str) -> None:
    async with await DurableRuns.open(Model().runtime, database_url) as runs:
        waits = await ended(runs, (await runs.start({"prompt": "order A"})).run_id)
        assert len(approvals(waits)) == 1
        for name in NO_IDS:
            with pytest.raises(NoSuchRun):
                await runs.view(name)
            with pytest.raises(NoSuchRun):
                await anext(runs.events(name))
            with pytest.raises(NoSuchRun):
                await runs.stop(name)
            with pytest.raises(ApprovalInvalid) as unknown:
                await runs.decide(waits.run_id, {name: "approve"})
            assert unknown.value.reason == "unknown"


async def test_what_is_kept_may_hold_any_character(database_url: str) -> None:
    odd = {"text": "NUL \0, lone \ud800 and \udfff, 🦜"}
    async with await Database.open(database_url) as database:
        runs = RunTable(database)
        await runs.add("r", None, odd, "")
        assert await runs.state("r") == odd


async def test_of_many_who_move_a_run_on_one_does(database_url: str) -> None:
    async with await Database.open(database_url) as database:
        runs = RunTable(database)
        row = await blocked(runs, "r")
        answers = await asyncio.gather(
            *(runs.decide(row, [], {"decisions": {"who": n}}) for n in range(5)), return_exceptions=True
        )
        (winner,) = [answer for answer in answers if isinstance(answer, RunRow)]
        assert sum(isinstance(answer, StateConflict) for answer in answers) == 4
        assert (winner.drive, winner.status) == (2, "queued")
        assert await runs.get("r") == winner
        for stale in (runs.delete(row), runs.decide(row, [], {})):
            with pytest.raises(StateConflict):
                await stale
        assert await runs.begin("r", 1) is None, "that drive is over"
        assert await runs.begin("r", 2)
        assert not await runs.end("r", 1, "failed", {}, None, 0), "an end that comes late changes nothing"
        assert await runs.end("r", 2, "completed", {}, None, 9)
        assert not await runs.end("r", 2, "failed", {}, None, 0)
        done = await runs.get("r")
        assert done is not None
        assert (done.status, done.reserved) == ("completed", 9)


async def test_answers_are_used_all_or_none(database_url: str) -> None:
    async with await Database.open(database_url) as database:
        runs = RunTable(database)
        first, second = await blocked(runs, "a"), await blocked(runs, "b")
        await runs.decide(first, ["one"], {})
        with pytest.raises(ApprovalInvalid) as used:
            await runs.decide(second, ["two", "one"], {})
        assert used.value.reason == "used"
        assert not await runs.is_used("two")
        assert await runs.get("b") == second
        with pytest.raises(StateConflict):
            await runs.decide(first, ["three"], {})
        assert not await runs.is_used("three")


async def test_a_stop_now_is_not_taken_back(database_url: str) -> None:
    async with await Database.open(database_url) as database:
        runs = RunTable(database)
        await runs.add("r", None, {}, "")
        for how in ("after_step", "now", "after_step"):
            await runs.ask_stop("r", how)
        assert await runs.stops(["r", "other"]) == {"r": "now"}


async def test_a_session_has_one_run_at_a_time_and_each_turn_once(database_url: str) -> None:
    async with await Database.open(database_url) as database:
        sessions = SessionTable(database)
        taken: list[Any] = await asyncio.gather(*(sessions.take_turn("s", f"r{n}") for n in range(5)))
        assert taken.count(True) == 1
        holder = f"r{taken.index(True)}"
        assert await sessions.take_turn("s", holder), "it still has it"
        for run_id in ("other", holder, holder):
            await sessions.give_turn("s", run_id, [{"runId": run_id}])
        assert await sessions.history("s") == [{"runId": holder}]
