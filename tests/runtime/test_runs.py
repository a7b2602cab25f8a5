"""Runs by their public handle: events, stop, cancellation, what is left when a host's part fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agrun_wasm import ConfigInvalid, Runtime, action
from agrun_wasm.contracts.model import Finished, TextDelta, TokenUsage, ToolCall, ToolCallDone
from tests.kit import adder, calls, details, scripted, types

ADD = ("add", {"a": 2, "b": 3})


async def test_events_come_in_order_and_seq_rises_by_one() -> None:
    runtime, _ = scripted([calls(ADD), {"text": "Five."}], actions=[adder()])
    async with runtime.stream("2 + 3?") as run:
        events = [event async for event in run]
        result = await run.result()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [t for t in types(events) if not t.endswith("-delta")] == [
        "run-started",
        "planner-mode-resolved",
        "cycle-started",
        "planner-requested",
        "planner-responded",
        "action-executing",
        "action-executed",
        "cycle-completed",
        "cycle-started",
        "planner-requested",
        "planner-responded",
        "cycle-completed",
        "run-completed",
    ]
    assert "".join(event.detail["text"] for event in events if event.type == "text-delta") == "Five."
    assert [step.type for step in result.steps] == [e.type for e in events if not e.type.endswith("-delta")]
    assert result.text == "Five."


async def test_events_replay_the_steps_but_no_deltas_of_finished_steps() -> None:
    runtime, _ = scripted([calls(ADD), {"text": "Five."}], actions=[adder()])
    async with runtime.stream("2 + 3?") as run:
        result = await run.result()
        again = [event async for event in run.events(after=3)]
    assert [e.seq for e in again] == [s.seq for s in result.steps if s.seq > 3]


async def test_two_readers_see_the_same() -> None:
    runtime, _ = scripted([calls(ADD), {"text": "Five."}], actions=[adder()])

    async with runtime.stream("2 + 3?") as run:

        async def read() -> list[int]:
            return [event.seq async for event in run]

        first, second = await asyncio.gather(read(), read())
    assert first == second


class Endless:
    """A model that streams for ever; counts how often its stream was closed."""

    def __init__(self) -> None:
        self.closed = 0
        self.sent = 0
        self.singing = asyncio.Event()

    async def stream(self, request: Any) -> Any:
        try:
            while True:
                self.sent += 1
                if self.sent > 3:
                    self.singing.set()
                yield TextDelta("la ")
                await asyncio.sleep(0)
        finally:
            self.closed += 1


@pytest.mark.parametrize("how", ["now", "after_step"])
async def test_stop_cuts_a_model_call_and_keeps_the_partial_text(how: Any) -> None:
    model = Endless()
    runtime = Runtime(provider="mine:m", providers={"mine": model})
    async with runtime.stream("sing") as run:
        async for event in run:
            if event.type == "text-delta" and model.sent > 3:
                run.stop(how)
        result = await run.result()
    assert result.status == "aborted"
    assert result.terminalized_by == "aborted"
    assert result.diagnostics["partialText"].startswith("la la")
    assert result.steps[-1].type == "run-aborted"
    assert model.closed == 1


async def test_leaving_the_block_stops_the_run_and_waits_for_its_end() -> None:
    model = Endless()
    runtime = Runtime(provider="mine:m", providers={"mine": model})
    async with runtime.stream("sing") as run:
        async for event in run:
            if event.type == "text-delta":
                break
    assert model.closed == 1
    sent = model.sent
    await asyncio.sleep(0.01)
    assert model.sent == sent
    assert (await run.result()).status == "aborted"


async def test_cancelling_run_stops_it() -> None:
    model = Endless()
    runtime = Runtime(provider="mine:m", providers={"mine": model})
    task = asyncio.ensure_future(runtime.run("sing"))
    await model.singing.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.closed == 1


async def test_closing_the_runtime_stops_its_runs() -> None:
    model = Endless()
    async with Runtime(provider="mine:m", providers={"mine": model}) as runtime:
        start = runtime.stream("sing")
        run = await start.__aenter__()
        await model.singing.wait()
    assert model.closed == 1
    assert (await run.result()).status == "aborted"


async def test_an_abort_while_arguments_stream_leaves_no_call_without_a_result() -> None:
    """g09: the next run of the session sends a history that a provider accepts, with the words kept."""

    class Stalls:
        def __init__(self) -> None:
            self.requests: list[Any] = []

        async def stream(self, request: Any) -> Any:
            self.requests.append(request)
            if len(self.requests) == 1:
                yield TextDelta("On it.")
                await asyncio.sleep(3600)
            yield TextDelta("Here I am.")
            yield Finished("stop", TokenUsage())

    model = Stalls()
    runtime = Runtime(provider="mine:m", providers={"mine": model})
    session = runtime.session("s")
    async with session.stream("look it up") as run:
        async for event in run:
            if event.type == "text-delta":
                run.stop("now")
        assert (await run.result()).diagnostics["partialText"] == "On it."
    assert (await session.run("go on")).text == "Here I am."
    shown = [(message.role, message.text) for message in model.requests[1].messages]
    assert shown == [("user", "look it up"), ("assistant", "On it."), ("user", "go on")]


async def test_a_stop_during_an_action_answers_its_call_in_the_state() -> None:
    started = asyncio.Event()

    @action(tier=0)
    async def slow(context: Any) -> str:
        """Takes an hour."""
        started.set()
        await asyncio.sleep(3600)
        return "never"

    class Model:
        async def stream(self, request: Any) -> Any:
            yield ToolCallDone(ToolCall(id="k1", name="slow", args_text="{}"))
            yield Finished("tool_calls", TokenUsage())

    runtime = Runtime(provider="mine:m", providers={"mine": Model()}, actions=[slow])
    async with runtime.stream("go") as run:
        await started.wait()
        run.stop("now")
        result = await run.result()
    assert result.status == "aborted"
    last = result.state["transcript"][-1]
    assert (last["role"], last["toolCallId"]) == ("tool", "k1")
    assert result.cycles[-1].evaluate == {"outcome": "aborted"}


async def test_an_action_that_ignores_its_cancellation_does_not_hold_the_run() -> None:
    async def stubborn(context: Any, args: dict[str, Any]) -> str:
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                if released.is_set():
                    raise

    released = asyncio.Event()
    runtime, provider = scripted(
        [calls(("add", {"a": 1, "b": 1})), {"text": "It hangs."}],
        actions=[adder(execute=stubborn, timeout_ms=50)],
    )
    result = await runtime.run("go")
    assert result.text == "It hangs."
    assert details(result, "action-timeout") == [{"actionName": "add", "timeoutMs": 50}]
    released.set()
    assert provider.left_over() == []
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


class Broken:
    async def stream(self, request: Any) -> Any:
        raise KeyError("a fault of the host's transport")
        yield  # pragma: no cover


async def test_a_crash_of_a_provider_keeps_the_state() -> None:
    runtime = Runtime(provider="mine:m", providers={"mine": Broken()})
    result = await runtime.run("hi")
    assert result.status == "failed"
    assert result.error is not None
    assert "KeyError" in result.error.message
    assert result.state["request"]["prompt"] == "hi"


@pytest.mark.parametrize("hook", ["beforeAction", "afterAction", "beforeFinalize"])
async def test_a_crash_of_a_hook_keeps_the_run(hook: str) -> None:
    async def fails(*args: Any) -> None:
        raise ValueError("hook fault")

    runtime, _ = scripted([calls(ADD), {"text": "Five."}], actions=[adder()], hooks={hook: fails})
    result = await runtime.run("2 + 3?")
    if hook == "beforeAction":  # its failure is ask
        assert result.status == "blocked"
        assert details(result, "approval-required")[0]["source"] == "hook"
    else:
        assert result.text == "Five."
        assert result.diagnostics["hooks"][0]["error"] == "hook fault"


async def test_hooks_refuse_replace_and_veto() -> None:
    seen: list[Any] = []

    async def before(decision: dict[str, Any], args: dict[str, Any]) -> str | None:
        return "not on Sundays" if args["a"] == 1 else None

    async def after(output: Any) -> Any:
        return {"sum": output["sum"], "checked": True}

    async def finalize(output: dict[str, Any]) -> str | None:
        seen.append(output["text"])
        return "too short" if len(seen) == 1 else None

    runtime, provider = scripted(
        [calls(("add", {"a": 1, "b": 1})), calls(ADD), {"text": "Five."}, {"text": "It is five."}],
        actions=[adder()],
        hooks={"before_action": before, "after_action": after, "before_finalize": finalize},
    )
    result = await runtime.run("2 + 3?")
    assert result.text == "It is five."
    assert details(result, "policy-denied")[0]["reason"] == "not on Sundays"
    assert '"checked": true' in provider.requests[2].messages[-1].text
    assert seen == ["Five.", "It is five."]
    assert "too short" in provider.requests[3].messages[-1].text


async def test_a_veto_counts_to_two_and_is_noted_when_no_step_is_left() -> None:
    async def never(output: dict[str, Any]) -> str:
        return "no"

    runtime, _ = scripted([{"text": "one"}, {"text": "two"}, {"text": "three"}], hooks={"beforeFinalize": never})
    result = await runtime.run("hi")
    assert result.text == "three"
    assert result.diagnostics["vetoesIgnored"] == ["no"]
    runtime, _ = scripted([{"text": "only"}], hooks={"beforeFinalize": never}, max_steps=1)
    assert (await runtime.run("hi")).text == "only"


async def test_a_superseded_text_is_said_to_be_so() -> None:
    async def once(output: dict[str, Any]) -> str | None:
        return "again" if output["text"] == "one" else None

    runtime, _ = scripted([{"text": "one"}, {"text": "two"}], hooks={"beforeFinalize": once})
    async with runtime.stream("hi") as run:
        events = [event async for event in run]
    shown = ""
    for event in events:
        if event.type == "text-delta":
            shown += event.detail["text"]
        elif event.type == "answer-superseded":
            shown = ""
    assert shown == "two"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"hooks": {"beforeActoin": print}}, ["beforeActoin", "beforeAction"]),
        ({"hooks": {"beforeAction": 3}}, ["beforeAction", "callable"]),
        ({"provider": "opnai:x"}, ["opnai", "openai"]),
        ({"provider": "openai:x"}, ["fetch"]),
        ({"actions": [{"name": "x"}]}, ["actions", "dict"]),
        ({"max_cost_usd": 1.0}, ["maxCostUsd", "pricing"]),
        ({"prompts": {"rol": "x"}}, ["rol", "role"]),
        ({"disabled_capabilities": ["workspce"]}, ["workspce", "workspace"]),
    ],
)
def test_a_bad_composition_says_what_and_where(keys: dict[str, Any], words: list[str]) -> None:
    parts = {"provider": "mine:m", "providers": {"mine": Endless()}}
    with pytest.raises(ConfigInvalid) as caught:
        Runtime(**{**parts, **keys})
    for word in words:
        assert word in caught.value.message + caught.value.hint
