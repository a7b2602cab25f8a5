"""The scenarios of decisions, actions and plans, played through the HTTP API."""

from __future__ import annotations

import pytest

from tests.conformance import report
from tests.conformance.over_http import cannot_be_asked
from tests.conformance.runner import VECTORS, contested, judge_over_http

FILES = ("decision", "action-args", "action-policy", "plan")
SCENARIOS = [scenario for name in FILES for scenario in report.lines_of(VECTORS / f"{name}.jsonl")]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario["id"] for scenario in SCENARIOS])
def test_a_scenario_passes_over_http(scenario: dict[str, object]) -> None:
    if scenario["id"] in contested():
        pytest.skip(contested()[str(scenario["id"])])
    if why := cannot_be_asked(scenario):
        pytest.skip(why)
    (outcome,) = report.run_each([scenario], judge_over_http)
    assert outcome.failures == []


def test_hardly_a_scenario_is_left_out() -> None:
    assert [scenario["id"] for scenario in SCENARIOS if cannot_be_asked(scenario)] == ["approval-006"]
