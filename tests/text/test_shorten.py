"""shorten: lengths, both ends and the marker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.text.shorten import cut_middle, head, one_line

ONE_LINE: list[tuple[str, int, str]] = [
    ("", 5, ""),
    (" a\n\n b\t", 5, "a b"),
    ("abcdef", 5, "abcd…"),
    ("abcde\n", 5, "abcde"),
    ("abc", 0, "…"),
]


@pytest.mark.parametrize(("text", "limit", "line"), ONE_LINE, ids=range(len(ONE_LINE)))
def test_one_line(text: str, limit: int, line: str) -> None:
    assert one_line(text, limit) == line


def test_cut_middle_keeps_both_ends_and_states_the_full_length() -> None:
    text = "HEAD" + "x" * 5000 + "TAIL"
    cut = cut_middle(text, 200)
    assert cut.startswith("HEAD")
    assert cut.endswith("TAIL")
    assert "of 5008 characters" in cut
    assert len(cut) <= 200
    shown = int(cut.split("showing ")[1].split()[0])
    assert len(cut) - len(f"… [cut: showing {shown} of 5008 characters] …") == shown


def test_a_small_limit_still_shows_both_ends() -> None:
    assert cut_middle("abcdefghij" * 10, 8) == "ab… [cut: showing 4 of 100 characters] …ij"
    assert cut_middle("abcdefghij", 0) == "… [cut: showing 0 of 10 characters] …"


@given(st.text(), st.integers(min_value=0, max_value=300))
def test_what_fits_is_untouched_and_the_rest_is_cut(text: str, limit: int) -> None:
    cut = cut_middle(text, limit)
    assert (cut == text) if len(text) <= limit else (f"of {len(text)} characters" in cut)
    assert len(head(text, limit)) <= max(limit, 1)
    assert text.startswith(head(text, limit).removesuffix("…"))
