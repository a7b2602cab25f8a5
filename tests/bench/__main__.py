"""python -m tests.bench [--measure M1 ...] [--quick]: runs the measures, 1 as exit code when a reach is missed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from build_tasks.steps import ROOT, TaskError, say, step
from tests.bench import report
from tests.bench.figures import Finding
from tests.bench.measures import MEASURES
from tests.bench.session import BUILT, Session


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    session = Session(quick=options.quick)
    findings: list[Finding] = []
    try:
        for number in options.measure or MEASURES:
            with step(f"{number} {MEASURES[number].title}"):
                findings += MEASURES[number].take(session)
    except TaskError as error:
        say(f"bench: {error}")
        return error.code
    report.write(BUILT, findings, report.facts(quick=options.quick))
    say(f"\n{report.table(findings)}\n\nwritten to {BUILT.relative_to(ROOT)}/results.{{txt,json,svg}}")
    missed = [finding for finding in findings if not finding.met]
    say(f"{len(findings) - len(missed)} of {len(findings)} within reach")
    return 1 if missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Run the benchmarks of document 5.")
    parser.add_argument("--measure", nargs="+", metavar="M", choices=MEASURES, help=f"some of {', '.join(MEASURES)}")
    parser.add_argument("--quick", action="store_true", help="one round each: a look, not a result")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
