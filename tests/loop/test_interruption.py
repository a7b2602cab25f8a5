"""A run whose process ends anywhere goes on from what was saved last, to the very end it would have had.

Replies are made at random as in test_any_run, but each depends on its request alone, so that a question asked again is
answered again alike. Every state that a run saved is the one that a process left behind.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agrun_wasm import RunResult, Runtime, Skill
from agrun_wasm.contracts.model import ModelEvent, ModelRequest
from agrun_wasm.providers.event_json import flatten_request
from agrun_wasm.providers.scripted import ScriptedProvider
from agrun_wasm.text.digest import digest
from tests.clock import FakeClock
from tests.conformance.web import FakeFetch, FakeSearch
from tests.kit import CountedIds
from tests.loop.test_any_run import FOUND, PAGES, SKILL, TOOLS, actions, configs, envelope_replies, native_replies
from tests.stores import MemoryStore

MOST_CYCLES = 4


class StatelessProvider:
    """Answers each request with the reply that its text falls on; keeps the texts it answered."""

    def __init__(self, replies: list[dict[str, Any]]) -> None:
        self._replies = replies or [{"text": "nothing to say"}]
        self.answered: list[str] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        mark = digest(flatten_request(request))
        reply = json.loads(json.dumps(self._replies[int(mark[:8], 16) % len(self._replies)]))
        for place, call in enumerate(reply.get("toolCalls", [])):
            call["id"] = f"{mark[:6]}-{place}"
        async for event in ScriptedProvider([reply]).stream(request):
            yield event
        self.answered.append(mark)


class Process:
    """Everything of one process: what it ends with is lost but for the store."""

    def __init__(self, replies: list[dict[str, Any]], config: dict[str, Any], store: MemoryStore) -> None:
        clock = FakeClock()
        self.ran: list[str] = []
        self.provider = StatelessProvider(replies)
        self.runtime = Runtime(
            provider="mine:test",
            providers={"mine": self.provider},
            clock=clock,
            ids=CountedIds(),
            store=store,
            actions=actions(clock, self.ran),
            skills=[Skill.from_files({"SKILL.md": SKILL, "tools.py": TOOLS}, trust_tools=True)],
            fetch=FakeFetch(PAGES, clock),
            web_search=FakeSearch(FOUND),
            **config,
        )

    async def to_the_end(self, result: RunResult) -> RunResult:
        """Answers whatever is asked, the same for the same question."""
        while True:
            waits = result.output or {}
            if waits.get("kind") == "approval_required":
                first = waits["approvals"][0]["approvalId"]
                answers = {first: "deny" if first.endswith("2") else "approve"}
                result = await self.runtime.resume(result.run_id, answers)
            elif result.status == "continuation" and len(result.cycles) < MOST_CYCLES:
                result = await self.runtime.resume(result.run_id, extend={"maxSteps": 1, **self._more()})
            else:
                return result

    def _more(self) -> dict[str, int]:
        return {"runDeadlineMs": 300} if self.runtime.config.run_deadline_ms else {}


def comparable(result: RunResult) -> dict[str, Any]:
    """What must not depend on where a process ended: all but times and numbers of events."""
    whole = result.to_json()
    state = whole.pop("state")
    steps = Counter(json.dumps([s["type"], s["cycle"], untimed(s["detail"])], sort_keys=True) for s in whole["steps"])
    kept = {
        key: value
        for key, value in state.items()
        if key not in ("steps", "seq", "cycles", "budgets", "approvals", "archive", "output")
    }
    # Calls that run side by side are counted as they end, which is otherwise for those that had ended before.
    kept["loopState"] = {key: value for key, value in state["loopState"].items() if key != "actionGuardrail"}
    left = {key: value for key, value in state["budgets"].items() if key != "deadlineLeftMs"}
    asked = [untimed(a) for kind in ("pending", "resolved") for a in state["approvals"][kind]]
    ends = {key: untimed(whole[key]) for key in ("status", "output", "error", "usage", "cycles", "finalAnswerSource")}
    return {"ends": ends, "steps": steps, "state": kept, "budgets": left, "approvals": asked}


def untimed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: untimed(item) for key, item in value.items() if key != "expiresAt"}
    return [untimed(item) for item in value] if isinstance(value, list) else value


def finished_calls(saved: Mapping[str, Any]) -> set[str]:
    """The keys of every call that the state knows to have ended."""
    calls = (saved["cycle"] or {}).get("calls", [])
    return {*journal_of(saved), *(call["sequenceId"] for call in calls if call["outcome"])}


def journal_of(saved: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for entry in saved["journal"] for key, value in entry["finished"].items()}


def play(replies: list[dict[str, Any]], config: dict[str, Any]) -> None:
    store = MemoryStore()
    whole = asyncio.run(begin(Process(replies, config, store)))
    expected = comparable(whole)
    for text in store.saves:
        saved = json.loads(text)
        if not goes_on(saved):
            continue
        other = Process(replies, config, MemoryStore())
        got = comparable(asyncio.run(go_on(other, saved)))
        for part, value in expected.items():
            assert got[part] == value, part
        assert not finished_calls(saved) & set(other.ran), "a finished call ran again"
        assert len(other.ran) == len(set(other.ran))
        answered = [kept["result"] for key, kept in journal_of(saved).items() if ":model:" in key]
        known = saved["usage"]["modelCalls"] + sum("failed" not in result for result in answered)
        assert len(other.provider.answered) == whole.usage.model_calls - known, "a finished model call was made again"


async def begin(process: Process) -> RunResult:
    return await process.to_the_end(await process.runtime.session("s").run("go"))


async def go_on(process: Process, saved: Mapping[str, Any]) -> RunResult:
    store = process.runtime.store
    assert store is not None
    await store.save_run(saved["runId"], saved)
    waits = saved["status"] in ("blocked", "continuation")
    begun = process.runtime.load(saved) if waits else await process.runtime.resume(saved["runId"])
    return await process.to_the_end(begun)


def goes_on(saved: Mapping[str, Any]) -> bool:
    if saved["status"] == "blocked":
        return bool(saved["approvals"]["pending"])
    return saved["status"] in ("running", "continuation")


#: none whose end depends on the time that passed, which is otherwise after an interruption
untimed_configs = configs.map(
    lambda config: {k: v for k, v in config.items() if k not in ("run_deadline_ms", "action_guardrail")}
)


@given(st.lists(native_replies(), min_size=1, max_size=8), untimed_configs)
@settings(max_examples=40, deadline=None)
def test_any_native_run_goes_on_from_wherever_it_was_cut(replies: list[dict[str, Any]], config: dict[str, Any]) -> None:
    play(replies, config)


@given(st.lists(envelope_replies(), min_size=1, max_size=8), untimed_configs)
@settings(max_examples=25, deadline=None)
def test_any_envelope_run_goes_on_from_wherever_it_was_cut(
    replies: list[dict[str, Any]], config: dict[str, Any]
) -> None:
    play(replies, {**config, "planner_mode": "envelope"})
