"""Saved states: what is no state is refused with words, what is one comes back equal after every kind of end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agrun_wasm import StateInvalid, StateVersionUnsupported
from agrun_wasm.session.saved import load_state, save_state
from tests.kit import adder, calls, scripted

ADD = ("add", {"a": 2, "b": 3})


@pytest.mark.parametrize(
    ("saved", "error", "words"),
    [
        (None, StateInvalid, ["result.state"]),
        (5, StateInvalid, ["result.state"]),
        ([], StateInvalid, ["result.state"]),
        ("{", StateInvalid, ["JSON"]),
        ("[1]", StateInvalid, ["result.state"]),
        ({}, StateInvalid, ["schemaVersion"]),
        ({"schemaVersion": "1"}, StateInvalid, ["schemaVersion"]),
        ({"schemaVersion": True}, StateInvalid, ["schemaVersion"]),
        ({"schemaVersion": 0}, StateInvalid, ["schemaVersion"]),
        ({"schemaVersion": 1}, StateInvalid, ["runId"]),
        ({"schemaVersion": 2}, StateVersionUnsupported, ["2", "1"]),
    ],
)
def test_what_is_no_state_is_refused(saved: Any, error: type[Exception], words: list[str]) -> None:
    with pytest.raises(error) as caught:
        load_state(saved)
    for word in words:
        assert word in str(caught.value)


async def test_an_unknown_key_is_named_with_its_neighbour() -> None:
    runtime, _ = scripted([{"text": "ok"}])
    state = (await runtime.run("hi")).state
    state["budgets"]["stepLeft"] = 1
    with pytest.raises(StateInvalid, match=r"stepLeft.*stepsLeft"):
        runtime.load(state)


#: how a run can end -> its replies and settings
ENDS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "completed": ([calls(ADD), {"text": "Five."}], {}),
    "approval": ([calls(ADD, ADD)], {"actions": [adder(tier=1)]}),
    "clarification": ([calls(("ask_clarification", {"question": "Which?"}))], {}),
    "steps": ([calls(ADD)], {"max_steps": 1, "finalize_on_exhaustion": False}),
    "cost": (
        [calls(ADD, usage={"inputTokens": 9})],
        {"max_cost_usd": 1, "pricing": {"test": {"inputPerM": 1_000_000, "outputPerM": 0}}},
    ),
    "deadline": ([{"error": {"status": 503}}], {"run_deadline_ms": 10}),
    "failed": ([{"error": {"status": 401}}], {}),
    "invalid": ([{"text": ""}] * 3, {}),
}


@pytest.mark.parametrize("end", ENDS)
async def test_a_state_comes_back_equal_after_every_end(end: str) -> None:
    replies, keys = ENDS[end]
    runtime, _ = scripted(replies, **{"actions": [adder()], **keys})
    result = await runtime.run("2 + 3?")
    text = json.dumps(result.state, ensure_ascii=False, allow_nan=False)
    assert save_state(load_state(text)) == result.state
    again = scripted([])[0].load(text)
    assert again.to_json() == result.to_json()


async def test_a_loaded_state_shares_nothing_with_what_was_given() -> None:
    runtime, _ = scripted([calls(ADD), {"text": "ok"}], actions=[adder(tier=1)])
    blocked = await runtime.run("2 + 3?")
    before = json.dumps(blocked.state)
    assert blocked.output is not None
    await runtime.resume(blocked.state, {blocked.output["approvals"][0]["approvalId"]: "approve"})
    assert json.dumps(blocked.state) == before


def test_a_run_in_progress_has_no_result_yet() -> None:
    runtime, _ = scripted([])
    state = runtime._empty_state("hi").to_json()
    with pytest.raises(StateInvalid, match="has not ended"):
        runtime.load(state)
