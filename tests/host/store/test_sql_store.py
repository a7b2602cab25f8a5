"""The Store port: the same on a database as in the memory of the tests, and kept from those who write to it as well."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agrun_host.store.database import Database
from agrun_host.store.session_table import SessionTable
from agrun_host.store.sql_store import SqlStore
from agrun_wasm import Action, ApprovalInvalid, ConfigInvalid, Runtime, StateConflict, StateInvalid
from agrun_wasm.contracts.ports import Store
from agrun_wasm.providers.scripted import ScriptedProvider
from tests.host.postgres import Postgres
from tests.stores import MemoryStore

ODD = {"text": "NUL \0, lone \ud800, 🦜"}


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    url = f"sqlite:///{tmp_path / 'test.db'}"
    if request.param == "postgresql":
        postgres: Postgres = request.getfixturevalue("postgres")
        url = postgres.new_database()
    async with await SqlStore.open(url) as opened:
        yield opened


async def test_a_state_is_loaded_with_what_was_added_to_it(store: Store) -> None:
    assert await store.load_run("r") is None
    await store.save_run("r", {"n": 1, "journal": [{"seq": 1}]})
    for seq in (2, 3):
        await store.add_to_run("r", {"seq": seq, **ODD})
    assert await store.load_run("r") == {"n": 1, "journal": [{"seq": 1}, {"seq": 2, **ODD}, {"seq": 3, **ODD}]}
    await store.save_run("r", {"n": 2, "journal": []})
    assert await store.load_run("r") == {"n": 2, "journal": []}
    await store.add_to_run("r", {"seq": 4})
    await store.save_run("other", {"n": 3, "journal": []})
    assert await store.load_run("r") == {"n": 2, "journal": [{"seq": 4}]}


async def test_a_session_is_kept_whole(store: Store) -> None:
    assert await store.load_session("s") is None
    for history in ([], [ODD], [ODD, {"n": 2}]):
        await store.save_session("s", history)
        assert await store.load_session("s") == history


async def test_approvals_are_used_once_and_with_the_state_or_not_at_all(store: Store) -> None:
    await store.save_run("r", {"n": 1, "journal": []})
    assert await store.use_approvals(["a", "b"], "r", {"n": 2, "journal": []}) is None
    assert await store.use_approvals(["c", "b"], "r", {"n": 3, "journal": []}) == "b"
    assert await store.load_run("r") == {"n": 2, "journal": []}
    assert await store.use_approvals(["c"], "r", {"n": 4, "journal": []}) is None
    assert await store.load_run("r") == {"n": 4, "journal": []}


TURNS: list[Any] = [{"toolCalls": [{"name": "order", "args": {"n": 1}}]}, {"text": "done"}]


def runtime(store: Store, done: list[int], turns: list[Any] = TURNS) -> Runtime:
    async def order(_context: Any, args: Any) -> Any:
        done.append(args["n"])
        return {"ordered": args["n"]}

    schema = {"n": {"type": "integer", "required": True}}
    actions = [Action("order", "Orders.", 1, planner={"argsSchema": schema}, execute=order)]
    return Runtime(provider="mine:m", providers={"mine": ScriptedProvider(turns)}, store=store, actions=actions)


async def test_a_run_goes_on_from_the_store_and_its_answer_counts_once(store: Store) -> None:
    done: list[int] = []
    mine = runtime(store, done)
    blocked = await mine.session("s").run("order 1")
    assert blocked.status == "blocked"
    assert "store" not in blocked.diagnostics
    answer = {blocked.approvals[0]["approvalId"]: "approve"}
    result = await mine.resume(blocked.run_id, answer)
    assert (result.status, done) == ("completed", [1])
    assert "store" not in result.diagnostics
    with pytest.raises((ApprovalInvalid, StateInvalid)):
        await runtime(store, done).resume(blocked.state, answer)
    assert done == [1]
    history = await store.load_session("s")
    assert history is not None
    assert len({turn["runId"] for turn in history}) == 1


@asynccontextmanager
async def two_stores(postgres: Postgres) -> AsyncIterator[tuple[SqlStore, SqlStore]]:
    url = postgres.new_database()
    async with await SqlStore.open(url) as one, await SqlStore.open(url) as two:
        yield one, two


async def test_nothing_is_overwritten_that_another_process_has_written(postgres: Postgres) -> None:
    async with two_stores(postgres) as (one, two):
        await one.save_run("r", {"n": 1, "journal": []})
        for write in (two.save_run("r", {"n": 9}), two.add_to_run("r", {"seq": 9})):
            with pytest.raises(StateConflict):
                await write
        assert await two.load_run("r") == {"n": 1, "journal": []}
        await two.add_to_run("r", {"seq": 1})
        for write in (
            one.add_to_run("r", {"seq": 9}),
            one.save_run("r", {"n": 9}),
            one.use_approvals(["a"], "r", {"n": 9}),
        ):
            with pytest.raises(StateConflict):
                await write
        assert await one.load_run("r") == {"n": 1, "journal": [{"seq": 1}]}
        assert await one.use_approvals(["a"], "r", {"n": 2, "journal": []}) is None, "the refused one has used nothing"
        with pytest.raises(StateConflict):
            await two.add_to_run("r", {"seq": 9})
        await one.save_session("s", [1])
        with pytest.raises(StateConflict):
            await two.save_session("s", [2])
        assert await two.load_session("s") == [1]
        await two.save_session("s", [1, 2])
        with pytest.raises(StateConflict):
            await one.save_session("s", [1, 3])


async def test_a_session_of_the_server_goes_on(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'test.db'}"
    async with await Database.open(url) as database:
        served = SessionTable(database)
        await served.take_turn("s", "r")
        turn = {"role": "user", "parts": [{"type": "text", "text": "before"}], "runId": "r"}
        await served.give_turn("s", "r", [turn])
    async with await SqlStore.open(url) as store:
        blocked = await runtime(store, []).session("s").run("order 1")
        assert blocked.state["history"][0]["runId"] == "r"
    async with await SqlStore.open(url) as store:
        await runtime(store, [], TURNS[1:]).resume(blocked.run_id, {blocked.approvals[0]["approvalId"]: "deny"})
    async with await Database.open(url) as database:
        assert len({turn["runId"] for turn in await SessionTable(database).history("s")}) == 2


async def test_ids_that_are_none_are_refused(tmp_path: Path) -> None:
    async with await SqlStore.open(f"sqlite:///{tmp_path / 'test.db'}") as store:
        assert await store.load_run("a\0b") is None
        assert await store.load_session("") is None
        for write in (store.save_run("a\0b", {}), store.save_session("x" * 201, [])):
            with pytest.raises(ConfigInvalid):
                await write
