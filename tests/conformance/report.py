"""What both runners share: which lines of which files to run, one outcome after another, the lines they print.

Owns the form of the output (FORMAT.md, Running) and the guard against a hanging test. Knows nothing of scenarios.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GUARD_SECONDS = 5.0
"""Real time after which a scenario or case has hung; it takes milliseconds."""


@dataclass
class Outcome:
    """How one went. `failures` empty is a pass; `skipped` is the word that is printed where it was not run.

    `detail` are the lines that help to find a failure's cause.
    """

    id: str
    failures: list[str] = field(default_factory=list)
    skipped: str | None = None
    detail: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "failures": self.failures, "skipped": self.skipped, "detail": self.detail}


class Hung(BaseException):
    """The loop itself was blocked longer than the guard allows. No Exception, so that nobody swallows it."""


def arguments(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--pyodide", action="store_true", help="inside Pyodide in Chromium")
    parser.add_argument("--only", metavar="ID", action="append", help="this id alone; may be given again")
    parser.add_argument("--area", metavar="AREA", action="append", help="this area alone; may be given again")
    parser.add_argument("-v", "--verbose", action="store_true", help="every failure, and what the first one saw")
    return parser


def select(files: Iterable[Path], only: list[str] | None, area: list[str] | None) -> list[dict[str, Any]]:
    """The lines of the files that are asked for, as JSON."""
    return [
        item
        for file in files
        for item in lines_of(file)
        if (not only or item["id"] in only) and (not area or item["area"] in area)
    ]


def lines_of(file: Path) -> list[dict[str, Any]]:
    # By line feeds alone: a JSON string may hold what else splitlines() takes for the end of a line.
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]


def run_each(
    items: Iterable[dict[str, Any]], judge: Callable[[dict[str, Any]], Awaitable[Outcome]]
) -> Iterator[Outcome]:
    """The outcome of each, on an event loop of its own; a crash or a hang is a failure of that one alone."""
    for item in items:
        try:
            with _alarm(2 * GUARD_SECONDS):
                yield asyncio.run(guarded(item, judge))
        except Hung:
            yield Outcome(item["id"], [f"hung: the event loop was blocked for {2 * GUARD_SECONDS:.0f} s"])


async def guarded(item: dict[str, Any], judge: Callable[[dict[str, Any]], Awaitable[Outcome]]) -> Outcome:
    """The outcome, whatever happens: an exception or a hang is a failure."""
    try:
        return await asyncio.wait_for(judge(item), GUARD_SECONDS)
    except TimeoutError:
        return Outcome(item["id"], [f"hung: nothing more happened within {GUARD_SECONDS:.0f} s"])
    except Exception as error:
        return Outcome(item["id"], [f"crashed: {type(error).__name__}: {error}"])


def report(outcomes: Iterable[Outcome], *, verbose: bool) -> int:
    """Print a line per failure and the count; the exit code."""
    passed = failed = 0
    shown = False
    for outcome in outcomes:
        if outcome.skipped is not None:
            print(f"{outcome.skipped} {outcome.id}", flush=True)
            continue
        if not outcome.failures:
            passed += 1
            continue
        failed += 1
        print(f"FAIL {outcome.id}: {_one_line(outcome.failures[0])}", flush=True)
        if verbose:
            for failure in outcome.failures[1:]:
                print(f"     {_one_line(failure)}")
            if outcome.detail and not shown:
                shown = True
                print("\n".join(f"     {_one_line(line)}" for line in outcome.detail))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def _one_line(text: str) -> str:
    """The text on one line, printable whatever came: a lone surrogate cannot be encoded."""
    return text.replace("\r", "\\r").replace("\n", "\\n").encode("utf-8", "backslashreplace").decode()


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise Hung in a block whose event loop is stuck; where signals cannot be had, do nothing."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
