"""Native replies to one decision: calls, batches, what stands alone, cut replies, and plain text. Rules: 2.3."""

from __future__ import annotations

from typing import Any

import pytest

from agrun_wasm.contracts.model import ModelReply, TokenUsage, ToolCall
from agrun_wasm.contracts.state import RunState
from agrun_wasm.planner.envelope import InvalidDecision
from agrun_wasm.planner.reading import decide_record, preview, read_native_reply
from agrun_wasm.planner.surface import Surface
from tests.kit import adder, scripted


@pytest.fixture(scope="module")
def reader() -> tuple[Surface, RunState]:
    runtime, _ = scripted(
        [],
        actions=[
            adder(),
            adder(name="alone", planner={"argsSchema": {}, "standalone": True}),
            adder(name="off"),
            adder(name="hidden", planner=False),
        ],
        disabled_actions=["off"],
    )
    return runtime._surface, runtime._empty_state("hi")


def reply(*calls: tuple[str, str], text: str = "", finish: Any = None) -> ModelReply:
    listed = [ToolCall(id=f"c{n}", name=name, args_text=args) for n, (name, args) in enumerate(calls)]
    return ModelReply(text, "", listed, finish or ("tool_calls" if calls else "stop"), TokenUsage())


ADD = ("add", '{"a": 1, "b": 2}')

#: calls -> the record of the decision that they are
DECISIONS: list[tuple[list[tuple[str, str]], dict[str, Any]]] = [
    ([ADD], {"type": "action", "name": "add"}),
    ([("functions.ADD", "{}")], {"type": "action", "name": "add"}),
    ([("add", "")], {"type": "action", "name": "add"}),
    ([("add", "{broken")], {"type": "action", "name": "add"}),
    ([ADD, ADD], {"type": "batch"}),
    ([ADD, ("nope", "{}")], {"type": "batch"}),
    ([("off", "{}"), ADD], {"type": "batch"}),
    ([ADD, ("alone", "{}")], {"type": "action", "name": "alone"}),
    ([("ask_clarification", '{"question": "x"}')], {"type": "clarify"}),
    ([ADD, ("ask_clarification", '{"question": "x"}')], {"type": "clarify"}),
    ([("ask_clarification", "[")], {"type": "action", "name": "ask_clarification"}),
    ([("final_answer", '{"answer": "x"}')], {"type": "final"}),
    ([ADD, ("final_answer", '{"answer": "x"}')], {"type": "final"}),
    ([("final_answer", '{"answer": "x"}'), ("plan", '{"actions": [{"name": "add"}]}')], {"type": "final"}),
    ([("alone", "{}"), ("final_answer", '{"answer": "x"}')], {"type": "action", "name": "alone"}),
    ([("finalize", "")], {"type": "finalize"}),
    ([("plan", '{"actions": [{"name": "add"}]}'), ADD], {"type": "plan"}),
    ([("final_answer", "[1]")], {"type": "action", "name": "final_answer"}),
]


@pytest.mark.parametrize(("calls", "record"), DECISIONS, ids=str)
def test_calls(reader: tuple[Surface, RunState], calls: list[tuple[str, str]], record: dict[str, Any]) -> None:
    assert decide_record(read_native_reply(*reader, reply(*calls)).decision) == record


#: calls -> why they are refused
REFUSED: list[tuple[list[tuple[str, str]], str]] = [
    ([("nope", "{}")], "unknown_action"),
    ([("hidden", "{}")], "unknown_action"),
    ([("off", "{}")], "disabled_action"),
    ([("nope", "{}"), ("off", "{}")], "unknown_action"),
    ([("off", "{}"), ("nope", "{}")], "disabled_action"),
    ([("final_answer", "{}")], "missing_answer"),
    ([ADD, ("final_answer", '{"answer": ""}')], "missing_answer"),
    ([("ask_clarification", "{}")], "missing_question"),
    ([("plan", "{}")], "empty_plan"),
    ([("plan", '{"actions": [{"type": "plan", "actions": []}]}')], "nested_plan"),
]


@pytest.mark.parametrize(("calls", "reason"), REFUSED, ids=str)
def test_refused_calls(reader: tuple[Surface, RunState], calls: list[tuple[str, str]], reason: str) -> None:
    with pytest.raises(InvalidDecision) as caught:
        read_native_reply(*reader, reply(*calls))
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "calls", [[ADD], [ADD, ADD], [("final_answer", '{"answer": "x"}')], [("plan", '{"act')], [("nope", "{")]]
)
def test_a_cut_reply_runs_nothing(reader: tuple[Surface, RunState], calls: list[tuple[str, str]]) -> None:
    decision: Any = read_native_reply(*reader, reply(*calls, finish="length")).decision
    assert decision.type == "nothing_run"
    assert len(decision.answers) == len(calls)


#: plain text -> it is the answer as it stands
ANSWERS = [
    "Five.",
    "{}",
    '{"sum": 5}',
    '{"answer": "x"}',
    '{"name": "add", "args": {}}',
    '{"type": "Feature", "name": "add"}',
    '{"type": "add", "args": {}}',
    '```json\n{"type": "final", "answer": "x"}\n```',
    'Here: {"type": "final", "answer": "x"}',
    '{"type": "final", "answer": "x"',
    "<think>a</think>b",
    "  indented\n",
]


@pytest.mark.parametrize("text", ANSWERS)
def test_plain_text_is_the_answer(reader: tuple[Surface, RunState], text: str) -> None:
    decision: Any = read_native_reply(*reader, reply(text=text)).decision
    assert (decision.type, decision.answer, decision.from_text) == ("final", text, True)


#: a whole text with one of the five words as its type -> the decision's record, or why it is refused
WORDS: list[tuple[str, dict[str, Any] | str]] = [
    ('{"type": "final", "answer": "x"}', {"type": "final"}),
    (' {"type": "final", "answer": "x",}\n', {"type": "final"}),
    ('{"type": "action", "name": "add"}', {"type": "action", "name": "add"}),
    ('{"type": "plan", "actions": [{"name": "add"}]}', {"type": "plan"}),
    ('{"type": "clarify", "question": "x"}', {"type": "clarify"}),
    ('{"type": "finalize"}', {"type": "finalize"}),
    ('{"type": "final"}', "missing_answer"),
    ('{"type": "action"}', "missing_name"),
    ('{"type": "action", "name": "nope"}', "unknown_action"),
    ('{"type": "action", "name": "add", "args": [1]}', "args_not_object"),
    ('{"type": "plan", "actions": []}', "empty_plan"),
    ('{"type": "clarify"}', "missing_question"),
]


@pytest.mark.parametrize(("text", "meant"), WORDS)
def test_a_text_that_is_a_decision(reader: tuple[Surface, RunState], text: str, meant: dict[str, Any] | str) -> None:
    if isinstance(meant, dict):
        assert decide_record(read_native_reply(*reader, reply(text=text)).decision) == meant
        return
    with pytest.raises(InvalidDecision) as caught:
        read_native_reply(*reader, reply(text=text))
    assert caught.value.reason == meant


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_reply_is_refused(reader: tuple[Surface, RunState], text: str) -> None:
    with pytest.raises(InvalidDecision) as caught:
        read_native_reply(*reader, reply(text=text))
    assert caught.value.reason == "empty_reply"


def test_a_cut_text_is_an_answer_that_says_so(reader: tuple[Surface, RunState]) -> None:
    decision: Any = read_native_reply(*reader, reply(text="half an ans", finish="length")).decision
    assert (decision.answer, decision.truncated) == ("half an ans", True)


def test_a_preview_is_short() -> None:
    assert preview(" text ", []) == "text"
    assert len(preview("x" * 1_000, [])) == 200
    assert "add" in preview("", [ToolCall(id="c", name="add", args_text="{")])
