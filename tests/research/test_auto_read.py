"""Which candidates the runtime reads itself."""

from __future__ import annotations

from typing import Any

import pytest

from agrun_wasm.research.auto_read import auto_read_targets
from agrun_wasm.research.sources import add_read, add_search_results
from tests.research.fakes import run_state

A, B, C = ("https://bogs.example/a", "https://bogs.example/b", "https://bogs.example/c")


def ok(url: str, **more: Any) -> dict[str, Any]:
    return {"ok": True, "url": url, "title": "", **more}


def bad(url: str) -> dict[str, Any]:
    return {"ok": False, "url": url, "error": "timeout"}


@pytest.mark.parametrize(
    ("read", "limit", "targets"),
    [
        ([], 2, [A, B]),
        ([], 1, [A]),
        ([], 0, []),
        ([ok(C)], 2, []),
        ([ok("https://other.example/")], 2, [A, B]),
        ([bad(A)], 2, [B, C]),
        ([bad(A), bad(B), bad(C)], 2, [A, B]),
        ([ok(A, method="HEAD")], 2, [A, B]),
    ],
)
def test_targets(read: list[dict[str, Any]], limit: int, targets: list[str]) -> None:
    state = run_state()
    add_search_results(state.research_context, [{"title": "", "url": url, "snippet": ""} for url in (A, B, C)])
    for result in read:
        add_read(state.research_context, result)
    assert auto_read_targets(state, limit) == targets


def test_without_a_search_there_is_nothing_to_read() -> None:
    assert auto_read_targets(run_state(), 2) == []
