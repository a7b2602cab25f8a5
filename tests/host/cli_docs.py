"""The examples of docs/cli.md, run: `python -m tests.host.cli_docs` writes what they print into it.

A block of ```console holds commands after `$ ` and what each printed. In the page `...` alone in a line stands for any
lines, and is kept where it stands. What differs from run to run is shown as a placeholder.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.host.kit import providers_at_work

__all__ = ["PAGE", "matches", "played"]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "cli.md"
RUN_ID = "run-0123456789abcdef"
SERVER = "http://127.0.0.1:11434/v1"
#: what differs from run to run -> what the page shows
PLACEHOLDERS = (
    (r"run-[0-9a-f]{16}", RUN_ID),
    (r"session-[0-9a-f]{16}", "session-0123456789abcdef"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "2026-01-31T12:00:00Z"),
    (r"(?<=fingerprint: )[0-9a-f]+", "0123456789abcdef0123456789abcdef"),
    (r"(?<=Serving at http://127\.0\.0\.1:)\d+", "8000"),
    (r"(?<=runs   http://127\.0\.0\.1:)\d+", "8000"),
    (r"(?m)^  page   .*$", "  page   web/dist"),
    (r"python -m agrun_host", "agrun"),
)


def played(page: str) -> str:
    """The page with what its commands print now."""
    with tempfile.TemporaryDirectory() as folder, providers_at_work({"text": "Hello there."}) as fake:
        session = _Session(Path(folder), f"{fake.url}/v1")
        return re.sub(r"(?ms)^```console\n(.*?)^```$", lambda block: session.block(block[1]), page)


def matches(shown: str, now: str) -> bool:
    """Is this what the page shows? `...` in a line of its own there stands for any lines."""
    kept = re.split(r"(?m)^\.\.\.\n", shown)
    return re.fullmatch(r"(?:.*\n)*?".join(map(re.escape, kept)), now) is not None


class _Session:
    """Commands in a folder of their own; what one keeps, the next one finds."""

    def __init__(self, folder: Path, server: str) -> None:
        self._folder = folder
        self._server = server
        self._run_id = RUN_ID
        self._code = 0
        self._environment = _environment(folder)

    def block(self, text: str) -> str:
        parts = re.split(r"(?m)^\$ (.*)\n", text)[1:]
        lines = ["```console\n"]
        for command, shown in zip(parts[::2], parts[1::2], strict=True):
            now = self._printed(command)
            lines += [f"$ {command}\n", shown if matches(shown, now) else now]
        return "".join((*lines, "```"))

    def _printed(self, command: str) -> str:
        if command == "echo $?":
            return f"{self._code}\n"
        command = command.replace(RUN_ID, self._run_id).replace(SERVER, self._server)
        said = self._served(command) if command.startswith("agrun serve") else self._ran(command)
        if found := re.search(PLACEHOLDERS[0][0], said):
            self._run_id = found[0]
        said = said.replace(self._server, SERVER)
        for pattern, placeholder in PLACEHOLDERS:
            said = re.sub(pattern, placeholder, said)
        return re.sub(r"(?m) +$", "", said)

    def _ran(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
            text=True,
        )
        self._code = done.returncode
        return done.stdout

    def _served(self, command: str) -> str:
        """A server until it has said where it is, and what it has."""
        serving = subprocess.Popen(
            ["bash", "-c", f"exec {command} --port 0"],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        said = "".join(_until(serving, "  page"))
        serving.send_signal(signal.SIGINT)
        serving.communicate(timeout=30)
        return said


def _until(serving: subprocess.Popen[str], begin: str) -> Iterator[str]:
    assert serving.stdout is not None
    for line in serving.stdout:
        yield line
        if line.startswith(begin):
            return


def _environment(folder: Path) -> dict[str, str]:
    """An environment with the command `agrun` and nothing of whoever runs this."""
    programs = folder / "bin"
    programs.mkdir()
    agrun = programs / "agrun"
    agrun.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agrun_host "$@"\n', encoding="utf-8")
    agrun.chmod(0o755)
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder / "data"),
        "PYTHON_KEYRING_BACKEND": "tests.host.file_keyring.FileKeyring",
        "LANG": "C.UTF-8",
    }


if __name__ == "__main__":
    PAGE.write_text(played(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
