"""Sessions: turns in view, one run at a time, stores."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agrun_wasm import ApprovalInvalid, Runtime, SessionBusy, StateInvalid, StateVersionUnsupported
from agrun_wasm.contracts.model import Finished, TextDelta, TokenUsage
from tests.clock import FakeClock
from tests.kit import CountedIds, adder, calls, scripted
from tests.stores import MemoryStore

ADD = ("add", {"a": 2, "b": 3})


class Slow:
    """A model whose answers are released one by one."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.go = asyncio.Semaphore(0)

    async def stream(self, request: Any) -> Any:
        self.requests.append(request)
        number = len(self.requests)
        await self.go.acquire()
        yield TextDelta(f"answer {number}")
        yield Finished("stop", TokenUsage())


async def test_the_second_run_waits_and_sees_the_first() -> None:
    model = Slow()
    runtime = Runtime(provider="mine:m", providers={"mine": model})
    first = asyncio.ensure_future(runtime.session("s").run("one"))
    second = asyncio.ensure_future(runtime.session("s").run("two"))
    await asyncio.sleep(0.01)
    assert len(model.requests) == 1
    model.go.release()
    model.go.release()
    await asyncio.gather(first, second)
    assert [m.text for m in model.requests[1].messages] == ["one", "answer 1", "two"]
    history = await runtime.session("s").history()
    assert [turn.text() for turn in history] == ["one", "answer 1", "two", "answer 2"]


async def test_a_session_may_refuse_instead() -> None:
    model = Slow()
    runtime = Runtime(provider="mine:m", providers={"mine": model})
    first = asyncio.ensure_future(runtime.session("s", busy="refuse").run("one"))
    await asyncio.sleep(0.01)
    with pytest.raises(SessionBusy) as caught:
        await runtime.session("s", busy="refuse").run("two")
    assert "'s'" in caught.value.message
    model.go.release()
    assert (await first).text == "answer 1"
    model.go.release()
    assert (await runtime.session("s", busy="refuse").run("three")).text == "answer 2"


async def test_other_sessions_run_at_the_same_time() -> None:
    model = Slow()
    runtime = Runtime(provider="mine:m", providers={"mine": model})
    tasks = [asyncio.ensure_future(runtime.run("x")) for _ in range(3)]
    await asyncio.sleep(0.01)
    assert len(model.requests) == 3
    for _ in tasks:
        model.go.release()
    await asyncio.gather(*tasks)


async def test_runs_without_a_session_leave_nothing_behind() -> None:
    runtime, _ = scripted([{"text": "hi"}] * 50)
    for _ in range(50):
        await runtime.run("hi")
    sessions = runtime.sessions
    left = (sessions._locks, sessions._histories, sessions._wanted, sessions._unnamed, sessions._runs)
    assert left == ({}, {}, {}, set(), set())


async def test_two_runtimes_over_one_store_see_each_others_turns() -> None:
    store, ids = MemoryStore(), CountedIds()
    one, _ = scripted([{"text": "first"}, {"text": "third"}], store=store, ids=ids)
    two, provider = scripted([{"text": "second"}], store=store, ids=ids)
    await one.session("s").run("a")
    await two.session("s").run("b")
    await one.session("s").run("c")
    assert [m.text for m in provider.requests[0].messages] == ["a", "first", "b"]
    assert [turn.text() for turn in await two.session("s").history()] == ["a", "first", "b", "second", "c", "third"]


async def test_a_store_resumes_by_run_id_and_an_approval_is_used_once_per_store() -> None:
    store = MemoryStore()
    runtime, provider = scripted([calls(ADD), {"text": "Five."}], actions=[adder(tier=1)], store=store)
    blocked = await runtime.session("s").run("2 + 3?")
    answers = {blocked.output["approvals"][0]["approvalId"]: "approve"} if blocked.output else {}
    parts: dict[str, Any] = {
        "providers": {"scripted": provider},
        "actions": [adder(tier=1)],
        "store": store,
        "clock": FakeClock(),
    }
    other = Runtime(provider="scripted:test", **parts)
    done = await other.resume(blocked.run_id, answers)
    assert done.text == "Five."
    assert store.runs[blocked.run_id]["status"] == "completed"
    with pytest.raises(ApprovalInvalid) as caught:
        await Runtime(provider="scripted:test", **parts).resume(blocked.state, answers)
    assert caught.value.reason == "used"
    fresh = Runtime(provider="scripted:test", **parts)
    assert [turn.text() for turn in await fresh.session("s").history()] == ["2 + 3?", "Five."]


async def test_the_state_is_saved_before_anyone_is_asked() -> None:
    store = MemoryStore()
    runtime, _ = scripted([calls(ADD)], actions=[adder(tier=1)], store=store)
    async with runtime.stream("2 + 3?") as run:
        async for event in run:
            if event.type == "approval-required":
                break
        result = await run.result()
    assert store.runs[result.run_id]["approvals"]["pending"]


@pytest.mark.parametrize(
    ("state", "error", "word"),
    [
        ("not json", StateInvalid, "store"),
        ("{", StateInvalid, "JSON"),
        ({}, StateInvalid, "schemaVersion"),
        ({"schemaVersion": 99}, StateVersionUnsupported, "99"),
        ({"schemaVersion": 1, "runID": "x"}, StateInvalid, "runId"),
        ([], StateInvalid, "object"),
    ],
)
async def test_a_bad_state_is_refused_and_runs_nothing(state: Any, error: type[Exception], word: str) -> None:
    runtime, provider = scripted([{"text": "never"}])
    with pytest.raises(error) as caught:
        await runtime.resume(state)
    assert word in str(caught.value)
    assert provider.requests == []


async def test_a_run_that_is_over_is_not_resumed() -> None:
    runtime, _ = scripted([{"text": "done"}])
    result = await runtime.run("hi")
    with pytest.raises(StateInvalid, match="over"):
        await runtime.resume(result.state)


async def test_a_failed_run_whose_failure_may_pass_goes_on() -> None:
    runtime, _ = scripted([{"error": {"status": 503}}] * 3 + [{"text": "back again"}])
    result = await runtime.run("hi")
    assert result.error is not None
    assert result.error.code == "PROVIDER_UNAVAILABLE"
    assert (await runtime.resume(result.state)).text == "back again"


async def test_a_wrong_answer_to_an_approval_runs_nothing_and_may_be_given_again() -> None:
    runtime, _ = scripted([calls(ADD), {"text": "Five."}], actions=[adder(tier=1)])
    blocked = await runtime.run("2 + 3?")
    assert blocked.output is not None
    approval = blocked.output["approvals"][0]["approvalId"]
    with pytest.raises(ApprovalInvalid) as caught:
        await runtime.resume(blocked.state, {approval: "approve", "other:approval:1": "approve"})
    assert caught.value.reason == "wrong_run"
    assert (await runtime.resume(blocked.state, {approval: "approve"})).text == "Five."
