"""The archive: lossless, only for long runs, the same however often it is made, and closed to what is no chunk."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agrun_wasm import StateInvalid
from agrun_wasm.contracts.events import RunEvent
from agrun_wasm.contracts.request import RunInput
from agrun_wasm.contracts.result import CycleRecord
from agrun_wasm.contracts.state import Budgets, RunState, ToolRecord
from agrun_wasm.session.archive import CHUNK, LISTS
from agrun_wasm.session.saved import Saver, load_state, save_state


def state_with(counts: list[tuple[int, int]], value: Any = "x") -> RunState:
    """A run with so many steps and outputs in each cycle, and a record for each."""
    state = RunState(run_id="run-1", session_id="s", request=RunInput(prompt="hi"), budgets=Budgets(steps_left=1))
    add_cycles(state, counts, value)
    return state


def add_cycles(state: RunState, counts: list[tuple[int, int]], value: Any = "x") -> None:
    for cycle, (steps, outputs) in enumerate(counts, state.cycles_started + 1):
        for n in range(steps):
            detail = {"n": n, "v": value}
            step = RunEvent(
                seq=len(state.steps), type="x", run_id="run-1", cycle=cycle - (n == 0), at=1.5, detail=detail
            )
            state.steps.append(step)
        state.steps.sort(key=lambda step: step.cycle)
        state.tool_context.history += [
            ToolRecord(action_name="a", output=[n, value], cycle=cycle) for n in range(outputs)
        ]
        state.cycles.append(CycleRecord(cycle=cycle, observe={"v": value}, orient={}, decide={}, act={}, evaluate={}))
        state.research_context.read_sources += [{"n": n, "text": value} for n in range(outputs)]
        state.research_context.search_results += [{"n": n, "text": value} for n in range(steps)]
        state.cycles_started = cycle


counts = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=5).flatmap(
    lambda some: st.integers(0, 40).map(lambda times: (some or [(1, 1)]) * times)
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None, max_examples=60)
@given(counts, values)
def test_export_then_import_is_identity(wanted: list[tuple[int, int]], value: Any) -> None:
    state = state_with(wanted, value)
    saved = save_state(state)
    text = json.dumps(saved)
    again = load_state(text)
    assert again.to_json() == state.to_json()
    assert json.dumps(save_state(again)) == text
    assert len(saved["cycles"]) + len(saved.get("archive", [])) * CHUNK == len(wanted)
    assert len(saved["cycles"]) < 2 * CHUNK


def test_a_run_of_ordinary_length_has_no_archive() -> None:
    assert "archive" not in save_state(state_with([(5, 1)] * (2 * CHUNK - 1)))
    assert len(save_state(state_with([(5, 1)] * 2 * CHUNK))["archive"]) == 1


def test_a_chunk_is_made_once() -> None:
    """What is saved later holds the very chunks of what was saved before."""
    state = state_with([(2, 1)] * 70)
    saver = Saver()
    first = saver.save(state)["archive"]
    add_cycles(state, [(2, 1)] * 40)
    second = saver.save(state)["archive"]
    assert second[0] is first[0]
    assert (len(first), len(second)) == (1, 2), "what was given before does not grow"


def test_what_was_saved_is_the_runs_no_more() -> None:
    state = state_with([(2, 1)], {"a": [1]})
    state.research_context.read_sources = [{"text": {"a": [1]}}]
    before = state.to_json()
    saved = save_state(state)
    saved["steps"][0]["detail"]["v"]["a"].append(2)
    saved["researchContext"]["readSources"][0]["text"]["a"].append(2)
    saved["toolContext"]["history"][0]["output"][1]["a"].append(2)
    assert state.to_json() == before


def packed(value: Any) -> str:
    return base64.b64encode(zlib.compress(json.dumps(value).encode())).decode()


EMPTY = {name: [] for name in LISTS}
#: what may stand in an archive and is none -> words of the error
BAD: list[tuple[Any, str]] = [
    ({}, "must be a list"),
    ("x", "must be a list"),
    ([5], "archive[0]"),
    (["?"], "archive[0]"),
    ([base64.b64encode(b"no zlib").decode()], "archive[0]"),
    ([packed({"a": 1})], "32 cycles"),
    ([packed([])], "32 cycles"),
    ([packed([EMPTY] * 32), packed([EMPTY] * 31)], "archive[1]"),
    ([packed([1] * 32)], "32 cycles"),
    ([packed([{**EMPTY, "steps": None}] * 32)], "32 cycles"),
    ([packed([EMPTY] * 32)[:-8]], "archive[0]"),
    ([packed([{**EMPTY, "cycles": [{"cycle": "one"}]}] * 32)], "cycles[0]"),
    ([packed("x" * 70_000_000)], "too large"),
]


@pytest.mark.parametrize(("archive", "words"), BAD, ids=range(len(BAD)))
def test_what_is_no_archive_is_refused_by_name(archive: Any, words: str) -> None:
    with pytest.raises(StateInvalid) as caught:
        load_state({**save_state(state_with([])), "archive": archive})
    assert words in str(caught.value)


def test_a_list_that_is_missing_beside_its_archive_is_named() -> None:
    saved = save_state(state_with([(1, 1)] * 70))
    del saved["toolContext"]
    with pytest.raises(StateInvalid, match=r"toolContext\.history"):
        load_state(saved)
