"""strict_json: what is refused and how it is named, what stays as json.loads has it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.text.strict_json import MAX_DEPTH, JsonTextError, nesting_depth, parse_json, parse_json_noting

ACCEPTED: list[tuple[str, Any]] = [
    ('{"a": 1}', {"a": 1}),
    (" [1, 2.5, true, null] \n", [1, 2.5, True, None]),
    ('{"id": 9007199254740993}', {"id": 9007199254740993}),
    ('"\\ud83d\\udc1f"', "🐟"),
    ('"\\ud83d!"', "\ufffd!"),
    ('"\\udc1f\\ud83d"', "\ufffd\ufffd"),
    ('"\ud83d"', "\ufffd"),
    ('"\ud83d\udc1f"', "🐟"),
    ('{"k\\udfff": ["\\ud800"]}', {"k\ufffd": ["\ufffd"]}),
    ('"\\\\ud83d"', "\\ud83d"),
    ('{"a": 1, "a": 2}', {"a": 2}),
    ('"' + "7" * 5000 + '"', "7" * 5000),
    ("[" * MAX_DEPTH + "]" * MAX_DEPTH, json.loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)),
    ("[" + "{}," * 200 + "{}]", [{}] * 201),
    ('["' + "[" * 20000 + '"]', ["[" * 20000]),
    ("9" * 4300, 10**4300 - 1),
    ("-" + "9" * 4300, 1 - 10**4300),
]

REFUSED: list[tuple[str, str]] = [
    ('{"a": NaN}', "NaN"),
    ("[Infinity]", "Infinity"),
    ("[-Infinity]", "-Infinity"),
    ("[1e999]", "number"),
    ("[-1e999]", "number"),
    ("[" + "9" * 5000 + ".5]", "number"),
    ("9" * 4301, "number"),
    ("-" + "9" * 5000, "number"),
    ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "depth"),
    ("[" * 20000 + "]" * 20000, "depth"),
    ('{"a":' * 20000, "depth"),
    ('"\\d+"', "escape"),
    ('"\\u12g4"', "escape"),
    ('{"a" 1}', "line 1 column 6"),
    ('{"a": 1,}', "line 1"),
    ('"a\nb"', "control character"),
    ("{'a': 1}", "double quotes"),
    ("", "Expecting value"),
    ("\ufeff{}", "Expecting value"),
    ("{} {}", "Extra data"),
    ('"open', "Unterminated"),
]


@pytest.mark.parametrize(("text", "value"), ACCEPTED, ids=range(len(ACCEPTED)))
def test_accepts(text: str, value: Any) -> None:
    assert parse_json(text) == value
    assert parse_json_noting(text)[0] == value


@pytest.mark.parametrize(("text", "word"), REFUSED, ids=range(len(REFUSED)))
def test_refuses_naming_the_fault(text: str, word: str) -> None:
    for parse in (parse_json, parse_json_noting):
        with pytest.raises(JsonTextError) as caught:
            parse(text)
        assert word in caught.value.message


def test_duplicate_keys_are_named_once_each() -> None:
    value, names = parse_json_noting('{"name": 1, "name": 2, "in": {"x": 1, "x": 1, "x": 3}, "name": 4}')
    assert value == {"name": 4, "in": {"x": 3}}
    assert names == ["x", "name"]
    assert parse_json_noting('{"a": {"b": 1}, "b": 1}')[1] == []


def test_depth_ignores_brackets_in_strings() -> None:
    assert nesting_depth('{"a": "[[[\\"[[", "b": [{}]}') == 3
    assert nesting_depth('{"open": "[[[') == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values, st.booleans(), st.sampled_from([None, 2]))
def test_agrees_with_json_loads(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert parse_json(text) == json.loads(text)
    assert parse_json_noting(text) == (json.loads(text), [])


@given(st.text(alphabet='{}[]":,\\u019deD-. \ud83dNnul\n', max_size=60))
def test_any_text_parses_encodable_or_raises_json_text_error(text: str) -> None:
    try:
        value = parse_json(text)
    except JsonTextError:
        return
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
