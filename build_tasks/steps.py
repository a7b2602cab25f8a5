"""Steps: how a task talks to the person who runs it, and how it runs other programs.

Nothing here knows the project. A program is never silent for long: `stream` passes its output through and adds a line
when nothing comes, `quietly` keeps the output for the case of failure and says now and then that it goes on.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SILENCE = 8.0  # seconds without a word before a line says that the work goes on
TAIL = 40  # lines of a quiet program's output shown when it fails

Command = Sequence[str | Path]


class TaskError(Exception):
    """A task cannot go on; the message says what to do. `code` becomes the exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def say(text: str) -> None:
    print(text, flush=True)


@contextmanager
def step(title: str) -> Iterator[None]:
    """One line when the work starts and one, with the elapsed time, when it ends."""
    say(f"==> {title}")
    start = time.monotonic()
    try:
        yield
    except BaseException:
        say(f"    failed after {time.monotonic() - start:.1f} s")
        raise
    say(f"    done in {time.monotonic() - start:.1f} s")


def up_to_date(title: str) -> None:
    say(f"==> {title}: up to date")


def stream(command: Command, *, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> int:
    """Run a program, pass its output through, and give its exit code."""
    with _started(command, cwd, env) as process:
        for chunk, elapsed in _output(process):
            if chunk:
                sys.stdout.buffer.write(chunk)
                sys.stdout.buffer.flush()
            else:
                say(f"\n    ... {_name(command)} is still running, {elapsed:.0f} s")
        return process.wait()


def require(command: Command, *, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> None:
    """`stream`, where anything but success ends the task."""
    code = stream(command, cwd=cwd, env=env)
    if code:
        raise TaskError(f"{_name(command)} failed with exit code {code}", code)


def quietly(command: Command, *, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> None:
    """Run a program whose output only matters when it fails."""
    lines: deque[str] = deque(maxlen=TAIL)
    spoken = time.monotonic()
    with _started(command, cwd, env) as process:
        for chunk, elapsed in _output(process):
            lines.extend(chunk.decode("utf-8", "replace").splitlines())
            if time.monotonic() - spoken >= SILENCE:
                spoken = time.monotonic()
                say(f"    ... {elapsed:.0f} s  {lines[-1].strip()[:100] if lines else ''}")
        code = process.wait()
    if code:
        say("\n".join(f"    | {line}" for line in lines))
        raise TaskError(f"{_name(command)} failed with exit code {code}", code)


def foreground(command: Command, *, cwd: Path = ROOT) -> int:
    """Run a program that owns the terminal until it ends or the person stops it; it never outlives this one."""
    previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    process = subprocess.Popen([str(part) for part in command], cwd=cwd)
    try:
        return process.wait()
    except KeyboardInterrupt:
        return process.wait()  # the terminal sent it the same signal
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        signal.signal(signal.SIGTERM, previous)


def _name(command: Command) -> str:
    words = [str(part) for part in command]
    start = 2 if "-m" in words[1:2] else 0
    return " ".join([Path(words[start]).name, *words[start + 1 : start + 2]])


@contextmanager
def _started(command: Command, cwd: Path, env: Mapping[str, str] | None) -> Iterator[subprocess.Popen[bytes]]:
    words = [str(part) for part in command]
    try:
        process = subprocess.Popen(
            words, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except FileNotFoundError:
        raise TaskError(f"{words[0]} is not there; install it or run `python build.py setup`") from None
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def _output(process: subprocess.Popen[bytes]) -> Iterator[tuple[bytes, float]]:
    """(output, seconds since the start); empty output after each silence."""
    pipe = process.stdout
    assert pipe is not None
    chunks: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()

    def read() -> None:
        with pipe:
            while chunk := os.read(pipe.fileno(), 65536):
                chunks.put(chunk)
        chunks.put(None)

    threading.Thread(target=read, daemon=True).start()
    start = time.monotonic()
    while True:
        try:
            chunk = chunks.get(timeout=SILENCE)
        except queue.Empty:
            yield b"", time.monotonic() - start
            continue
        if chunk is None:
            return
        yield chunk, time.monotonic() - start
