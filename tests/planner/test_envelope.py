"""Reading envelopes: tables of what is repaired for free, what implies what, and every reason to refuse. Rules: 2.3."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agrun_wasm.contracts.state import RunState
from agrun_wasm.planner.envelope import InvalidDecision, read_args
from agrun_wasm.planner.reading import decide_record, read_envelope_reply
from agrun_wasm.planner.surface import Surface
from tests.kit import adder, scripted


@pytest.fixture(scope="module")
def reader() -> tuple[Surface, RunState]:
    """A surface with `add` (alias `sum_up`), a disabled, a hidden and a denied action."""
    runtime, _ = scripted(
        [],
        actions=[
            adder(planner={"aliases": ["sum_up"], "argsSchema": {"a": {"type": "integer"}}}),
            adder(name="off"),
            adder(name="hidden", planner=False),
            adder(name="denied", tier=3),
        ],
        disabled_actions=["off"],
        planner_mode="envelope",
    )
    return runtime._surface, runtime._empty_state("hi")


CALL = {"type": "action", "name": "add", "args": {"a": 1}}

#: every spelling of CALL that costs no repair call
SAME_CALL: list[dict[str, Any]] = [
    CALL,
    {"type": "ACTION", "name": "add", "args": {"a": 1}},
    {"name": "add", "args": {"a": 1}},
    {"type": None, "name": "add", "args": {"a": 1}},
    {"type": "", "name": "add", "args": {"a": 1}},
    {"type": "action", "tool": "add", "args": {"a": 1}},
    {"tool": "add", "arguments": {"a": 1}},
    {"type": "action", "name": "add", "parameters": {"a": 1}},
    {"type": "action", "name": "add", "args": '{"a": 1}'},
    {"type": "action", "name": "ADD", "args": {"a": 1}},
    {"type": "action", "name": "functions.add", "args": {"a": 1}},
    {"type": "action", "name": "functions.Sum_Up", "args": {"a": 1}},
    {"type": "action", "name": "sum_up", "args": {"a": 1}},
    {"type": "add", "args": {"a": 1}},
    {"type": "Functions.add".lower(), "args": {"a": 1}},
    {"type": "sum_up", "arguments": '{"a":1}'},
    {**CALL, "reasoning": None, "confidence": 0.9},
]

#: every spelling of a call of add without arguments
EMPTY_ARGS: list[dict[str, Any]] = [
    {"type": "action", "name": "add"},
    {"type": "action", "name": "add", "args": None},
    {"type": "action", "name": "add", "args": {}},
    {"type": "action", "name": "add", "args": ""},
    {"type": "action", "name": "add", "args": " \n"},
    {"type": "action", "name": "add", "args": "null"},
    {"type": "action", "name": "add", "args": "{}"},
    {"type": "add"},
    {"name": "add"},
]


@pytest.mark.parametrize("envelope", SAME_CALL, ids=json.dumps)
def test_free_repairs_of_a_call(reader: tuple[Surface, RunState], envelope: dict[str, Any]) -> None:
    decision: Any = read_envelope_reply(*reader, json.dumps(envelope)).decision
    assert (decision.type, decision.call.action_name, decision.call.args) == ("action", "add", {"a": 1})


@pytest.mark.parametrize("envelope", SAME_CALL, ids=json.dumps)
def test_the_same_repairs_in_plan_items(reader: tuple[Surface, RunState], envelope: dict[str, Any]) -> None:
    decision: Any = read_envelope_reply(*reader, json.dumps({"type": "plan", "actions": [envelope]})).decision
    (item,) = decision.actions
    assert (item.action_name, item.args, item.item_type, item.invalid) == ("add", {"a": 1}, None, None)


@pytest.mark.parametrize("envelope", EMPTY_ARGS, ids=json.dumps)
def test_absent_null_and_empty_arguments(reader: tuple[Surface, RunState], envelope: dict[str, Any]) -> None:
    decision: Any = read_envelope_reply(*reader, json.dumps(envelope)).decision
    assert decision.call.args == {}


#: envelope -> the decision's record
OTHERS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"type": "final", "answer": "x"}, {"type": "final"}),
    ({"answer": "x", "reasoning": "r"}, {"type": "final", "reasoning": "r"}),
    ({"type": "final_answer", "answer": "x"}, {"type": "final"}),
    ({"type": "functions.final_answer", "args": {"answer": "x"}}, {"type": "final"}),
    ({"type": "action", "name": "final_answer", "args": {"answer": "x"}}, {"type": "final"}),
    ({"tool": "Final_Answer", "args": '{"answer": "x"}'}, {"type": "final"}),
    ({"type": "finalize"}, {"type": "finalize"}),
    ({"instruction": "short"}, {"type": "finalize"}),
    ({"type": "action", "name": "finalize"}, {"type": "finalize"}),
    ({"type": "clarify", "question": "x"}, {"type": "clarify"}),
    ({"question": "x"}, {"type": "clarify"}),
    ({"type": "ask_clarification", "question": "x"}, {"type": "clarify"}),
    ({"type": "action", "name": "ask_clarification", "args": {"question": "x"}}, {"type": "clarify"}),
    ({"type": "action", "name": "clarify", "question": "x"}, {"type": "clarify"}),
    ({"type": "plan", "actions": [CALL]}, {"type": "plan"}),
    ({"actions": [CALL]}, {"type": "plan"}),
    ({"type": "action", "name": "plan", "args": {"actions": [CALL]}}, {"type": "plan"}),
]


@pytest.mark.parametrize(("envelope", "record"), OTHERS, ids=lambda value: json.dumps(value))
def test_other_decisions(reader: tuple[Surface, RunState], envelope: dict[str, Any], record: dict[str, Any]) -> None:
    assert decide_record(read_envelope_reply(*reader, json.dumps(envelope)).decision) == record


#: reply -> why it is refused
REFUSED: list[tuple[str, str]] = [
    ("", "empty_reply"),
    (" \n\ufeff", "empty_reply"),
    ("```json\n```", "empty_reply"),
    ("<think>hm</think>", "empty_reply"),
    ("plain words", "not_an_envelope"),
    ("[1, 2]", "not_an_envelope"),
    ('"text"', "not_an_envelope"),
    ('see {"a": 1}', "not_an_envelope"),
    ("{'type': 'final', 'answer': 'x'}", "parse_error"),
    ('{"type": "final" "answer": "x"}', "parse_error"),
    ('{"type": "final", "answer": NaN}', "parse_error"),
    ('{"type": "final", "answer": "x", "n": 1e999}', "parse_error"),
    ('{"type": "final", "answer": "x", "n": ' + "9" * 4_301 + "}", "parse_error"),
    ('{"type": "final", "answer": "x", "n": ' + "[" * 64 + "]" * 64 + "}", "parse_error"),
    ('{"type": "final", "answer": "x', "truncated"),
    ('{"type": "plan", "actions": [{"name": "add"}', "truncated"),
    ('[{"type":"final","answer":"x"},{"type":"final","answer":"y"}]', "ambiguous_envelope"),
    ('{"type":"final","answer":"x"}{"type":"final","answer":"y"}', "ambiguous_envelope"),
    ("{}", "missing_type"),
    ('{"type": "think", "answer": "x"}', "missing_type"),
    ('{"type": 5, "answer": "x"}', "missing_type"),
    ('{"name": "add", "answer": "x"}', "missing_type"),
    ('{"answer": "x", "question": "y"}', "missing_type"),
    ('{"type": "action"}', "missing_name"),
    ('{"type": "action", "name": " "}', "missing_name"),
    ('{"type": "action", "name": {"a": 1}}', "missing_name"),
    ('{"type": "action", "name": "ad"}', "unknown_action"),
    ('{"type": "action", "name": "hidden"}', "unknown_action"),
    ('{"type": "hidden"}', "unknown_action"),
    ('{"type": "action", "name": "off"}', "disabled_action"),
    ('{"type": "action", "name": "web_search"}', "disabled_action"),
    ('{"type": "action", "name": "search"}', "disabled_action"),
    ('{"type": "action", "name": "add", "args": [1]}', "args_not_object"),
    ('{"type": "action", "name": "add", "args": 5}', "args_not_object"),
    ('{"type": "action", "name": "add", "args": "a=1"}', "args_not_object"),
    ('{"type": "action", "name": "add", "args": "\\"{}\\""}', "args_not_object"),
    ('{"type": "final"}', "missing_answer"),
    ('{"type": "final", "answer": " "}', "missing_answer"),
    ('{"type": "final", "answer": ["x"]}', "missing_answer"),
    ('{"type": "clarify", "question": ""}', "missing_question"),
    ('{"type": "ask_clarification", "args": {"question": 5}}', "missing_question"),
    ('{"type": "plan"}', "empty_plan"),
    ('{"type": "plan", "actions": []}', "empty_plan"),
    ('{"type": "plan", "actions": "add"}', "empty_plan"),
    ('{"type": "plan", "actions": {"name": "add"}}', "empty_plan"),
    ('{"type": "plan", "actions": [{"type": "plan", "actions": []}]}', "nested_plan"),
    ('{"type": "plan", "actions": [{"actions": [{"name": "add"}]}]}', "nested_plan"),
    ('{"type": "plan", "actions": [{"type": "action", "name": "functions.plan"}]}', "nested_plan"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED, ids=lambda value: value[:50])
def test_refusals(reader: tuple[Surface, RunState], text: str, reason: str) -> None:
    with pytest.raises(InvalidDecision) as caught:
        read_envelope_reply(*reader, text)
    assert caught.value.reason == reason
    assert caught.value.message


@pytest.mark.parametrize(("named", "near"), [("ad", "add"), ("sum-up", ""), ("off", ""), ("OFF", "")])
def test_a_wrong_name_is_answered_with_the_right_ones(reader: tuple[Surface, RunState], named: str, near: str) -> None:
    with pytest.raises(InvalidDecision) as caught:
        read_envelope_reply(*reader, json.dumps({"type": "action", "name": named}))
    assert "valid names: " in caught.value.message
    valid = caught.value.message.rpartition("valid names: ")[2].split(", ")
    assert "add" in valid
    assert not {"off", "hidden", "denied"} & set(valid)
    assert near in caught.value.message


def test_a_denied_action_is_a_decision(reader: tuple[Surface, RunState]) -> None:
    decision: Any = read_envelope_reply(*reader, '{"type":"denied"}').decision
    assert decision.call.action_name == "denied"


#: plan item -> its type, where it is no action
NO_ACTIONS: list[Any] = [
    {"type": "final", "answer": "x"},
    {"answer": "x"},
    {"type": "clarify", "question": "x"},
    {"type": "finalize"},
    {"type": "action"},
    {"type": "action", "name": "final_answer", "args": {"answer": "x"}},
    "add",
    None,
    5,
    [],
]


@pytest.mark.parametrize("item", NO_ACTIONS, ids=json.dumps)
def test_items_that_are_no_actions_are_kept_for_validation(reader: tuple[Surface, RunState], item: Any) -> None:
    decision: Any = read_envelope_reply(*reader, json.dumps({"type": "plan", "actions": [CALL, item]})).decision
    assert decision.actions[0].item_type is None
    assert decision.actions[1].item_type


@pytest.mark.parametrize(
    ("value", "args", "fault"),
    [
        (None, {}, False),
        ("", {}, False),
        ("null", {}, False),
        ({"a": 1}, {"a": 1}, False),
        ('{"a": 1}', {"a": 1}, False),
        ('{"a": 1,}', None, True),
        ("[1]", None, True),
        ([1], None, True),
        (5, None, True),
        (True, None, True),
        ('"x"', None, True),
        ('{"a": NaN}', None, True),
    ],
)
def test_arguments(value: Any, args: dict[str, Any] | None, fault: bool) -> None:
    read, why = read_args(value)
    assert read == args
    assert bool(why) == fault
