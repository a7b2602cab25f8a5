"""Every scenario of the project's copies on CPython, one test each; and whole files inside Pyodide in Chromium."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.conformance import report
from tests.conformance.chromium import DIST
from tests.conformance.runner import HERE, VECTORS, contested, judge

#: files that are played inside Pyodide as well
IN_PYODIDE = ("example", "decision", "action-args", "action-policy", "plan", "capability")

#: scenarios that do not hold yet, and which work they wait for
OPEN: dict[str, str] = json.loads((HERE / "open.json").read_text(encoding="utf-8"))

SCENARIOS = [scenario for file in sorted(VECTORS.glob("*.jsonl")) for scenario in report.lines_of(file)]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario["id"] for scenario in SCENARIOS])
def test_scenario(scenario: dict[str, Any]) -> None:
    for listed in (contested(), OPEN):
        if scenario["id"] in listed:
            pytest.skip(listed[scenario["id"]])
    (outcome,) = report.run_each([scenario], judge)
    assert outcome.failures == []


def test_listed_ids_exist() -> None:
    known = {scenario["id"] for scenario in SCENARIOS}
    assert {*contested(), *OPEN} <= known


def test_the_same_inside_pyodide() -> None:
    if not DIST.is_dir():
        pytest.skip("web/dist is not built (python build.py web)")
    files = [VECTORS / f"{name}.jsonl" for name in IN_PYODIDE]
    # A process of its own: Playwright's loop and those of other tests do not share a thread.
    command = [sys.executable, "-m", "tests.conformance.runner", "--pyodide", *map(str, files)]
    done = subprocess.run(command, cwd=HERE.parent.parent, capture_output=True, text=True, timeout=600, check=False)
    failed = [
        line for line in done.stdout.splitlines() if line.startswith("FAIL ") and line.split()[1][:-1] not in OPEN
    ]
    assert failed == [], done.stderr
    assert " passed, " in done.stdout, done.stderr
