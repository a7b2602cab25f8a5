"""Processes of the tests' programs, forked from one that has imported everything: a start costs no seconds of imports.

`python -m tests.host.zygote` takes a line of JSON at a time: `{"run": program, "told": {...}, "log": file}` gives the
new process's id, `{"wait": id}` its exit status when it has ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from agrun_host.durable import engine
from tests.browser.serving import ROOT

PROGRAMS = ("tests.host.durable.program", "tests.host.serve.program")


class Zygote:
    """The process that forks, started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def run(self, program: str, told: dict[str, Any], log: Path) -> Forked:
        """Runs `main(told)` of a program in a process of its own, its output added to the log."""
        return Forked(self, int(self._ask({"run": program, "told": told, "log": str(log)})))

    def wait(self, pid: int) -> int:
        return int(self._ask({"wait": pid}))

    def _ask(self, command: dict[str, Any]) -> str:
        with self._lock:
            if self._process is None:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "tests.host.zygote"],
                    cwd=ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
            return self._process.stdout.readline()

    def end(self) -> None:
        if self._process is not None:
            self._process.communicate("", timeout=30)


class Forked:
    """A process; `returncode` as subprocess has it."""

    def __init__(self, zygote: Zygote, pid: int) -> None:
        self._zygote = zygote
        self.pid = pid
        self.returncode: int | None = None

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = self._zygote.wait(self.pid)
        return self.returncode

    def send(self, signal: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal)


def _run(main: Any, told: dict[str, Any], log: str) -> None:
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    null = os.open(os.devnull, os.O_RDONLY)
    for here, there in ((null, 0), (out, 1), (out, 2)):
        os.dup2(here, there)
    engine.LISTEN_S = 0.05  # its end waits for as long
    code = 1
    try:
        main(told)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    mains = {name: __import__(name, fromlist=["main"]).main for name in PROGRAMS}
    for line in sys.stdin:
        command = json.loads(line)
        if "wait" in command:
            answer = os.waitstatus_to_exitcode(os.waitpid(command["wait"], 0)[1])
        elif not (answer := os.fork()):
            _run(mains[command["run"]], command["told"], command["log"])
        print(answer, flush=True)


if __name__ == "__main__":
    main()
