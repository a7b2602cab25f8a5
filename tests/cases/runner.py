"""`python -m tests.cases.runner FILE... [--area a-envelope] [--only ID] [--pyodide] [-v]`: try cases.

A line per failure, `FAIL <id>: <first failure>`, and last `N passed, N failed`; exit 1 if any failed. A case that this
environment cannot run is listed as `NEEDS-BROWSER <id>` and counts as neither. Default: tests/cases/cases.jsonl.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.cases.expect import Actual, NeedsBrowser, failures
from tests.cases.inputs import spread
from tests.conformance import report
from tests.conformance.report import Outcome

CASES = Path(__file__).resolve().parent / "cases.jsonl"

#: area -> our module with `actual(item)` and `compare(expected, actual)`
AREAS: dict[str, str] = {
    "a-envelope": "envelope",
    "b-stream": "stream",
    "c-args": "args",
    "d-skill": "skill",
    "e-read-url": "read_url",
    "f-patch": "patch",
    "g-host": "host",
}
SLOW_SECONDS = 10.0
"""Input that grows out of hand takes minutes. The first case of a process also imports its area, on a machine that may
have other work: a second was too little for that in Pyodide."""


async def judge(case: dict[str, Any]) -> Outcome:
    """A case's outcome: each of its inputs through the product, then the expectation."""
    area = importlib.import_module(f"tests.cases.{AREAS[case['area']]}")
    actuals: list[Actual] = []
    try:
        for item in spread(case["input"]):
            began = time.perf_counter()
            actual = await area.actual(item)
            actuals.append(actual)
            if (taken := time.perf_counter() - began) > SLOW_SECONDS:
                return Outcome(case["id"], [f"took {taken:.1f} s"])
    except NeedsBrowser:
        return Outcome(case["id"], skipped="NEEDS-BROWSER")
    faults = [*failures(case["expect"], actuals, area.compare), *(f for a in actuals for f in _unsound(a))]
    return Outcome(case["id"], faults, detail=[str(actual) for actual in actuals] if faults else [])


def _unsound(actual: Actual) -> list[str]:
    """What may never be: a value or a message that is no JSON or cannot be encoded, and what an area found."""
    try:
        json.dumps([actual.value, actual.message], ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        return [f"not JSON: {error}"]
    return list(actual.unsound)


def outcomes(cases: Iterable[dict[str, Any]], *, pyodide: bool = False) -> Iterator[Outcome]:
    if pyodide:
        from tests.conformance.chromium import run_in_chromium

        return run_in_chromium("tests.cases.runner", list(cases))
    return report.run_each(cases, judge)


def main(argv: Sequence[str] | None = None) -> int:
    options = report.arguments(__doc__ or "").parse_args(argv)
    cases = report.select(options.files or [CASES], options.only, options.area)
    return report.report(outcomes(cases, pyodide=options.pyodide), verbose=options.verbose)


if __name__ == "__main__":
    sys.exit(main())
