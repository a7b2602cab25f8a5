"""reasoning: what counts as said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.text.reasoning import has_reasoning_tag, without_reasoning

IN_STRING = '{"answer": "Open with <think>, close with </think>."}'

SPOKEN: list[tuple[str, str, bool]] = [
    ("<think>a</think>b", "b", False),
    ("<THINK >a</Think\n>b", "b", False),
    ("a<think>b</think>c<think>d</think>e", "ace", False),
    ("a</think>b", "b", False),
    ("a</think>b</think>c", "c", False),
    ("<think>a<think>b</think>c</think>d", "d", False),
    ('draft {"type":"final"} no</think>b', "b", False),
    ('<think>{"a": "x</think>{"b": 1}', '{"b": 1}', False),
    ('I could {"type": then no</think>{"b": 1}', '{"b": 1}', False),
    (IN_STRING, IN_STRING, False),
    (IN_STRING + " Done.", IN_STRING + " Done.", False),
    ("<think>x</think>" + IN_STRING, IN_STRING, False),
    ('{"answer": "say </think> and', '{"answer": "say </think> and', False),
    ("<think>still busy", "", True),
    ('<think>maybe {"a": 1}? Or', "", True),
    ("b<think>still busy", "b", True),
    ('<think>{"a": 1}', '{"a": 1}', False),
    ("<thinking>a</thinking>", "<thinking>a</thinking>", False),
    ("a <b> c", "a <b> c", False),
]


@pytest.mark.parametrize(("text", "spoken", "is_open"), SPOKEN, ids=range(len(SPOKEN)))
def test_without_reasoning(text: str, spoken: str, is_open: bool) -> None:
    result = without_reasoning(text)
    assert (result.text, result.is_open) == (spoken, is_open)


def test_many_braces_stay_cheap() -> None:
    assert without_reasoning('{"a":' * 20000 + "</think>b").text == "b"


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "a", '{"k": "v"}', '{"', '"}', " ", "\n"]), max_size=12).map(
        "".join
    )
)
def test_text_without_tags_is_untouched_and_no_lone_closing_tag_is_left(text: str) -> None:
    result = without_reasoning(text)
    if not has_reasoning_tag(text):
        assert result.text == text
    assert len(result.text) <= len(text)
