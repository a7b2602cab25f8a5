"""A process that is killed (SIGKILL) at any moment of a run loses nothing of it, and nothing of it happens twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from typing import Any

import pytest

from agrun_wasm.contracts.events import STEP_TYPES
from tests.loop.killed import SCENARIOS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kill points are processes of their own, made by fork")


@cache
def told(scenario: str, moment: str) -> list[dict[str, Any]]:
    """What every kill point led to; last the run that nobody killed."""
    command = [sys.executable, "-m", "tests.loop.killed", scenario, moment]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


#: scenario -> events at which it can be killed; "one" is a run of 12 steps and 3 deltas
KILL_POINTS = {"one": 15, "two": 23, "plan": 23, "finalize": 17, "approval": 20}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_killed_between_any_two_events(scenario: str) -> None:
    *killed, whole = told(scenario, "event")
    assert len(killed) == KILL_POINTS[scenario]
    for number, run in enumerate(killed, 1):
        assert run["end"] == whole["end"], number
        assert run["turns"] == whole["turns"], number
        assert Counter(run["ran"]) == Counter(whole["ran"]), f"{number}: an action ran twice, or not at all"
        assert Counter(run["asked"]) == Counter(whole["asked"]), f"{number}: the model was asked twice"
        assert Counter(type_cycle(run)) == Counter(type_cycle(whole)), number


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_was_announced_before_a_kill_keeps_its_number(scenario: str) -> None:
    """Whoever followed the first process and goes on with the second sees every step once, up to a text: that is
    superseded and shown anew."""
    for number, run in enumerate(told(scenario, "event"), 1):
        numbered = {seq: type_ for seq, type_, _ in run["steps"]}
        assert len(numbered) == len(run["steps"]), number
        assert list(numbered) == sorted(numbered), number
        for seq, type_ in run["seen"]:
            if type_ == "text-delta":
                break
            if type_ in STEP_TYPES:
                assert numbered.get(seq) == type_, f"{number}: {type_} was {seq}, and is {numbered.get(seq)} now"


@pytest.mark.parametrize("moment", ["before-save", "after-save"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_killed_while_it_saves(scenario: str, moment: str) -> None:
    """Before a save, what has just ended is not known to have: it is done again, under the same idempotency key."""
    *killed, whole = told(scenario, moment)
    assert len(killed) >= 6
    for number, run in enumerate(killed, 1):
        assert run["end"] == whole["end"], number
        assert run["turns"] == whole["turns"], number
        assert set(run["ran"]) == set(whole["ran"]), number
        if moment == "after-save":
            assert Counter(run["ran"]) == Counter(whole["ran"]), number


def type_cycle(run: dict[str, Any]) -> list[tuple[str, int]]:
    return [(type_, cycle) for _, type_, cycle in run["steps"]]
