"""A store that other processes write to: nothing of theirs is overwritten, and a session has one writer at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agrun_wasm import Action, Runtime, SessionBusy, StateConflict
from agrun_wasm.providers.scripted import ScriptedProvider
from tests.stores import MemoryStore

TURNS = [{"toolCalls": [{"name": "note", "args": {"n": 1}}]}, {"text": "done"}]


class OthersToo(MemoryStore):
    """The SharedStore port; `taken` are sessions that another process has."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: set[str] = set()
        self.taken: dict[str, asyncio.Event] = {}
        self.held: list[str] = []
        self.conflicts = 0

    async def add_to_run(self, run_id: str, entry: Mapping[str, Any]) -> None:
        if run_id in self.lost:
            raise StateConflict(f"run {run_id!r} was moved on elsewhere")
        await super().add_to_run(run_id, entry)

    async def save_session(self, session_id: str, history: list[Any]) -> None:
        if self.conflicts:
            self.conflicts -= 1
            turn = {"role": "user", "parts": [{"type": "text", "text": "theirs"}], "runId": f"other-{self.conflicts}"}
            await super().save_session(session_id, [*(self.sessions.get(session_id) or []), turn])
            raise StateConflict(f"session {session_id!r} was written elsewhere")
        await super().save_session(session_id, history)

    async def hold_session(self, session_id: str, wait: bool) -> Callable[[], None] | None:
        free = self.taken.get(session_id)
        if free is not None and not wait:
            return None
        if free is not None:
            await free.wait()
        self.held.append(session_id)
        return lambda: self.held.remove(session_id)


def runtime(store: OthersToo, work: Callable[[int], Any] = lambda n: n, turns: list[Any] = TURNS) -> Runtime:
    async def note(context: Any, args: dict[str, Any]) -> Any:
        return {"noted": await asyncio.sleep(0, work(args["n"]))}

    schema = {"n": {"type": "integer", "required": True}}
    permission = {"effect": "external_write"}
    action = Action("note", "Notes.", 0, planner={"argsSchema": schema}, permission=permission, execute=note)
    return Runtime(provider="mine:m", providers={"mine": ScriptedProvider(turns)}, store=store, actions=[action])


async def test_a_run_that_another_process_has_taken_over_ends_here() -> None:
    store = OthersToo()
    mine = runtime(store, lambda n: store.lost.update(store.runs))
    with pytest.raises(StateConflict) as caught:
        await mine.session("s").run("x")
    assert caught.value.code == "STATE_INVALID"
    assert caught.value.details == {"reason": "conflict"}
    (state,) = store.runs.values()
    assert state["status"] == "running", "nothing was written over what the other has"
    assert store.held == []


async def test_a_turn_written_elsewhere_meanwhile_stays() -> None:
    store = OthersToo()
    store.conflicts = 2
    result = await runtime(store).session("s").run("x")
    assert "store" not in result.diagnostics
    assert [turn["parts"][0]["text"] for turn in store.sessions["s"]] == ["theirs", "theirs", "x", "done"]


async def test_a_session_is_one_process_at_a_time() -> None:
    store = OthersToo()
    free = store.taken["s"] = asyncio.Event()
    mine = runtime(store, lambda n: list(store.held))
    with pytest.raises(SessionBusy, match="elsewhere"):
        await mine.session("s", busy="refuse").run("no")
    waiting = asyncio.ensure_future(mine.session("s").run("x"))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    free.set()
    result = await waiting
    assert result.state["toolContext"]["lastResult"]["output"] == {"noted": ["s"]}
    assert store.held == []


async def test_who_gives_up_waiting_for_a_session_has_not_got_it() -> None:
    store = OthersToo()
    free = store.taken["s"] = asyncio.Event()
    mine = runtime(store)
    waiting = asyncio.ensure_future(mine.session("s").run("x"))
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    free.set()
    assert (await mine.session("s").run("x")).text == "done"
    assert store.held == []


async def test_an_interrupted_run_is_aborted_without_a_call() -> None:
    """From every state that was saved: what had finished is replayed, nothing is called, and the store has the end."""
    first = OthersToo()
    await runtime(first).session("s").run("x")
    running = [save for save in first.saves if json.loads(save)["status"] == "running"]
    assert len(running) >= 4
    for save in running:
        store = OthersToo()
        state = json.loads(save)
        store.runs[state["runId"]] = state
        called: list[int] = []
        async with runtime(store, called.append, []).stream_abort(state["runId"]) as run:
            types = [event.type async for event in run]
            result = await run.result()
        assert called == []
        # A stop wins over every other end; what had been written by then stays.
        assert result.status == "aborted"
        if "done" in save:
            assert result.diagnostics["partialText"] == "done"
        assert types[-1] == f"run-{result.status}"
        assert store.runs[state["runId"]]["status"] == result.status
