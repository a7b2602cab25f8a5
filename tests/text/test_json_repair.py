"""json_repair: which letters are repaired, and when a text counts as cut."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.text.json_repair import balanced_end, ends_inside, parse_repaired
from agrun_wasm.text.strict_json import JsonTextError

REPAIRED: list[tuple[str, Any, tuple[str, ...]]] = [
    ('{"a": 1}', {"a": 1}, ()),
    ('{"a": [1, 2,],}', {"a": [1, 2]}, ("trailing_comma",)),
    ('{"a": 1 ,\n}', {"a": 1}, ("trailing_comma",)),
    ('{"a": "x,]", "b": ",}",}', {"a": "x,]", "b": ",}"}, ("trailing_comma",)),
    ('{"a": "x\n\ty\r\nz"}', {"a": "x\n\ty\r\nz"}, ("raw_control",)),
    ('{"a": "\n,}",}', {"a": "\n,}"}, ("raw_control", "trailing_comma")),
    ('{"a": "q\\"\n,]"}', {"a": 'q"\n,]'}, ("raw_control",)),
    ('{"a\n": 1}', {"a\n": 1}, ("raw_control",)),
]

BROKEN: list[tuple[str, str]] = [
    ("[,]", "line 1"),
    ("{,}", "line 1"),
    ("[1,,]", "line 1"),
    ('{"a":,}', "line 1"),
    ('{"a": 1,} x', "Extra data"),
    ('"a\x07b"', "control character"),
    ('"a\\\nb"', "escape"),
    ('{"p": "\\d+"}', "escape"),
    ('{"a": NaN,}', "NaN"),
    ('{"answer": "Asked the "mayor", no reply"}', "near: "),
]


@pytest.mark.parametrize(("text", "value", "repairs"), REPAIRED, ids=range(len(REPAIRED)))
def test_repairs(text: str, value: Any, repairs: tuple[str, ...]) -> None:
    parsed = parse_repaired(text)
    assert (parsed.value, parsed.repairs) == (value, repairs)


@pytest.mark.parametrize(("text", "word"), BROKEN, ids=range(len(BROKEN)))
def test_what_has_no_free_repair_is_refused(text: str, word: str) -> None:
    with pytest.raises(JsonTextError) as caught:
        parse_repaired(text)
    assert word in caught.value.message


WHOLE = '{"type": "plan", "n": [-12.5e+3, true, false, null, {}], "s": "a\\u00e9\\n\\"}\nx", "t": [1,],}'


def test_every_proper_beginning_is_cut_and_the_whole_is_not() -> None:
    cut = [end for end in range(1, len(WHOLE)) if ends_inside(WHOLE[:end])]
    assert cut == list(range(1, len(WHOLE)))
    assert not ends_inside(WHOLE)


NOT_CUT = [
    "{a",
    '{"a" "b',
    '{"answer":"5" screen"}',
    '{"a": tru1',
    '{"dir": "E:\\logs',
    "{'a': 'b",
    "[" * 20000,
]


@pytest.mark.parametrize("text", NOT_CUT, ids=range(len(NOT_CUT)))
def test_broken_before_its_end_is_not_cut(text: str) -> None:
    assert not ends_inside(text)


BALANCED: list[tuple[str, int, int | None]] = [
    ("{}", 0, 2),
    ("x {a{b}} y", 2, 8),
    ('{"}": "\\"}"} z', 0, 12),
    ("{[}", 0, None),
    ('{"open', 0, None),
    ("{" * 20000 + "}" * 20000, 0, 40000),
]


@pytest.mark.parametrize(("text", "start", "end"), BALANCED, ids=range(len(BALANCED)))
def test_balanced_end(text: str, start: int, end: int | None) -> None:
    assert balanced_end(text, start) == end


json_objects = st.dictionaries(
    st.text(max_size=5), st.recursive(st.text() | st.integers() | st.none(), st.lists, max_leaves=5), max_size=4
)


@given(json_objects, st.data())
def test_beginnings_of_objects_are_cut(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    assert not ends_inside(text)
    end = data.draw(st.integers(min_value=1, max_value=len(text) - 1))
    assert ends_inside(text[:end])
    assert balanced_end("x" + text + "}", 1) == len(text) + 1
    assert parse_repaired(text).repairs == ()
