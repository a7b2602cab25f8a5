"""Stopped at any moment: the run is aborted with the text so far, and a provider accepts the history it leaves.

Every event of each scenario is a moment, and so is the time before the first one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agrun_wasm import Action, RunResult, Runtime
from agrun_wasm.contracts.events import RunEvent
from agrun_wasm.contracts.model import Finished, ModelEvent, ModelRequest, TextDelta, TokenUsage, ToolCall, ToolCallDone
from agrun_wasm.loop.context import RunContext
from tests.clock import FakeClock
from tests.kit import CountedIds
from tests.loop.test_any_run import assert_a_provider_accepts

SAFE = {"effect": "none", "isConcurrencySafe": True}
ITEMS = [{"type": "action", "name": "note", "args": {"n": n}, "section": {"prompt": f"part {n}"}} for n in range(3)]
PLAN = {"actions": ITEMS, "synthesize_per_action": True, "stitch": {"intro_prompt": "open"}}
SUMMED = {"actions": ITEMS, "synthesize_instruction": "Sum up."}

#: scenario -> the planner's replies, each a text or named calls
SCENARIOS: dict[str, list[Any]] = {
    "text": ["A text in some pieces."],
    "tool": [[("note", {"n": 1})], "The end."],
    "batch": [[("note", {"n": 1}), ("slow", {"n": 2}), ("note", {"n": 3})], "The end."],
    "plan": [[("plan", SUMMED)]],
    "sections": [[("plan", PLAN)]],
    "finalize": [[("note", {"n": 1})], [("finalize", {"instruction": "short"})]],
    "invalid": [[("nothing", {})], "The end."],
}


class Model:
    """Says what the scenario has, a piece at a time; what the writer says is longer than one piece too."""

    def __init__(self, replies: list[Any]) -> None:
        self._left = list(replies)
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.requests.append(request)
        said = self._left.pop(0) if request.purpose == "planner" and self._left else "Words of the writer."
        if isinstance(said, str):
            for piece in (said[:5], said[5:9], said[9:]):
                await asyncio.sleep(0)
                yield TextDelta(piece)
        else:
            yield TextDelta("Let me see.")
            for place, (name, args) in enumerate(said):
                await asyncio.sleep(0)
                yield ToolCallDone(ToolCall(id=f"{len(self.requests)}-{place}", name=name, args_text=json.dumps(args)))
        yield Finished("stop" if isinstance(said, str) else "tool_calls", TokenUsage())


def runtime_of(scenario: str) -> tuple[Runtime, Model, list[str]]:
    """A runtime, its model, and the calls that came to their end."""
    clock, ended = FakeClock(), []

    async def execute(context: Any, args: dict[str, Any]) -> Any:
        await clock.sleep(5 + args["n"])
        ended.append(context.idempotency_key)
        return {"noted": args["n"]}

    schema = {"n": {"type": "integer", "required": True}}
    parts: dict[str, Any] = {"planner": {"argsSchema": schema}, "execute": execute}
    actions = [Action("note", "Notes.", 0, permission=SAFE, **parts), Action("slow", "Notes.", 0, **parts)]
    model = Model(SCENARIOS[scenario])
    keys: dict[str, Any] = {"clock": clock, "ids": CountedIds(), "actions": actions}
    return Runtime(provider="mine:test", providers={"mine": model}, **keys), model, ended


async def stopped_at(
    monkeypatch: pytest.MonkeyPatch, runtime: Runtime, number: int, how: Any
) -> tuple[RunResult, list[RunEvent]]:
    """The run that is stopped in the very step of its n-th event; 0 is before it begins."""
    seen: list[RunEvent] = []
    async with runtime.session("s").stream("go") as run:
        if number == 0:
            run.stop(how)
        emit = RunContext.emit

        def stopping(ctx: RunContext, type_: Any, /, **detail: Any) -> None:
            emit(ctx, type_, **detail)
            stopping.count += 1  # type: ignore[attr-defined]
            if stopping.count == number:  # type: ignore[attr-defined]
                run.stop(how)

        stopping.count = 0  # type: ignore[attr-defined]
        with monkeypatch.context() as patched:
            patched.setattr(RunContext, "emit", stopping)
            seen = [event async for event in run]
            result = await run.result()
    return result, seen


@pytest.mark.parametrize("how", ["now", "after_step"])
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_stopped_at_every_moment(monkeypatch: pytest.MonkeyPatch, scenario: str, how: Any) -> None:
    whole, events = await stopped_at(monkeypatch, runtime_of(scenario)[0], -1, how)
    assert whole.status == "completed"
    last_cycle = max(place for place, event in enumerate(events) if event.type == "cycle-completed")
    for number in range(last_cycle + 2):  # what comes after the last cycle is the end itself: a stop is too late then
        runtime, model, ended = runtime_of(scenario)
        result, seen = await stopped_at(monkeypatch, runtime, number, how)
        last = seen[-1]
        assert (result.status, last.type) == ("aborted", "run-aborted"), f"{number}: {last}"
        shown = ""
        for event in seen:
            shown = shown + event.detail["text"] if event.type == "text-delta" else shown
            shown = "" if event.type == "answer-superseded" else shown
        assert result.diagnostics["partialText"] == shown
        assert (result.output, result.error, result.final_answer_source) == (None, None, "aborted")
        counts = [event.type for event in seen]
        executed = counts.count("action-executed")
        assert executed == len(ended) if how == "after_step" else executed <= len(ended)
        if how == "after_step":
            assert executed == counts.count("action-executing"), "after_step lets what was started finish"
        assert json.loads(json.dumps(result.state))["cycle"] is None

        before = len(model.requests)
        again = await runtime.session("s").run("and now?")
        assert again.status == "completed"
        for request in model.requests:
            assert_a_provider_accepts(request)
        told = [message.text for message in model.requests[before].messages]
        assert told[:3] == ["go", *([shown] if shown else []), "and now?"][:3]
