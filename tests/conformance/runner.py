"""`python -m tests.conformance.runner FILE... [--pyodide] [--only ID] [--area AREA] [-v]`: play scenarios.

A line per failure, `FAIL <id>: <first failure>`, and last `N passed, N failed`; exit 1 if any failed. Contested ids are
listed and not run. Default files: the project's copies in tests/conformance/vectors.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.conformance import report
from tests.conformance.report import Outcome

HERE = Path(__file__).resolve().parent
VECTORS = HERE / "vectors"
CONTESTED = HERE / "contested.json"


async def judge(scenario: dict[str, Any]) -> Outcome:
    """A scenario's outcome; the detail is every event of its stages."""
    # The product is imported late: a fault in its import is then a failure of scenarios, with its words.
    from tests.conformance.scenario import play

    played = await play(scenario)
    return Outcome(scenario["id"], played.failures, detail=_events(played.records) if played.failures else [])


def _events(records: list[dict[str, Any]]) -> list[str]:
    """A line per event, and what a stage raised with its trace."""
    lines = []
    for number, record in enumerate(records):
        lines += [
            f"stage {number}: {e['type']} {json.dumps(e['detail'], ensure_ascii=False)}" for e in record["events"]
        ]
        if raised := record["raised"]:
            lines += [
                f"stage {number}: raised {raised['type']} {raised['code']}: {raised['message']}",
                *raised["trace"],
            ]
    return lines


def contested() -> dict[str, str]:
    """Ids of scenarios that contradict document 2, and why."""
    return dict(json.loads(CONTESTED.read_text(encoding="utf-8")))


def outcomes(scenarios: Iterable[dict[str, Any]], *, pyodide: bool = False) -> Iterator[Outcome]:
    skip = contested()
    todo = [scenario for scenario in scenarios if scenario["id"] not in skip]
    yield from (Outcome(s["id"], skipped="CONTESTED") for s in scenarios if s["id"] in skip)
    if pyodide:
        from tests.conformance.chromium import run_in_chromium

        yield from run_in_chromium("tests.conformance.runner", todo)
    else:
        yield from report.run_each(todo, judge)


def main(argv: Sequence[str] | None = None) -> int:
    options = report.arguments(__doc__ or "").parse_args(argv)
    files = options.files or sorted(VECTORS.glob("*.jsonl"))
    scenarios = report.select(files, options.only, options.area)
    return report.report(outcomes(scenarios, pyodide=options.pyodide), verbose=options.verbose)


if __name__ == "__main__":
    sys.exit(main())
