"""One round of M5: milliseconds per model call of a scripted conversation, in our worker, in the peer's, on CPython.

All three are started and warmed up first, and stay; then they take turns. Nobody else's process time can be told in a
browser, so it is wall time on all sides, and the lowest of the turns is the round's figure.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from playwright.sync_api import BrowserContext, Worker

from build_tasks.steps import ROOT
from tests.bench.peers import PYODIDE_WHEELS
from tests.bench.subjects.conversation import WARM_UP
from tests.bench.subjects.pages import chromium, open_ready, pages
from tests.browser.serving import Site

TURNS = 5
#: the figure's name -> the page whose worker runs the script, and the script
IN_BROWSER = {"ours_ms": ("ours.html#off", "script_agrun"), "peer_ms": ("peer.html", "script_pydantic_ai")}

#: gives the milliseconds per call of one conversation of so many tool calls
Time = Callable[[int], float]


def main(cycles: int) -> dict[str, float]:
    with pages(PYODIDE_WHEELS) as (site, playwright), _cpython() as process:
        context = playwright.chromium.launch(**chromium()).new_context()
        sides = {name: _in_worker(context, site, *where) for name, where in IN_BROWSER.items()}
        sides["cpython_ms"] = _on_cpython(process)
        for time in sides.values():
            time(WARM_UP)
        taken: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(TURNS):
            for name, time in sides.items():
                taken[name].append(time(cycles))
        process.terminate()
        return {name: min(figures) for name, figures in taken.items()}


def _in_worker(context: BrowserContext, site: Site, address: str, script: str) -> Time:
    page, _ = open_ready(context, site, address)
    worker: Worker = page.workers[0]
    text = Path(__file__).with_name(f"{script}.py").read_text(encoding="utf-8")
    worker.evaluate("(text) => void pyodide.runPython(text)", text)
    run = "(cycles) => pyodide.runPythonAsync(`await time_cycles(${cycles})`)"
    return lambda cycles: _milliseconds(worker.evaluate(run, cycles))


def _cpython() -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.bench.subjects.script_on_cpython"]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _on_cpython(process: subprocess.Popen[str]) -> Time:
    def time(cycles: int) -> float:
        asked: IO[str] | None = process.stdin
        answered: IO[str] | None = process.stdout
        assert asked is not None
        assert answered is not None
        print(cycles, file=asked, flush=True)
        return _milliseconds(answered.readline())

    return time


def _milliseconds(answer: str) -> float:
    return float(json.loads(answer)["wall_ms"])


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))
