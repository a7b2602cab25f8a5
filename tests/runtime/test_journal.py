"""The Journal port: every call of a model or an action goes through it once, under a key that a replay finds again."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agrun_wasm import Action, ConfigInvalid, RunResult, Runtime, Skill
from agrun_wasm.providers.scripted import ScriptedProvider
from tests.clock import FakeClock
from tests.conformance.web import FakeFetch, FakeSearch
from tests.kit import CountedIds, adder, calls, scripted
from tests.loop.test_any_run import FOUND, PAGES, SKILL, TOOLS
from tests.stores import MemoryStore

ADD = ("add", {"a": 2, "b": 3})
ITEM = {"type": "action", "name": "add", "args": {"a": 1, "b": 1}, "section": {"prompt": "Write."}}


class Engine:
    """A durable engine as far as its journal goes: what was recorded is JSON text, and survives."""

    def __init__(self) -> None:
        self.recorded: dict[str, str] = {}
        self.asked: list[str] = []

    async def once(self, key: str, call: Callable[[], Awaitable[Any]]) -> Any:
        self.asked.append(key)
        if key not in self.recorded:
            self.recorded[key] = json.dumps(await call(), allow_nan=False)
        return json.loads(self.recorded[key])


def without_times(result: RunResult) -> dict[str, Any]:
    whole = result.to_json()
    for kept in (whole, whole["state"]):
        for step in kept["steps"]:
            del step["at"], step["seq"]
    del whole["state"]["seq"]
    return whole


#: what is run -> its replies; together they make every kind of call
RUNS: dict[str, list[dict[str, Any]]] = {
    "single": [calls(ADD), {"text": "Five."}],
    "failures": [calls(("bad", {"n": 1})), calls(("odd", {"n": 1})), calls(("late", {"n": 1})), {"text": "No."}],
    "sections": [
        calls(("plan", {"actions": [ITEM, ITEM], "synthesize_per_action": True, "stitch": {"intro_prompt": "Open."}})),
        *[{"text": f"part {n}"} for n in range(3)],
    ],
    "written": [calls(ADD), calls(("finalize", {"instruction": "short"})), {"text": "Written."}],
    "research": [
        calls(("web_search", {"query": "tides"})),
        calls(("read_url", {"url": "https://example.org/0"})),
        {"text": "See https://example.org/0"},
    ],
    "skill": [
        calls(("read_agent_skill", {"skillName": "tides"})),
        calls(("use_agent_skill", {})),
        calls(("execute_skill_tool", {"toolName": "step", "args": {"x": 1}})),
        {"text": "Done."},
    ],
    "workspace": [
        calls(("workspace_write", {"path": "a.md", "content": "# A"})),
        calls(("workspace_publish_candidate", {"path": "a.md"})),
    ],
    "envelope": [{"text": "{"}, {"text": '{"type":"final","answer":"Repaired."}'}],
}


def actions(clock: FakeClock) -> list[Action]:
    schema = {"n": {"type": "integer"}}

    async def bad(context: Any, args: Any) -> Any:
        raise ValueError("it does not work")

    async def odd(context: Any, args: Any) -> Any:
        return {"control": "sideways"}

    async def late(context: Any, args: Any) -> Any:
        await clock.sleep(60_000)

    named = {"bad": bad, "odd": odd, "late": late}
    return [adder(), *(Action(n, f"{n}.", 0, planner={"argsSchema": schema}, execute=e) for n, e in named.items())]


def runtime_of(replies: list[dict[str, Any]], engine: Engine | None, **keys: Any) -> tuple[Runtime, ScriptedProvider]:
    clock = FakeClock()
    parts: dict[str, Any] = {
        "clock": clock,
        "journal": engine,
        "actions": actions(clock),
        "skills": [Skill.from_files({"SKILL.md": SKILL, "tools.py": TOOLS}, trust_tools=True)],
        "fetch": FakeFetch(PAGES, clock),
        "web_search": FakeSearch(FOUND),
        "action_policy": {"web_search": "allow", "read_url": "allow"},
    }
    return scripted(replies, **{**parts, **keys})


@pytest.mark.parametrize("name", RUNS)
async def test_a_replay_from_the_journal_makes_no_call_and_the_same_run(name: str) -> None:
    """A durable engine starts a run again from its beginning, with what it has recorded."""
    keys = {"planner_mode": "envelope"} if name == "envelope" else {}
    plain = without_times(await runtime_of(RUNS[name], None, **keys)[0].run("go"))
    engine = Engine()
    journaled, provider = runtime_of(RUNS[name], engine, **keys)
    first = await journaled.run("go")
    assert without_times(first) == plain, "a journal changes nothing of a run"
    assert len(set(engine.asked)) == len(engine.asked)
    assert all(key.startswith(f"{first.run_id}:") for key in engine.asked)
    models = [key for key in engine.asked if ":model:" in key]
    assert len(models) == len(provider.requests)

    before, engine.asked = sorted(engine.asked), []
    replayed, silent = runtime_of([], engine, **keys)
    again = await replayed.run("go")
    assert without_times(again) == plain
    assert sorted(engine.asked) == before
    assert silent.requests == []


async def test_calls_that_reach_out_are_recorded_and_changes_of_the_run_are_not() -> None:
    recorded: dict[str, list[str]] = {}
    for name, replies in RUNS.items():
        engine = Engine()
        await runtime_of(replies, engine, **({"planner_mode": "envelope"} if name == "envelope" else {}))[0].run("go")
        recorded[name] = [key.split(":")[1] for key in engine.recorded if ":call:" in key]
    counts = {name: len(keys) for name, keys in recorded.items()}
    assert counts == {
        "single": 1,
        "failures": 3,
        "sections": 2,
        "written": 1,
        "research": 2,
        "skill": 1,
        "workspace": 0,
        "envelope": 0,
    }


async def test_an_actions_idempotency_key_is_its_key_in_the_journal() -> None:
    seen: list[str] = []

    async def note(context: Any, args: Any) -> Any:
        seen.append(context.idempotency_key)
        return "noted"

    engine = Engine()
    action = Action("note", "Notes.", 0, planner={"argsSchemaOptOut": {"reason": "any"}}, execute=note)
    runtime, _ = scripted([calls(("note", {}), ("note", {"n": 2})), {"text": "ok"}], actions=[action], journal=engine)
    await runtime.run("go")
    assert sorted(seen) == sorted(key for key in engine.recorded if ":call:" in key)


async def test_what_a_stop_cut_is_not_recorded() -> None:
    engine, clock = Engine(), FakeClock()

    async def slow(context: Any, args: Any) -> Any:
        await clock.sleep(1_000)

    action = Action("slow", "Slow.", 0, planner={"argsSchemaOptOut": {"reason": "any"}}, execute=slow)
    runtime, _ = scripted([calls(("slow", {}))], actions=[action], journal=engine, clock=clock)
    async with runtime.stream("go") as run:
        async for event in run:
            if event.type == "action-executing":
                run.stop("now")
        result = await run.result()
    assert result.status == "aborted"
    assert [key for key in engine.recorded if ":call:" in key] == []


#: what a broken journal gives for a call
BROKEN: list[Any] = [None, "text", {}, {"end": "executed"}, {"text": 5}, [1]]


@pytest.mark.parametrize("given", BROKEN, ids=range(len(BROKEN)))
@pytest.mark.parametrize("key", [":model:", ":call:"])
async def test_a_journal_that_gives_nonsense_fails_the_run_and_names_the_call(key: str, given: Any) -> None:
    class Broken(Engine):
        async def once(self, asked: str, call: Callable[[], Awaitable[Any]]) -> Any:
            return given if key in asked else await super().once(asked, call)

    runtime, _ = scripted([calls(ADD), {"text": "Five."}], actions=[adder()], journal=Broken())
    result = await runtime.run("go")
    assert result.status == "failed"
    assert result.error is not None
    assert result.error.code == "INTERNAL"
    assert key in result.error.message


async def test_a_journal_that_fails_fails_the_run_and_the_state_is_kept() -> None:
    class Failing(Engine):
        async def once(self, key: str, call: Callable[[], Awaitable[Any]]) -> Any:
            raise OSError("the engine is gone")

    runtime, _ = scripted([{"text": "never"}], journal=Failing(), store=(store := MemoryStore()))
    result = await runtime.run("go")
    assert result.error is not None
    assert "the engine is gone" in result.error.message
    assert store.runs[result.run_id]["status"] == "failed"


def test_what_is_no_journal_is_refused() -> None:
    with pytest.raises(ConfigInvalid, match="once"):
        Runtime(provider="offline:demo", journal=object(), ids=CountedIds())  # type: ignore[arg-type]


class Failing(MemoryStore):
    """A store that cannot be written to at the n-th time, or ever again."""

    def __init__(self, failing: set[int]) -> None:
        super().__init__()
        self._failing = failing
        self._writes = 0

    async def save_run(self, run_id: str, state: Any) -> None:
        self._count()
        await super().save_run(run_id, state)

    async def add_to_run(self, run_id: str, entry: Any) -> None:
        self._count()
        await super().add_to_run(run_id, entry)

    def _count(self) -> None:
        self._writes += 1
        if self._writes in self._failing:
            raise OSError("disk full")


@pytest.mark.parametrize("failing", [set(), {1}, {2}, {3}, {1, 2, 3}, {2, 3, 4, 5}, set(range(1, 100))])
async def test_a_store_that_fails_costs_no_run_and_is_made_up_for(failing: set[int]) -> None:
    """What could not be saved is saved with what comes next; the diagnostics say what went wrong."""
    store = Failing(failing)
    runtime, _ = scripted([calls(ADD), calls(ADD), {"text": "Five."}], actions=[adder()], store=store)
    result = await runtime.run("go")
    assert (result.status, result.text) == ("completed", "Five.")
    noted = result.diagnostics.get("store", [])
    assert len(noted) == len([n for n in failing if n <= store._writes])
    assert all(note["error"] == "disk full" for note in noted)
    if len(failing) < 90:
        assert store.runs[result.run_id]["status"] == "completed"
        for text in store.saves:
            saved = json.loads(text)
            if saved["status"] == "running":
                fresh, provider = scripted([calls(ADD), {"text": "Five."}, {"text": "Five."}], actions=[adder()])
                provider._allow_unused = True
                assert (await fresh.resume(saved)).status == "completed"
