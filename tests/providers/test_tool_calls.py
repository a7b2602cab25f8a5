"""The assembler: the forms in which servers send calls, each with the one right outcome."""

from __future__ import annotations

from typing import Any

import pytest

from agrun_wasm.contracts.model import Message, ToolArgsDelta, ToolCall
from agrun_wasm.providers.tool_calls import INVENTED, InventedIds, ToolCalls

NEW = object()
A, B = '{"q":"oak"}', '{"q":"elm"}'


def piece(
    call_id: str | None = None, index: int | None = None, name: str | None = None, args: str = ""
) -> dict[str, Any]:
    return {"call_id": call_id, "index": index, "name": name, "args": args}


#: what the server sends, and the calls it means; NEW stands for an invented id
FORMS: dict[str, tuple[list[dict[str, Any]], list[tuple[Any, str, str]]]] = {
    "one call in pieces": (
        [piece("k", 0, "search", ""), piece(None, 0, None, '{"q":'), piece(None, 0, None, '"oak"}')],
        [("k", "search", A)],
    ),
    "no index, continued by the latest": (
        [piece("k1", None, "a", '{"q":'), piece(args='"oak"}'), piece("k2", None, "b"), piece(args=B)],
        [("k1", "a", A), ("k2", "b", B)],
    ),
    "one index for all": ([piece("k1", 0, "a", A), piece("k2", 0, "a", B)], [("k1", "a", A), ("k2", "a", B)]),
    "one index for all, in pieces": (
        [piece("k1", 0, "a"), piece(None, 0, None, A), piece("k2", 0, "b"), piece(None, 0, None, B)],
        [("k1", "a", A), ("k2", "b", B)],
    ),
    "interleaved, second first": (
        [
            piece("k2", 1, "b", '{"q":'),
            piece("k1", 0, "a", '{"q":'),
            piece(None, 1, None, '"elm"}'),
            piece(None, 0, None, '"oak"}'),
        ],
        [("k1", "a", A), ("k2", "b", B)],
    ),
    "interleaved by id, index missing": (
        [
            piece("k1", None, "a", '{"q":'),
            piece("k2", None, "b", '{"q":'),
            piece("k1", None, None, '"oak"}'),
            piece("k2", None, None, '"elm"}'),
        ],
        [("k1", "a", A), ("k2", "b", B)],
    ),
    "a known id wins over the index": (
        [piece("k1", 0, "a", '{"q":'), piece("k2", 1, "b", B), piece("k1", 1, None, '"oak"}')],
        [("k1", "a", A), ("k2", "b", B)],
    ),
    "name and id in every piece": (
        [piece("k", 0, "a"), piece("k", 0, "a", '{"q":'), piece("k", 0, "a", '"oak"}'), piece("k", 0, "a")],
        [("k", "a", A)],
    ),
    "a name in pieces": (
        [piece("k", 0, "web_"), piece(None, 0, "search"), piece(None, 0, None, A)],
        [("k", "web_search", A)],
    ),
    "a name in pieces that repeat a letter": ([piece("k", 0, "ad"), piece(None, 0, "d", A)], [("k", "add", A)]),
    "a growing name": ([piece("k", 0, "web"), piece("k", 0, "web_search", A)], [("k", "web_search", A)]),
    "an empty id in continuations": (
        [piece("k", 0, "a", '{"q":'), piece("", 0, "", '"oak"}')],
        [("k", "a", A)],
    ),
    "no ids at all": ([piece(None, 0, "a", A), piece(None, 1, "b", B)], [(NEW, "a", A), (NEW, "b", B)]),
    "no ids, no index": ([piece(None, None, "a", A), piece(None, None, "a", B)], [(NEW, "a", A), (NEW, "a", B)]),
    "no ids, one index": ([piece(None, 0, "a", A), piece(None, 0, "b", B)], [(NEW, "a", A), (NEW, "b", B)]),
    "an id that comes late": ([piece(None, 0, "a"), piece("k", 0, None, A)], [("k", "a", A)]),
    "an index only in continuations": ([piece("k", None, "a"), piece(None, 0, None, A)], [("k", "a", A)]),
    "an index only at first": ([piece("k", 0, "a"), piece(None, None, None, A)], [("k", "a", A)]),
    "another id in each piece": (
        [piece("k1", 0, "a", '{"q":'), piece("k2", 0, None, '"oa'), piece("k3", 0, None, 'k"}')],
        [("k1", "a", A)],
    ),
    "one id for two whole calls": ([piece("k", 0, "a", A), piece("k", 1, "a", B)], [("k", "a", A), (NEW, "a", B)]),
    "a placeholder before the arguments": ([piece("k", 0, "a", "{}"), piece(None, 0, None, A)], [("k", "a", A)]),
    "a placeholder, name repeated": ([piece("k", 0, "a", "{}"), piece("k", 0, "a", A)], [("k", "a", A)]),
    "whole arguments sent twice": ([piece("k", 0, "a", A), piece(None, 0, None, A)], [("k", "a", A)]),
    "no arguments": ([piece("k1", 0, "a"), piece("k2", 1, "a", "")], [("k1", "a", ""), ("k2", "a", "")]),
    "empty object": ([piece("k", 0, "a", "{}")], [("k", "a", "{}")]),
    "cut arguments stay cut": ([piece("k", 0, "a", '{"q":"# Long te')], [("k", "a", '{"q":"# Long te')]),
    "halves of a character": (
        [piece("k", 0, "a", '{"q":"\ud83c'), piece(None, 0, None, '\udf0a"}')],
        [("k", "a", '{"q":"🌊"}')],
    ),
    "reused indexes keep the order of arrival": (
        [piece("k1", 0, "a", A), piece("k2", 1, "b", B), piece("k3", 0, "c", B)],
        [("k1", "a", A), ("k2", "b", B), ("k3", "c", B)],
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_form(form: str) -> None:
    pieces, expected = FORMS[form]
    calls = ToolCalls()
    for one in pieces:
        calls.feed(**one)
    done = [event.call for event in calls.done()]
    assert [(call.name, call.args_text) for call in done] == [(name, args) for _, name, args in expected]
    for call, (expected_id, _, _) in zip(done, expected, strict=True):
        assert call.id.startswith(INVENTED) if expected_id is NEW else call.id == expected_id
    assert len({call.id for call in done}) == len(done)


def test_calls_of_one_list_without_index_or_id_are_different_calls() -> None:
    calls = ToolCalls()
    calls.feed(name="a", opens=True)
    calls.feed(name="b", opens=True)
    assert [event.call.name for event in calls.done()] == ["a", "b"]


def test_pieces_are_told_live() -> None:
    calls = ToolCalls()
    _, nothing = calls.feed(call_id="k", index=0, name="a")
    _, event = calls.feed(index=0, args="{}")
    assert nothing is None
    assert event == ToolArgsDelta("k", "a", "{}")


def test_whole_arguments_replace_pieces_but_nothing_replaces_nothing() -> None:
    calls = ToolCalls()
    call, _ = calls.feed(call_id="k", name="a", args='{"q":"o')
    calls.set_args(call, "")
    calls.set_args(call, A)
    late, _ = calls.feed(call_id="k2", name="b")
    assert calls.set_args(late, B) == ToolArgsDelta("k2", "b", B)
    assert [event.call.args_text for event in calls.done()] == [A, B]


def test_invented_ids_are_new_in_the_run_and_the_same_in_a_replay() -> None:
    first = InventedIds([Message(role="user", text="x", cycle=2)])
    given = first.new()
    assert InventedIds([Message(role="user", text="x", cycle=2)]).new() == given
    assert first.new() != given
    shown = Message(role="assistant", tool_calls=[ToolCall(id=given, name="a")], cycle=2)
    assert InventedIds([shown]).new() != given
