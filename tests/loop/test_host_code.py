"""Host code that behaves badly: actions, judges and hooks that raise, hang, change what they see or give nonsense.

Whatever they do, the run ends with a result, the state is JSON, and the session is free for the next run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from agrun_wasm import Action, RunResult
from tests.clock import FakeClock
from tests.kit import adder, calls, details, scripted

ADD = ("add", {"a": 2, "b": 3})


class Loose(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    value: Any


class SaysNothing(Exception):
    def __str__(self) -> str:
        raise ValueError("even my words fail")


def raises(error: BaseException) -> Callable[[], Any]:
    def run() -> Any:
        raise error

    return run


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def cyclic() -> Any:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


#: what an action does -> the step that tells it (None: it is an output like any other)
BEHAVIOURS: dict[str, tuple[Callable[[], Any], str | None]] = {
    "raises": (raises(KeyError("x")), "action-failed"),
    "raises without words": (raises(SaysNothing()), "action-failed"),
    "raises a cancellation": (raises(asyncio.CancelledError()), "action-failed"),
    "ends the process": (raises(SystemExit(3)), "action-failed"),
    "raises broken text": (raises(ValueError("a\ud83db")), "action-failed"),
    "gives an object": (object, "action-protocol-error"),
    "gives a set": (lambda: {1}, "action-protocol-error"),
    "gives bytes": (lambda: b"x", "action-protocol-error"),
    "gives NaN": (lambda: float("nan"), "action-protocol-error"),
    "gives a cycle": (cyclic, "action-protocol-error"),
    "gives a huge number": (lambda: 10**5_000, "action-protocol-error"),
    "gives a model of an object": (lambda: Loose(value=object()), "action-protocol-error"),
    "gives a model of a set": (lambda: Loose(value={1}), None),
    "gives a very deep list": (lambda: nested(400), "action-protocol-error"),
    "gives a deep list": (lambda: nested(30), None),
    "gives broken text": (lambda: "a\ud83db", None),
    "gives NUL": (lambda: "a\0b", None),
    "gives nothing": (lambda: None, None),
    "gives effects": (
        lambda: {"control": "continue", "output": 1, "summary": "s", "effects": []},
        "action-protocol-error",
    ),
    "gives a summary that is none": (
        lambda: {"control": "continue", "output": 1, "summary": None},
        "action-protocol-error",
    ),
}


async def played(execute: Any, **keys: Any) -> RunResult:
    """Two runs of one session with one call each; the first one's result, whole and as JSON."""
    runtime, _ = scripted([calls(ADD), {"text": "ok"}, {"text": "again"}], actions=[adder(execute=execute)], **keys)
    session = runtime.session("s")
    result = await asyncio.wait_for(session.run("2 + 3?"), 5)
    assert (await asyncio.wait_for(session.run("and now?"), 5)).status == "completed"
    text = json.dumps(result.to_json(), ensure_ascii=False, allow_nan=False)
    text.encode()
    assert runtime.load(result.state).to_json() == result.to_json()
    return result


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
@pytest.mark.parametrize("is_async", [True, False])
async def test_an_action_never_costs_the_run(behaviour: str, is_async: bool) -> None:
    does, told = BEHAVIOURS[behaviour]

    async def work(context: Any, args: dict[str, Any]) -> Any:
        return does()

    result = await played(work if is_async else lambda context, args: does())
    assert result.text == "ok"
    kinds = ["action-failed", "action-protocol-error", "action-executed"]
    assert [kind for kind in kinds if details(result, kind)] == [told or "action-executed"]


@pytest.mark.parametrize("part", ["judge", "beforeAction", "afterAction", "beforeFinalize"])
@pytest.mark.parametrize(
    "error", [KeyError("x"), SaysNothing(), asyncio.CancelledError(), SystemExit(3)], ids=lambda e: type(e).__name__
)
async def test_a_judge_or_hook_never_costs_the_run(part: str, error: BaseException) -> None:
    async def fails(*seen: Any) -> Any:
        raise error

    async def work(context: Any, args: dict[str, Any]) -> Any:
        return 5

    hosts: dict[str, Any] = {"action_permission_judge": fails} if part == "judge" else {"hooks": {part: fails}}
    result = await asyncio.wait_for(played_once(work, **hosts), 5)
    if part in ("judge", "beforeAction"):  # their failure is ask
        assert result.status == "blocked"
    else:
        assert result.text == "ok"
        assert result.diagnostics["hooks"][0]["hook"] == part


async def played_once(execute: Any, **keys: Any) -> RunResult:
    runtime, _ = scripted([calls(ADD), {"text": "ok"}], actions=[adder(execute=execute)], **keys)
    return await runtime.run("2 + 3?")


@pytest.mark.parametrize("part", ["judge", "beforeAction"])
async def test_who_is_asked_about_a_call_cannot_change_it(part: str) -> None:
    ran: list[dict[str, Any]] = []

    async def work(context: Any, args: dict[str, Any]) -> Any:
        ran.append(args)
        return 5

    async def meddles(decision: dict[str, Any], args: dict[str, Any]) -> Any:
        args["a"] = 99
        decision["action"] = "deny"
        return "allow" if part == "judge" else None

    hosts: dict[str, Any] = {"action_permission_judge": meddles} if part == "judge" else {"hooks": {part: meddles}}
    result = await played_once(work, **hosts)
    assert result.text == "ok"
    assert ran == [{"a": 2, "b": 3}]
    assert details(result, "action-executing")[0]["args"] == {"a": 2, "b": 3}


async def test_who_sees_an_output_cannot_change_it() -> None:
    async def work(context: Any, args: dict[str, Any]) -> Any:
        return {"sum": 5}

    async def meddles(output: Any) -> None:
        output.clear()

    result = await played_once(work, hooks={"afterAction": meddles, "beforeFinalize": meddles})
    assert result.text == "ok"
    assert result.state["toolContext"]["lastResult"]["output"] == {"sum": 5}


async def test_an_action_cannot_change_the_run_through_its_context() -> None:
    async def nosy(context: Any, args: dict[str, Any]) -> Any:
        args.clear()
        for seen in (context.run_state, context.request, context.tool_context, context.agent_skill_context):
            seen.clear()
        context.search_results.append({"title": "mine"})
        return 5

    result = await played_once(nosy)
    assert result.text == "ok"
    assert result.state["request"]["prompt"] == "2 + 3?"
    assert result.state["researchContext"]["searchResults"] == []
    assert details(result, "action-executing")[0]["args"] == {"a": 2, "b": 3}


@pytest.mark.parametrize("part", ["judge", "beforeAction", "afterAction", "beforeFinalize"])
async def test_a_judge_or_hook_that_hangs_is_cut_in_time(part: str) -> None:
    clock = FakeClock()

    async def hangs(*seen: Any) -> Any:
        await clock.sleep(3_600_000)

    async def work(context: Any, args: dict[str, Any]) -> Any:
        return 5

    began = clock.now()
    hosts: dict[str, Any] = {"action_permission_judge": hangs} if part == "judge" else {"hooks": {part: hangs}}
    result = await played_once(work, clock=clock, **hosts)
    assert clock.now() - began == (5_000 if part == "judge" else 10_000)
    assert result.status == ("blocked" if part in ("judge", "beforeAction") else "completed")


@pytest.mark.parametrize("answer", [5, [], {"reason": "x"}, False, True])
async def test_a_hook_that_answers_nonsense_refuses_nothing_silently(answer: Any) -> None:
    async def odd(*seen: Any) -> Any:
        return answer

    async def work(context: Any, args: dict[str, Any]) -> Any:
        return 5

    result = await played_once(work, hooks={"beforeAction": odd})
    assert result.status == "blocked"
    assert details(result, "approval-required")[0]["source"] == "hook"
    result = await played_once(work, hooks={"beforeFinalize": odd})
    assert result.text == "ok"
    assert result.diagnostics["hooks"][0]["hook"] == "beforeFinalize"


async def test_no_secret_leaves_through_an_action() -> None:
    secret = "sk-0123456789"

    async def tells(context: Any, args: dict[str, Any]) -> Any:
        if args["a"] == 2:
            raise ValueError(f"refused {secret}")
        return {"control": "continue", "output": {"key": secret, secret: 1}, "summary": f"used {secret}"}

    def says(context: Any, args: dict[str, Any]) -> Any:
        return f"plain {secret}"

    runtime, _ = scripted(
        [calls(ADD, ("add", {"a": 1, "b": 1}), ("say", {})), {"text": f"It is {secret}."}],
        actions=[adder(execute=tells), adder(name="say", planner={"argsSchema": {}}, execute=says)],
        provider={"name": "scripted", "model": "test", "apiKey": secret},
    )
    async with runtime.stream("tell me") as run:
        events = [event.to_json() async for event in run]
        result = await run.result()
    assert result.status == "completed"
    for record in (
        events[-1],
        result.output,
        result.cycles[0].to_json(),
        result.state["toolContext"],
        result.state["steps"],
    ):
        assert secret not in json.dumps(record)


#: where a stop can find host code at work -> the step that a stop `now` keeps from coming
MOMENTS = {
    "judge": "action-executing",
    "beforeAction": "action-executing",
    "action": "action-executed",
    "afterAction": "cycle-started",
    "beforeFinalize": "answer-superseded",
}


@pytest.mark.parametrize("how", ["now", "after_step"])
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("control", ["continue", "complete"])
async def test_a_stop_wins_over_host_code(moment: str, how: Any, control: str) -> None:
    clock, reached = FakeClock(), asyncio.Event()

    async def here(*seen: Any) -> Any:
        reached.set()
        await clock.sleep(100)
        return "allow" if moment == "judge" else None

    async def work(context: Any, args: dict[str, Any]) -> Any:
        if moment == "action":
            await here()
        return {"control": control, "output": "five", "summary": "s"}

    hosts: dict[str, Any] = {}
    if moment == "judge":
        hosts["action_permission_judge"] = here
    elif moment != "action":
        hosts["hooks"] = {moment: here}
    runtime, _ = scripted(
        [calls(ADD), {"text": "ok"}],
        actions=[Action("add", "Adds.", 0, {"argsSchema": {}}, execute=work)],
        clock=clock,
        **hosts,
    )
    async with runtime.stream("2 + 3?") as run:
        await reached.wait()
        run.stop(how)
        result = await asyncio.wait_for(run.result(), 5)
    assert result.status == "aborted"
    assert result.terminalized_by == "aborted"
    after = [step.type for step in result.steps]
    after = after[after.index("planner-responded") :]
    assert not {"run-completed", "run-blocked"} & set(after)
    if how == "now" and (moment != "beforeFinalize" or control == "complete"):
        assert MOMENTS[moment] not in after
