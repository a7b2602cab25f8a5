"""What judges the tree: the static checks, the tests, the benchmarks."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from build_tasks.copies import surface_is_current
from build_tasks.environment import WEB, ensure_chromium, ensure_postgres, program, setup
from build_tasks.products import web
from build_tasks.steps import Command, TaskError, say, stream

PYTHON_SOURCES = ("agrun_wasm", "agrun_host", "build.py", "build_tasks")


def check() -> None:
    """ruff, mypy and the page's own check; all run, any failure fails."""
    setup("dev")
    failed = [name for name, command in _checks() if not _passes(name, command)]
    if not surface_is_current():
        failed.append("docs/surface.md")
    if failed:
        raise TaskError(f"not clean: {', '.join(failed)}")
    say("all checks are clean")


def test(arguments: Sequence[str]) -> int:
    """Set up what the tests need, build the page, run pytest; its exit code.

    All of them in two processes, a file in one: most of the time goes into browsers and servers that wait for others.
    """
    setup("dev")
    ensure_chromium()
    ensure_postgres()
    web()
    say("==> Tests")
    colour = ["--color=yes"] if sys.stdout.isatty() else []
    chosen = arguments or ["-n", "2", "--dist", "loadfile"]
    return stream([program("python"), "-m", "pytest", *colour, *chosen])


def bench(arguments: Sequence[str]) -> int:
    """Run tests/bench, which keeps its peers in .build/bench-venv; its exit code."""
    setup("dev")
    web()
    say("==> Benchmarks")
    return stream([program("python"), "-m", "tests.bench", *arguments])


def _checks() -> list[tuple[str, Command]]:
    python = program("python")
    checks: list[tuple[str, Command]] = [
        ("ruff check", [python, "-m", "ruff", "check", "."]),
        ("ruff format", [python, "-m", "ruff", "format", "--check", "."]),
        ("mypy", [python, "-m", "mypy", *PYTHON_SOURCES]),
    ]
    manifest = WEB / "package.json"
    if manifest.exists() and "check" in json.loads(manifest.read_text(encoding="utf-8")).get("scripts", {}):
        checks.append(("npm run check", ["npm", "--prefix", WEB, "run", "check"]))
    return checks


def _passes(name: str, command: Command) -> bool:
    say(f"==> {name}")
    return stream(command) == 0
