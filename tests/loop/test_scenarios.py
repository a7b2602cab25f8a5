"""Scenarios in the form of tests/conformance: the combinations that the given ones do not try, one test each.

Batches with approvals and refusals, every stop at every kind of event, budgets that end in the middle, retries of every
purpose, plans with every problem. `python -m tests.conformance.runner tests/loop/scenarios/*.jsonl` plays them too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conformance import report
from tests.conformance.check import lint
from tests.conformance.runner import judge

FILES = sorted((Path(__file__).parent / "scenarios").glob("*.jsonl"))
SCENARIOS = [scenario for file in FILES for scenario in report.lines_of(file)]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario["id"] for scenario in SCENARIOS])
def test_scenario(scenario: dict[str, Any]) -> None:
    (outcome,) = report.run_each([scenario], judge)
    assert outcome.failures == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_files_are_well_formed(file: Path) -> None:
    assert lint(file.read_text(encoding="utf-8").splitlines()) == []
