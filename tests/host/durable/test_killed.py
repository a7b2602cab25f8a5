"""A process is killed at any moment of a run; the next one ends the run, and does nothing again that had finished."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from agrun_host.store.urls import database_url as read_url
from tests.host.zygote import Zygote

#: a run without a crash has 19
MOMENTS = (1, 2, 4, 7, 9, 11, 14, 17, 19)


def run_program(zygote: Zygote, told: dict[str, Any], expected: int = 0) -> None:
    log = Path(told["folder"]) / "log"
    code = zygote.run("tests.host.durable.program", told, log).wait()
    assert code == expected, log.read_text()[-3_000:]


def recorded(url: str) -> set[str]:
    """The calls whose results were recorded so far."""
    engine = sa.create_engine(read_url(url)[1])
    try:
        with engine.connect() as connection:
            schema = "" if engine.dialect.name == "sqlite" else "dbos."
            found = connection.execute(sa.text(f"SELECT function_name FROM {schema}operation_outputs")).scalars()
            return set(found)
    finally:
        engine.dispose()


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def check_seen(folder: Path, run_id: str, count: int = 6) -> None:
    """What the client has seen over both processes."""
    seen = [json.loads(line) for line in lines(folder / f"seen-{run_id}")]
    numbers = [event["seq"] for event in seen]
    assert numbers == sorted(set(numbers)), "every number once, and rising"
    steps = [
        (event["type"], event["cycle"], json.dumps(event["detail"])) for event in seen if "delta" not in event["type"]
    ]
    assert [step for step, times in Counter(steps).items() if times > 1] == []
    kinds = Counter(kind for kind, _, _ in steps)
    assert kinds["run-started"] == kinds["run-completed"] == 1
    assert kinds["action-executed"] == count
    text = ""
    for event in seen:
        if event["type"] == "text-delta":
            text += event["detail"]["text"]
        elif event["type"] == "answer-superseded":
            text = ""
    assert text in ("It is noted.", ""), "a client that was not there while it was streamed has it from the result"


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_run_is_ended_by_the_next_process_and_nothing_finished_is_done_again(
    moment: int, database_url: str, tmp_path: Path, zygote: Zygote, request: pytest.FixtureRequest
) -> None:
    if "postgresql" in request.node.name and moment not in (7, 17):
        pytest.skip("two moments are enough on the second database: the path is the same")
    told = {"url": database_url, "folder": str(tmp_path), "runs": ["r"]}
    run_program(zygote, {**told, "start": ["r"], "killAt": moment}, expected=-9)
    finished = recorded(database_url)
    before = Counter(lines(tmp_path / "calls"))
    run_program(zygote, told)
    calls = Counter(lines(tmp_path / "calls"))
    assert len([key for key in calls if key.startswith("r:call")]) == 6
    again = {key for key in before if calls[key] > before[key]}
    assert not again & finished, "what was recorded is not done again"
    assert all(count <= 2 for count in calls.values())
    check_seen(tmp_path, "r")
