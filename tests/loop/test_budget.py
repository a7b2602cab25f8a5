"""Budgets: what a call costs, what an extension adds, and when a budget is spent. Rules: 2.8."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from agrun_wasm import ConfigInvalid
from agrun_wasm.contracts.config import ModelPrice
from agrun_wasm.contracts.model import TokenUsage
from agrun_wasm.loop.budget import cost_of, extend_budgets
from tests.kit import adder, calls, details, scripted

PER_TOKEN = {"inputPerM": 1_000_000, "outputPerM": 1_000_000}
PRICING = {"pricing": {"test": PER_TOKEN}}
ADD = ("add", {"a": 2, "b": 3})


@pytest.mark.parametrize(
    ("price", "tokens", "cost"),
    [
        ({"inputPerM": 2, "outputPerM": 8}, {"input_tokens": 1_000, "output_tokens": 500}, 0.006),
        ({"inputPerM": 2, "outputPerM": 8}, {"input_tokens": 1_000, "cached_input_tokens": 900}, 0.002),
        (
            {"inputPerM": 2, "cachedInputPerM": 0.5, "outputPerM": 8},
            {"input_tokens": 1_000, "cached_input_tokens": 600},
            0.0011,
        ),
        (
            {"inputPerM": 2, "cachedInputPerM": 0, "outputPerM": 8},
            {"input_tokens": 1_000, "cached_input_tokens": 1_000},
            0,
        ),
        ({"inputPerM": 2, "outputPerM": 8}, {}, 0),
        ({"inputPerM": 2, "outputPerM": 8}, {"output_tokens": 1_000, "reasoning_tokens": 900}, 0.008),
    ],
)
def test_what_a_call_costs(price: dict[str, Any], tokens: dict[str, int], cost: float) -> None:
    assert cost_of(ModelPrice.model_validate(price), TokenUsage(**tokens)) == pytest.approx(cost)


@pytest.mark.parametrize(
    ("extension", "words"),
    [
        ({"maxStep": 1}, ["maxStep", "maxSteps"]),
        ({"maxSteps": 0}, ["maxSteps"]),
        ({"maxSteps": 1.5}, ["maxSteps"]),
        ({"maxSteps": "2"}, ["maxSteps"]),
        ({"maxSteps": True}, ["maxSteps"]),
        ({"maxSteps": None}, ["maxSteps"]),
        ({"runDeadlineMs": -1}, ["runDeadlineMs"]),
        ({"runDeadlineMs": math.inf}, ["runDeadlineMs"]),
        ({"maxCostUsd": math.nan}, ["maxCostUsd"]),
        ({"maxSteps": 1, "maxCostUsd": "1"}, ["maxCostUsd"]),
    ],
)
def test_an_extension_that_is_none_changes_nothing(extension: dict[str, Any], words: list[str]) -> None:
    runtime, _ = scripted([], max_cost_usd=1, run_deadline_ms=100, **PRICING)
    state = runtime._empty_state("hi")
    before = state.to_json()
    with pytest.raises(ConfigInvalid) as caught:
        extend_budgets(state, extension, priced=True)
    for word in words:
        assert word in caught.value.message
    assert state.to_json() == before


def test_an_extension_adds_to_what_is_left() -> None:
    runtime, _ = scripted([], max_steps=3, max_cost_usd=1, run_deadline_ms=100, **PRICING)
    state = runtime._empty_state("hi")
    extend_budgets(state, {"maxSteps": 2, "run_deadline_ms": 50.5, "maxCostUsd": 0.5}, priced=True)
    budgets = state.budgets
    assert (budgets.steps_left, budgets.deadline_left_ms, budgets.cost_left_usd) == (5, 150.5, 1.5)


def test_what_has_no_limit_gets_none() -> None:
    runtime, _ = scripted([])
    state = runtime._empty_state("hi")
    extend_budgets(state, {"runDeadlineMs": 50, "maxCostUsd": 1}, priced=True)
    assert (state.budgets.deadline_left_ms, state.budgets.cost_left_usd) == (None, None)


#: the first reply, priced at five dollars of two -> how the run ends, and whether it is delivered all the same
OVERSPENT: list[tuple[dict[str, Any], str]] = [
    ({"text": "Five."}, "completed"),
    (calls(("final_answer", {"answer": "Five."})), "completed"),
    (calls(("ask_clarification", {"question": "Which?"})), "blocked"),
    (calls(ADD), "continuation"),
    (calls(ADD, ("add", {"a": 1, "b": 1})), "continuation"),
    (calls(("plan", {"actions": [{"name": "add", "args": {"a": 1, "b": 1}}]})), "continuation"),
    (calls(("finalize", {})), "continuation"),
    (calls(("nope", {})), "continuation"),
]


@pytest.mark.parametrize(("reply", "status"), OVERSPENT)
async def test_a_decision_that_overspends(reply: dict[str, Any], status: str) -> None:
    runtime, provider = scripted(
        [{**reply, "usage": {"inputTokens": 5}}, {"text": "ok"}, {"text": "ok"}],
        actions=[adder()],
        max_cost_usd=2,
        **PRICING,
    )
    result = await runtime.run("2 + 3?")
    assert result.status == status
    assert len(provider.requests) == 1
    assert details(result, "cost-budget-warning") == [{"spentUsd": 5.0, "maxCostUsd": 2.0}]
    if status == "continuation":
        assert result.output is not None
        assert result.output["reason"] == "cost"
        assert details(result, "action-executing") == []
        extended = await runtime.resume(result.state, extend={"maxCostUsd": 10})
        assert extended.status == "completed"
        asked_again = "nope" in str(reply)
        first = provider.requests[1]
        assert first.purpose == ("finalizer" if "finalize" in str(reply) or "plan" in str(reply) else "planner")
        assert any(message.role == "tool" for message in first.messages) or asked_again or first.purpose == "finalizer"


async def test_costs_of_every_purpose_are_booked() -> None:
    usage = {"usage": {"inputTokens": 1, "outputTokens": 1}}
    item = {"name": "add", "args": {"a": 1, "b": 1}, "section": {"prompt": "Write."}}
    stitch = {"intro_prompt": "Open.", "outro_prompt": "End."}
    plan = {"type": "plan", "actions": [item], "synthesize_per_action": True, "stitch": stitch}
    replies = [
        {"text": "no envelope", **usage},
        {"text": json.dumps(plan), **usage},
        *({"text": "part", **usage} for _ in range(3)),
    ]
    runtime, provider = scripted(replies, actions=[adder()], planner_mode="envelope", **PRICING)
    result = await runtime.run("2 + 3?")
    assert [r.purpose for r in provider.requests][:2] == ["planner", "repair"]
    assert sorted(r.purpose for r in provider.requests[2:]) == ["intro", "outro", "section"]
    assert result.usage.model_calls == 5
    assert result.usage.cost_usd == pytest.approx(10)


async def test_the_deadline_does_not_run_while_a_person_thinks() -> None:
    runtime, _ = scripted([calls(ADD), {"text": "ok"}], actions=[adder(tier=1)], run_deadline_ms=100)
    waiting = await runtime.run("2 + 3?")
    runtime.clock.advance(60_000)  # type: ignore[attr-defined]
    assert waiting.output is not None
    done = await runtime.resume(waiting.state, {waiting.output["approvals"][0]["approvalId"]: "approve"})
    assert done.status == "completed"
