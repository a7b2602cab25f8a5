"""nearest: misspellings as a table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.contracts.naming import nearest

KNOWN = ["maxSteps", "required", "reason", "reasoning", "mix_paint", "conversation", "web_search", "type", "Provider"]

MEANT: list[tuple[str, str | None]] = [
    ("maxSetps", "maxSteps"),
    ("max_steps", "maxSteps"),
    ("requird", "required"),
    ("resaon", "reason"),
    ("mix_pant", "mix_paint"),
    ("converstion", "conversation"),
    ("WebSearch", "web_search"),
    ("provider", "Provider"),
    ("Typ", "type"),
    ("zzz", None),
    ("", None),
    ("maxSteps" * 5000, None),
]


@pytest.mark.parametrize(("name", "meant"), MEANT, ids=range(len(MEANT)))
def test_nearest(name: str, meant: str | None) -> None:
    assert nearest(name, KNOWN) == meant


def test_no_known_names() -> None:
    assert nearest("a", []) is None


def test_of_names_that_differ_in_case_only_the_first_wins() -> None:
    assert nearest("ADD", ["add", "Add"]) == "add"


@given(st.text(max_size=30), st.lists(st.text(min_size=1, max_size=30), max_size=8))
def test_the_answer_is_a_known_name_and_a_known_name_is_answered(name: str, known: list[str]) -> None:
    answer = nearest(name, known)
    assert answer is None or answer in known
    assert all(nearest(other, known) is not None for other in known)
