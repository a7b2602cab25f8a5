"""Interruptions that a breaker found: a deadline, a stop, an extension or another path beside recorded work."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agrun_wasm import Action, StateInvalid
from tests.clock import FakeClock
from tests.kit import calls, details, scripted, types
from tests.stores import MemoryStore

CALL = ("slow", {"n": 1})


def left_behind(text: str) -> MemoryStore:
    """The store as a process left it."""
    store = MemoryStore()
    saved = json.loads(text)
    store.runs[saved["runId"]] = saved
    return store


def slow(clock: FakeClock, ms: float, ran: list[str], *, name: str = "slow", **keys: Any) -> Action:
    async def execute(context: Any, args: dict[str, Any]) -> Any:
        ran.append(f"{name} {context.idempotency_key}")
        await clock.sleep(ms)
        return name

    schema = {"n": {"type": "integer"}}
    parts: dict[str, Any] = {"tier": 0, "permission": {"effect": "external_write", "isConcurrencySafe": False}}
    return Action(name, f"{name}.", planner={"argsSchema": schema}, execute=execute, **{**parts, **keys})


async def crashed_after(key: str, ms: float, **keys: Any) -> tuple[str, list[str]]:
    """What a run had saved when the call with this key had just been recorded, and what had run."""
    clock, store, ran = FakeClock(), MemoryStore(), list[str]()
    action = slow(clock, ms, ran, timeout_ms=120_000)
    runtime, _ = scripted([calls(CALL), {"text": "end"}], clock=clock, store=store, actions=[action], **keys)
    await runtime.session("s").run("go")
    recorded = [t for t in store.saves if any(key in e["finished"] for e in json.loads(t)["journal"])]
    return recorded[-1], ran


async def test_a_call_that_the_deadline_cut_is_not_made_again_after_a_crash() -> None:
    text, ran = await crashed_after("run-1:call:1", 50_000, run_deadline_ms=10_000)
    clock = FakeClock()
    keys: dict[str, Any] = {"clock": clock, "actions": [slow(clock, 1, ran)], "run_deadline_ms": 10_000}
    runtime, provider = scripted([{"text": "done"}], store=left_behind(text), **keys)
    paused = await runtime.resume("run-1")
    assert (paused.status, paused.usage.model_calls, len(paused.cycles)) == ("continuation", 1, 1)
    assert details(paused, "action-failed")[0]["error"] == "deadline"
    done = await runtime.resume("run-1", extend={"runDeadlineMs": 60_000})
    assert done.text == "done"
    assert len(ran) == 1
    assert len(provider.requests) == 1


async def test_a_stop_of_the_run_that_goes_on_keeps_what_was_recorded() -> None:
    text, ran = await crashed_after("run-1:call:1", 10)
    clock = FakeClock()
    runtime, provider = scripted([], clock=clock, actions=[slow(clock, 1, ran)], store=left_behind(text))
    async with runtime.stream_resume("run-1") as run:
        run.stop("now")
        result = await run.result()
    assert result.status == "aborted"
    assert result.usage.model_calls == 1
    assert [entry["output"] for entry in result.state["toolContext"]["history"]] == ["slow"]
    assert types(result.steps).count("action-executed") == 1
    assert (len(ran), provider.requests) == (1, [])


async def test_an_extension_is_not_lost_by_a_second_crash_and_announces_nothing_twice() -> None:
    text, ran = await crashed_after("run-1:call:1", 9_000, run_deadline_ms=10_000, max_steps=3)
    store, clock = left_behind(text), FakeClock()
    keys: dict[str, Any] = {"actions": [slow(clock, 1, ran)], "run_deadline_ms": 10_000, "max_steps": 3}
    runtime, _ = scripted([{"text": "end"}], clock=clock, store=store, **keys)
    extended = await runtime.resume("run-1", extend={"runDeadlineMs": 600_000, "maxSteps": 5})
    assert types(extended.steps).count("cycle-started") == 2
    assert extended.state["budgets"] == {
        **extended.state["budgets"],
        "stepsLeft": 6,
        "deadlineLeftMs": 601_000.0,
    }
    again, _ = scripted([{"text": "end"}], clock=FakeClock(), store=left_behind(store.saves[0]), **keys)
    assert (await again.resume("run-1")).state["budgets"]["deadlineLeftMs"] == 601_000.0


async def test_a_recorded_result_is_given_to_no_other_call() -> None:
    """The arguments of the call are others by then: what was recorded is not theirs."""
    text, ran = await crashed_after("run-1:call:1", 10)
    saved = json.loads(text)
    entry = next(e for e in saved["journal"] if "run-1:model:1" in e["finished"])
    entry["finished"]["run-1:model:1"]["result"]["toolCalls"][0]["argsText"] = '{"n": 2}'
    clock = FakeClock()
    runtime, _ = scripted(
        [{"text": "end"}], clock=clock, actions=[slow(clock, 1, ran)], store=left_behind(json.dumps(saved))
    )
    assert (await runtime.resume("run-1")).status == "completed"
    assert len(ran) == 2


async def test_a_fallback_is_taken_again_without_asking() -> None:
    """Which way a failed call led is part of the journal: the provider may have changed its mind by now."""
    refuses = {"error": {"status": 400, "body": '{"error": {"message": "tools are not supported"}}'}}
    envelope = {"text": '{"type":"action","name":"slow","args":{"n":1}}'}
    clock, store, ran = FakeClock(), MemoryStore(), list[str]()
    replies = [refuses, envelope, {"text": '{"type":"final","answer":"ok"}'}]
    runtime, _ = scripted(replies, clock=clock, store=store, actions=[slow(clock, 1, ran)])
    await runtime.session("s").run("go")
    text = next(t for t in store.saves if any("run-1:call:1" in e["finished"] for e in json.loads(t)["journal"]))
    other = FakeClock()
    fresh, provider = scripted([replies[-1]], clock=other, actions=[slow(other, 1, ran)], store=left_behind(text))
    result = await fresh.resume("run-1")
    assert (result.status, result.text, len(ran), len(provider.requests)) == ("completed", "ok", 1, 1)
    assert types(result.steps).count("planner-mode-fallback") == 1


async def test_an_approved_call_that_the_deadline_kept_from_starting_is_answered() -> None:
    clock, ran = FakeClock(), list[str]()
    actions = [slow(clock, 9_000, ran), slow(clock, 2_000, ran, name="pay", tier=1)]
    asked = calls(CALL, ("pay", {"n": 1}), ("pay", {"n": 2}))
    runtime, _ = scripted([asked, {"text": "end"}], clock=clock, actions=actions, run_deadline_ms=10_000)
    blocked = await runtime.run("go")
    paused = await runtime.resume(blocked, {a["approvalId"]: "approve" for a in blocked.approvals})
    assert paused.status == "continuation"
    assert [r["ok"] for r in paused.cycles[0].act["results"]] == [True, False, False]
    assert "deadline" in paused.state["transcript"][-1]["text"]


@pytest.mark.parametrize("recorded", [None, "junk", {"of": "x"}, {"of": "planner", "result": None}])
async def test_a_journal_that_cannot_be_read_stops_the_resume_and_changes_nothing(recorded: Any) -> None:
    text, _ = await crashed_after("run-1:call:1", 10)
    saved = json.loads(text)
    next(e for e in saved["journal"] if "run-1:model:1" in e["finished"])["finished"]["run-1:model:1"] = recorded
    store = left_behind(json.dumps(saved))
    runtime, _ = scripted([], actions=[slow(FakeClock(), 1, [])], store=store)
    with pytest.raises(StateInvalid, match="journal"):
        await runtime.resume("run-1")
    assert store.runs["run-1"] == saved


KEY = "sk-secret-0123456789"


async def test_no_key_reaches_the_journal_or_the_state_by_a_side_door() -> None:
    """Reasoning, effects of a search, and what hooks say."""

    class Search:
        async def search(self, query: str, limit: int) -> list[dict[str, Any]]:
            return [{"title": KEY, "url": "https://example.org/0", "snippet": f"it is {KEY}"}]

    async def hook(*given: Any) -> Any:
        raise RuntimeError(f"cannot reach it with {KEY}")

    for name in ("beforeAction", "afterAction", "beforeFinalize"):
        store = MemoryStore()
        runtime, _ = scripted(
            [{**calls(("web_search", {"query": "a"})), "reasoning": f"the key is {KEY}"}, {"text": "end"}],
            provider={"name": "scripted", "model": "m", "apiKey": KEY},
            store=store,
            web_search=Search(),
            action_policy={"web_search": "allow", "read_url": "deny"},
            hooks={name: hook},
        )
        result = await runtime.session("s").run("go")
        assert KEY not in json.dumps(result.to_json())
        assert not any(KEY in text for text in store.saves)
