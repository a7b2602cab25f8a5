"""Narrowing: two blocked previews of a file in a row, until something grows."""

from __future__ import annotations

from typing import Any

import pytest

from agrun_wasm.contracts.state import LoopState
from agrun_wasm.workspace.narrowing import WITHHELD, record_growth, record_preview, withheld

OFFERED = frozenset({"workspace_append", "workspace_insert_after_section", "workspace_write", *WITHHELD})


def play(*events: Any, offered: frozenset[str] = OFFERED) -> tuple[LoopState, list[tuple[str, bool]]]:
    """The loop state and the steps (path, on) after previews `(path, blocked)` and growth `"grow"`."""
    state, steps = LoopState(), []
    for event in events:
        path = record_growth(state) if event == "grow" else record_preview(state, event[0], event[1], offered)
        if path is not None:
            steps.append((path, event != "grow"))
    return state, steps


A, B, READY = ("a.md", True), ("b.md", True), ("a.md", False)


@pytest.mark.parametrize(
    ("events", "steps"),
    [
        ([A], []),
        ([A, A], [("a.md", True)]),
        ([A, B], []),
        ([A, B, A], [("a.md", True)]),
        ([A, READY, A], []),
        ([A, READY, A, A], [("a.md", True)]),
        ([A, ("b.md", False), A], [("a.md", True)]),
        ([A, "grow", A], []),
        ([A, A, "grow"], [("a.md", True), ("a.md", False)]),
        ([A, A, "grow", A], [("a.md", True), ("a.md", False)]),
        ([A, A, "grow", A, A], [("a.md", True), ("a.md", False), ("a.md", True)]),
        (["grow"], []),
    ],
)
def test_steps(events: list[Any], steps: list[tuple[str, bool]]) -> None:
    state, told = play(*events)
    assert told == steps
    narrowed = bool(steps) and steps[-1][1]
    assert withheld(state, OFFERED) == (WITHHELD if narrowed else frozenset())
    assert LoopState.model_validate(state.to_json()) == state


@pytest.mark.parametrize("way_out", ["workspace_append", "workspace_insert_after_section"])
def test_one_way_out_is_enough(way_out: str) -> None:
    offered = WITHHELD | {way_out}
    state, steps = play(A, A, offered=offered)
    assert steps == [("a.md", True)]
    assert withheld(state, offered) == WITHHELD


def test_without_a_way_out_nothing_is_narrowed() -> None:
    offered = WITHHELD | {"workspace_write", "workspace_publish_candidate"}
    state, steps = play(A, A, A, offered=offered)
    assert steps == []
    assert withheld(state, offered) == frozenset()


def test_ways_out_that_go_later_bring_the_patches_back() -> None:
    state, _ = play(A, A)
    assert withheld(state, WITHHELD | {"workspace_write"}) == frozenset()
