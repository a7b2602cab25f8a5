"""Every case of the project's copy on CPython, one test each; and those of a page inside Pyodide in Chromium."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tests.cases.runner import CASES, judge
from tests.conformance import report
from tests.conformance.chromium import DIST

ALL = report.lines_of(CASES)


@pytest.mark.parametrize("case", ALL, ids=[case["id"] for case in ALL])
def test_case(case: dict[str, Any]) -> None:
    (outcome,) = report.run_each([case], judge)
    if outcome.skipped:
        pytest.skip(f"{outcome.skipped}: tried by test_cases_inside_pyodide")
    assert outcome.failures == [], outcome.detail


def test_cases_inside_pyodide() -> None:
    if not DIST.is_dir():
        pytest.skip("web/dist is not built (python build.py web)")
    command = [sys.executable, "-m", "tests.cases.runner", "--pyodide", str(CASES)]
    done = subprocess.run(
        command, cwd=CASES.parent.parent.parent, capture_output=True, text=True, timeout=600, check=False
    )
    assert "FAIL" not in done.stdout
    assert "NEEDS-BROWSER" not in done.stdout
    assert " passed, 0 failed" in done.stdout, done.stderr
