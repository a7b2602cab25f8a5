"""Several processes serve one PostgreSQL: what a dead one leaves is ended by the living, who lose no time over it."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.host.durable.test_killed import lines, recorded
from tests.host.postgres import Postgres
from tests.host.zygote import Forked, Zygote

RUNS = 6


def spawn(zygote: Zygote, name: str, folder: Path, url: str) -> Forked:
    mine = [f"{name}{number}" for number in range(RUNS)]
    told = {"url": url, "folder": str(folder), "executor": name, "start": mine, "runs": [], "stay": True, "pause": 0.1}
    return zygote.run("tests.host.durable.program", told, folder / f"{name}.log")


def until(condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def test_of_three_processes_two_are_killed_and_no_run_is_lost(
    postgres: Postgres, zygote: Zygote, tmp_path: Path
) -> None:
    url = postgres.new_database()
    database = url.rpartition("/")[2]

    def is_going(name: str) -> bool:
        calls = sum(line.startswith(name) for line in lines(tmp_path / "calls"))
        return calls >= RUNS and f"{name}{RUNS - 1}" in lines(tmp_path / "asked")

    def ended() -> set[str]:
        return set(postgres.sql("SELECT id FROM agrun_runs WHERE status = 'completed'", database).split())

    processes = {}
    finished: dict[str, set[str]] = {}
    counted: dict[str, Counter[str]] = {}
    try:
        processes["c"] = spawn(zygote, "c", tmp_path, url)
        until(lambda: len(lines(tmp_path / "ready")) == 1, "the first process did not start")
        for name in ("a", "b"):
            processes[name] = spawn(zygote, name, tmp_path, url)
        for name in ("a", "b"):
            until(lambda name=name: is_going(name), f"{name} did not get going")  # type: ignore[misc]
            processes[name].send(signal.SIGKILL)
            processes[name].wait()
            finished[name] = recorded(url)
            counted[name] = Counter(lines(tmp_path / "calls"))
        until(lambda: len(ended()) == 3 * RUNS, "not every run was ended")
    finally:
        for process in processes.values():
            process.send(signal.SIGKILL)
            process.wait()
    calls = Counter(line for line in lines(tmp_path / "calls") if ":call:" in line)
    assert len(calls) == 3 * RUNS * 6
    for name in ("a", "b"):
        again = {key for key in counted[name] if calls[key] > counted[name][key]}
        assert not again & finished[name], "what was recorded is not done again"
    assert {calls[key] for key in calls if key.startswith("c")} == {1}, "whoever lives is not disturbed"
    assert postgres.sql("SELECT count(*) FROM agrun_executors", database).strip() == "1", "the dead are buried"
