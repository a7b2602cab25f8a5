"""One run of the benchmarks: how many rounds, which interpreters, and the processes that are measured.

Must not know: any measure.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from build_tasks.steps import ROOT, TaskError, say
from tests.bench import peers
from tests.bench.figures import Series

BUILT = ROOT / ".build" / "bench"

#: reports to the peers' makers off; every module compiled once, also where the surroundings keep no bytecode
_SET = {
    "LANGSMITH_TRACING": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "PYTHONPYCACHEPREFIX": str(BUILT / "compiled"),
}
#: what stands in the way of that, and of 127.0.0.1
_UNSET = {"http_proxy", "https_proxy", "all_proxy", "pythondontwritebytecode"}


class Session:
    """What all measures of one run share. `series` keeps what one measure took for another that needs it too."""

    def __init__(self, *, quick: bool = False) -> None:
        self.quick = quick
        self.series: dict[tuple[str, int], Series] = {}

    def rounds(self, usual: int) -> int:
        return 1 if self.quick else usual

    @property
    def python(self) -> Path:
        """The interpreter that has agrun_wasm."""
        return Path(sys.executable)

    @cached_property
    def peers_python(self) -> Path:
        """The interpreter that has the peers; installs them when it is first asked for."""
        return peers.ensure()

    def subject(self, name: str, *arguments: str | int, python: Path | None = None) -> dict[str, Any]:
        """The figures of one run of `subjects/<name>.py`, in a process of its own."""
        command = [python or self.python, "-m", f"tests.bench.subjects.{name}", *arguments]
        figures: dict[str, Any] = json.loads(execute(command).stdout.splitlines()[-1])
        shown = ", ".join(f"{key} {value:.4g}" for key, value in figures.items())
        say(f"    {name} {' '.join(map(str, arguments))}: {shown}")
        return figures


def execute(command: list[str | int | Path]) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; raises TaskError with its last words when it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=ROOT, env=_environment(os.environ), capture_output=True, text=True)
    if done.returncode:
        raise TaskError(f"{' '.join(words[1:4])} failed:\n{done.stderr[-2000:]}")
    return done


def _environment(own: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in own.items() if name.lower() not in _UNSET}
    return {**kept, **_SET}
