"""What a model is shown: append-only, pair-safe, within the budget; what is left out stays in the state."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agrun_wasm.contracts.config import ContextBudget
from agrun_wasm.contracts.model import Message, ToolCall
from agrun_wasm.contracts.request import RunInput, TextPart, Turn
from agrun_wasm.contracts.state import Budgets, RunState
from agrun_wasm.session.transcript import LEFT_OUT, Transcript

PROMPT = "What is the tide at noon?"


def cycle_messages(cycle: int, sizes: list[int]) -> list[Message]:
    """A native decision with one call for each size, and their results of that size."""
    calls = [
        ToolCall(id=f"c{cycle}-{n}", name="look", args_text=json.dumps({"n": n, "place": "Brest" * 9}))
        for n in range(len(sizes))
    ]
    decision = Message(role="assistant", kind="decision", tool_calls=calls, cycle=cycle, summary="look")
    results = [
        Message(
            role="tool",
            kind="result",
            tool_call_id=call.id,
            tool_name="look",
            text=f"r{cycle}-{n}:" + "x" * size,
            cycle=cycle,
            summary=f"look: r{cycle}-{n}",
            shows={"toolHistory": [cycle * 10 + n]},
        )
        for n, (call, size) in enumerate(zip(calls, sizes, strict=True))
    ]
    return [decision, *results]


def state_of(cycles: list[list[int]]) -> RunState:
    """A run whose next cycle is being decided, after cycles with results of these sizes."""
    state = RunState(
        run_id="run-1",
        session_id="s",
        request=RunInput(prompt=PROMPT),
        budgets=Budgets(steps_left=3),
        cycles_started=len(cycles) + 1,
    )
    for number, sizes in enumerate(cycles, 1):
        state.transcript += cycle_messages(number, sizes)
    return state


def shown(state: RunState, *, as_text: bool = False, **budget: Any) -> list[Message]:
    transcript = Transcript(state, ContextBudget(**budget))
    transcript.compact()
    return list(transcript.view(as_text=as_text))


def total(messages: list[Message]) -> int:
    return sum(message.size() for message in messages)


cycles = st.lists(st.lists(st.integers(0, 900), min_size=1, max_size=3), max_size=14)
budgets: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict, max_chars=st.integers(1, 9_000), keep_last_cycles=st.integers(1, 6)
)


@settings(deadline=None)
@given(cycles, budgets)
def test_a_call_is_never_parted_from_its_result(sizes: list[list[int]], budget: dict[str, Any]) -> None:
    messages = shown(state_of(sizes), **budget)
    open_calls: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert open_calls.pop(0) == message.tool_call_id
        else:
            assert open_calls == []
            open_calls = [call.id for call in message.tool_calls]
    assert open_calls == []


@settings(deadline=None)
@given(cycles, budgets)
def test_the_latest_cycles_and_the_prompt_stay_whole(sizes: list[list[int]], budget: dict[str, Any]) -> None:
    """The last cycle always; the others that are to be kept as long as they fit by themselves."""
    whole = list(state_of(sizes).transcript)
    messages = shown(state_of(sizes), **budget)
    assert messages[0].text == PROMPT
    last = [m for m in whole if m.cycle == len(sizes)]
    assert messages[len(messages) - len(last) :] == last
    latest = [m for m in whole if m.cycle > len(sizes) - budget["keep_last_cycles"]]
    if len(PROMPT) + total(latest) + 60 * (len(sizes) + 1) <= budget["max_chars"]:
        assert messages[len(messages) - len(latest) :] == latest


@settings(deadline=None)
@given(cycles, budgets)
def test_the_budget_is_kept_where_the_last_cycle_leaves_room(sizes: list[list[int]], budget: dict[str, Any]) -> None:
    state = state_of(sizes)
    spared = len(sizes) - budget["keep_last_cycles"]
    shortest = sum(
        len(m.summary) if m.kind == "result" and m.cycle < len(sizes) else m.size()
        for m in state.transcript
        if m.cycle > spared
    )
    a_line_each = 60 * (len(sizes) + 1)
    if len(PROMPT) + shortest + a_line_each <= budget["max_chars"]:
        assert total(shown(state, **budget)) <= budget["max_chars"]


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 900), min_size=1, max_size=3), min_size=1, max_size=14), budgets)
def test_compaction_on_the_way_is_never_undone(sizes: list[list[int]], budget: dict[str, Any]) -> None:
    """Cycle by cycle: what is short stays short, and every cycle is shown whole, short, in a line, or counted."""
    state = state_of([])
    transcript = Transcript(state, ContextBudget(**budget))
    gone: set[int] = set()
    for number, results in enumerate(sizes, 1):
        for message in cycle_messages(number, results):
            transcript.append(message)
        state.cycles_started = number + 1
        transcript.compact()
        cycles = {m.cycle for m in state.transcript}
        lines = {folded.cycle for folded in state.compaction.folded}
        assert cycles | lines == set(range(state.compaction.left_out + 1, number + 1))
        assert not cycles & lines
        assert not gone & cycles
        gone |= lines
        assert transcript.compact() == 0 or total(list(transcript.view(as_text=False))) > budget["max_chars"]


def test_very_many_old_cycles_stay_within_the_budget_too() -> None:
    assert total(shown(state_of([[40]] * 2_000), max_chars=10_000, keep_last_cycles=2)) <= 10_000


@settings(deadline=None)
@given(cycles, budgets)
def test_the_same_state_gives_the_same_messages(sizes: list[list[int]], budget: dict[str, Any]) -> None:
    state = state_of(sizes)
    first = shown(state, **budget)
    before = state.to_json()
    again = shown(RunState.model_validate(json.loads(json.dumps(before))), **budget)
    assert [m.to_json() for m in first] == [m.to_json() for m in again]
    assert state.to_json() == before


@settings(deadline=None)
@given(cycles)
def test_below_the_budget_the_history_only_grows(sizes: list[list[int]]) -> None:
    seen: list[Message] = []
    for count in range(len(sizes) + 1):
        messages = shown(state_of(sizes[:count]))
        assert messages[: len(seen)] == seen
        seen = messages


def test_results_shrink_to_their_summaries_from_the_oldest_on() -> None:
    state = state_of([[3_000]] * 12)
    texts = [m.text for m in shown(state, max_chars=20_000, keep_last_cycles=2) if m.role == "tool"]
    assert texts[:8] == [f"look: r{n}-0" for n in range(1, 9)]
    assert all(len(text) > 3_000 for text in texts[8:])


def test_old_cycles_become_one_line_each_when_summaries_do_not_suffice() -> None:
    messages = shown(state_of([[90]] * 40), max_chars=2_600, keep_last_cycles=2)
    heading, *lines = messages[1].text.split("\n")
    left_out = 40 - len(lines) - len({m.cycle for m in messages[2:]})
    assert heading == f"Earlier cycles, shortened ({left_out} older ones left out):"
    assert lines == [f"cycle {n}: look -> look: r{n}-0" for n in range(left_out + 1, left_out + len(lines) + 1)]
    assert [m.cycle for m in messages[2:4]] == [left_out + len(lines) + 1] * 2
    assert messages[-1] == state_of([[90]] * 40).transcript[-1]
    assert total(messages) <= 2_600


def test_lines_take_a_quarter_of_the_budget_at_most() -> None:
    messages = shown(state_of([[90]] * 40), max_chars=900, keep_last_cycles=2)
    assert len(messages[1].text) <= 225 + len("Earlier cycles, shortened (99 older ones left out):\n")
    assert messages[1].text.split("\n")[-1].startswith("cycle 38: ")
    assert total(messages) <= 900


def test_kept_cycles_that_do_not_fit_by_themselves_lose_their_results_but_the_last() -> None:
    messages = shown(state_of([[900, 900]] * 6), max_chars=4_000, keep_last_cycles=6)
    texts = [m.text for m in messages if m.role == "tool"]
    assert texts[:8] == [f"look: r{n}-{k}" for n in range(1, 5) for k in (0, 1)]
    assert all(len(text) > 900 for text in texts[10:])
    assert total(messages) <= 4_000


def test_a_long_conversation_before_the_prompt_loses_its_oldest_turns() -> None:
    state = state_of([[5]])
    state.history = [
        Turn(role=role, parts=[TextPart(type="text", text=f"{role} {n} " + "x" * 200)])
        for n in range(20)
        for role in ("user", "assistant")
    ]
    texts = [m.text for m in shown(state, max_chars=3_000)]
    kept = [text for text in texts if text.startswith(("user", "assistant"))]
    assert texts[0] == f"[{40 - len(kept)} earlier turns of this conversation are left out]"
    assert kept[0].startswith("user")
    assert kept[-1].startswith("assistant 19")
    assert sum(map(len, kept)) <= 1_500
    assert len(state.history) == 40


def test_a_shrunk_message_is_encoded_anew() -> None:
    """A provider keeps each message's encoded form on it; a shortened copy must not bring the long one along."""
    from agrun_wasm.providers.encoding import wire

    state = state_of([[3_000]] * 12)
    for message in state.transcript:
        wire(message, "test", lambda m: m.text)
    for as_text in (False, True):
        for message in shown(state, as_text=as_text, max_chars=20_000, keep_last_cycles=2):
            assert wire(message, "test", lambda m: m.text) == message.text


class TestInputFilter:
    """2.9: keepLast trims what is shown; whole cycles go, and the state keeps everything."""

    @pytest.mark.parametrize("as_text", [False, True])
    def test_hidden_cycles_are_not_shown(self, as_text: bool) -> None:
        state = state_of([[5], [5], [5]])
        state.agent_skill_context.hidden = {"actionHistory": 2}
        text = "\n".join(m.text for m in shown(state, as_text=as_text))
        assert "r1-0" not in text
        assert "r2-0" not in text
        assert "r3-0" in text
        assert len(state.transcript) == 6

    def test_hidden_outputs_leave_their_calls_answered(self) -> None:
        state = state_of([[5], [5]])
        state.agent_skill_context.hidden = {"toolHistory": 20}
        results = [m for m in shown(state) if m.role == "tool"]
        assert [m.text for m in results] == [LEFT_OUT, state.transcript[-1].text]

    def test_views_over_and_over_give_the_same_texts(self) -> None:
        """Copies made for one view die after it, and the next ones may stand at the same place in memory."""
        state = state_of([[400]] * 6)
        state.agent_skill_context.hidden = {"toolHistory": 30}
        transcript = Transcript(state, ContextBudget(max_chars=1_500, keep_last_cycles=1))
        first = [m.text for m in transcript.view(as_text=True)]
        for _ in range(20):
            assert [m.text for m in transcript.view(as_text=True)] == first


def test_without_tools_calls_and_results_are_text() -> None:
    state = state_of([[5]])
    messages = shown(state, as_text=True)
    assert [m.role for m in messages] == ["user", "assistant", "user"]
    assert not any(m.tool_calls or m.tool_call_id for m in messages)
    assert json.loads(messages[1].text)["args"]["n"] == 0
    assert messages[2].text.startswith("Result of look:\nr1-0")


def test_history_conversation_and_prompt_lead_in_this_order() -> None:
    def turn(role: Any, text: str) -> Turn:
        return Turn(role=role, parts=[TextPart(type="text", text=text)])

    state = state_of([[5]])
    state.history = [turn("user", "one"), turn("assistant", "two")]
    state.request = RunInput(
        prompt="four", parts=[TextPart(type="text", text="five")], conversation=[turn("user", "three")]
    )
    assert [m.text for m in shown(state)][:4] == ["one", "two", "three", "four\n\nfive"]
