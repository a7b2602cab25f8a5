"""`python -m tests.conformance.runner FILE... [--pyodide | --http] [--only ID] [--area AREA] [-v]`: play scenarios.

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


async def judge_over_http(scenario: dict[str, Any]) -> Outcome:
    """As `judge`, with the runs of a server."""
    from tests.conformance import over_http
    from tests.conformance.scenario import play

    if over_http.cannot_be_asked(scenario):
        return Outcome(scenario["id"], skipped="NOT-HTTP")
    played = await play(scenario, over_http.ServedWorld(scenario))
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


def outcomes(scenarios: Iterable[dict[str, Any]], *, pyodide: bool = False, http: bool = False) -> Iterator[Outcome]:
    skip = contested()
    todo = [scenario for scenario in scenarios if scenario["id"] not in skip]
    yield from (Outcome(s["id"], skipped="CONTESTED") for s in scenarios if s["id"] in skip)
    if pyodide:
        from tests.conformance.chromium import run_in_chromium

        yield from run_in_chromium("tests.conformance.runner", todo)
    else:
        yield from report.run_each(todo, judge_over_http if http else judge)


def main(argv: Sequence[str] | None = None) -> int:
    parser = report.arguments(__doc__ or "")
    parser.add_argument("--http", action="store_true", help="through the HTTP API of a server")
    options = parser.parse_args(argv)
    if options.pyodide and options.http:
        parser.error("--http needs a server, which Pyodide cannot be: give one of the two")
    files = options.files or sorted(VECTORS.glob("*.jsonl"))
    scenarios = report.select(files, options.only, options.area)
    return report.report(outcomes(scenarios, pyodide=options.pyodide, http=options.http), verbose=options.verbose)


if __name__ == "__main__":
    sys.exit(main())
