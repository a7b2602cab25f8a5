"""How tasks talk, when they skip, and what the command line promises."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from build_tasks import stamps, steps
from build_tasks.stamps import Stamp, fingerprint
from build_tasks.steps import ROOT, TaskError

TASKS = ("setup", "wheel", "web", "demo", "serve", "test", "check", "bench", "schema", "sync", "clean")


def program(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file, standing in for the checkout."""
    monkeypatch.setattr(stamps, "ROOT", tmp_path)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a.txt").write_text("one")
    return tmp_path


def build_py(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, ROOT / "build.py", *arguments], capture_output=True, text=True)


def test_help_names_every_task() -> None:
    shown = build_py("--help")
    assert shown.returncode == 0
    assert [task for task in TASKS if f"\n    {task} " not in shown.stdout] == []


@pytest.mark.parametrize("task", TASKS)
def test_every_task_explains_itself(task: str) -> None:
    assert build_py(task, "--help").returncode == 0


def test_an_unknown_task_is_refused() -> None:
    assert build_py("deploy").returncode == 2


def test_ci_is_the_test_command_and_nothing_else() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("#!")
    assert lines[1:] == ["set -e", 'cd "$(dirname "$0")/.."', "python3 build.py test"]


def test_a_fingerprint_follows_content_names_absence_and_facts(tree: Path) -> None:
    seen = [fingerprint([tree / "source"])]
    (tree / "source" / "a.txt").write_text("two")
    seen.append(fingerprint([tree / "source"]))
    (tree / "source" / "a.txt").rename(tree / "source" / "b.txt")
    seen.append(fingerprint([tree / "source"]))
    seen.append(fingerprint([tree / "absent"]))
    seen.append(fingerprint([tree / "source"], ["3.12"]))
    assert len(set(seen)) == len(seen)


def test_a_fingerprint_ignores_what_is_derived(tree: Path) -> None:
    before = fingerprint([tree / "source"])
    (tree / "source" / "__pycache__").mkdir()
    (tree / "source" / "__pycache__" / "a.pyc").write_text("x")
    assert fingerprint([tree / "source"]) == before


@pytest.mark.parametrize("change", ["inputs", "output edited", "output gone", "stamp gone"])
def test_a_stamp_is_fresh_until_something_changes(tree: Path, change: str) -> None:
    output = tree / "source"
    stamp = Stamp(tree / "stamp", "inputs", [output])
    assert not stamp.is_fresh()
    stamp.write()
    assert stamp.is_fresh()
    match change:
        case "inputs":
            stamp = Stamp(tree / "stamp", "other", [output])
        case "output edited":
            (output / "a.txt").write_text("edited")
        case "output gone":
            (output / "a.txt").unlink()
            output.rmdir()
        case "stamp gone":
            stamp.file.unlink()
    assert not stamp.is_fresh()


def test_a_failed_program_shows_its_last_words(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TaskError, match="exit code 3") as failure:
        steps.quietly(program("print('the reason'); raise SystemExit(3)"))
    assert failure.value.code == 3
    assert "| the reason" in capsys.readouterr().out


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(TaskError, match="no-such-program is not there"):
        steps.quietly(["no-such-program"])


def test_output_passes_through_and_silence_is_broken(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "SILENCE", 0.2)
    code = steps.stream(program("import time; print('one', flush=True); time.sleep(0.7); print('two')"))
    shown = capfd.readouterr().out
    assert code == 0
    assert shown.index("one") < shown.index("is still running") < shown.index("two")


def test_a_step_tells_its_time_even_when_it_fails(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no"), steps.step("Work"):
        raise ValueError("no")
    assert capsys.readouterr().out.splitlines()[0] == "==> Work"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_what_runs_in_the_foreground_ends_with_its_task() -> None:
    child = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    task = f"import sys; from build_tasks.steps import foreground; foreground([sys.executable, '-c', {child!r}])"
    with subprocess.Popen(program(task), cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        pid = int(running.stdout.readline())
        running.terminate()
        assert running.wait(timeout=10) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
