"""Workspace paths: which are valid, and their one spelling."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.workspace.paths import PathInvalid, workspace_path


@pytest.mark.parametrize(
    "path",
    [
        "a.md",
        "diary/today.md",
        "a/b/c",
        ".hidden",
        "a..b",
        "...",
        "潮汐/日志.md",
        "with space.md",
        "a.md ",
        "c:x",
        "é.md",
    ],
)
def test_valid(path: str) -> None:
    assert workspace_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "  ",
        "/a.md",
        "//a.md",
        "../a.md",
        "a/../b.md",
        "..",
        ".",
        "./a.md",
        "a/./b",
        "a//b",
        "a/",
        "a\\b.md",
        "..\\a.md",
        "a\n.md",
        "a\x00.md",
        "a\x7f.md",
        "a\u0085b",
        "a\u2028b",
        "a\ud800b",
        None,
        3,
        ["a.md"],
    ],
)
def test_invalid(path: object) -> None:
    with pytest.raises(PathInvalid):
        workspace_path(path)


def test_two_spellings_of_one_name_are_one_path() -> None:
    decomposed = unicodedata.normalize("NFD", "café/naïve.md")
    assert decomposed != "café/naïve.md"
    assert workspace_path(decomposed) == "café/naïve.md"


@given(st.text())
def test_what_is_valid_stays_as_it_is(text: str) -> None:
    try:
        path = workspace_path(text)
    except PathInvalid:
        return
    assert workspace_path(path) == path
    assert not set(path.split("/")) & {"", ".", ".."}
