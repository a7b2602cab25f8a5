"""`agrun resume`, and `run` with a cassette and with a state kept: a run goes on in another process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from agrun_host.cli import app
from tests.host.kit import providers_at_work

KEY = "sk-marker-0123456789"
READ = {"toolCalls": [{"name": "read_url", "args": {"url": "https://pages.invalid/a"}}]}
ADVANCE = {"toolCalls": [{"name": "workspace_list", "args": {}}]}


def agrun(*arguments: str, key: str | None = KEY, stdin: str | None = None) -> Result:
    environment = {"OPENAI_API_KEY": key, "HTTP_PROXY": None}
    return CliRunner().invoke(app, list(arguments), env=environment, input=stdin)


def blocked(url: str, file: Path) -> dict[str, Any]:
    result = agrun("run", "hi", "-p", "openai:m", "--base-url", url, "--save-state", str(file))
    assert result.exit_code == 3
    state: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return state


@pytest.mark.parametrize(("option", "reached"), [("--approve", "action-executing"), ("--deny", "approval-resolved")])
def test_a_waiting_run_goes_on_with_a_decision(option: str, reached: str, tmp_path: Path) -> None:
    file = tmp_path / "waits.json"
    with providers_at_work(READ, {"text": "Done."}) as fake:
        state = blocked(fake.url, file)
        approval = state["approvals"]["pending"][0]["approvalId"]
        result = agrun("resume", str(file), option, approval, "-p", "openai:m", "--base-url", fake.url, "--json")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert reached in [event["type"] for event in events]
    assert ("action-executing" in [event["type"] for event in events]) == (option == "--approve")
    assert events[-1]["result"]["output"]["text"] == "Done."


def test_it_takes_what_json_printed_from_standard_input() -> None:
    with providers_at_work(READ, {"text": "Done."}) as fake:
        options = ("-p", "openai:m", "--base-url", fake.url)
        said = agrun("run", "hi", *options, "--json").stdout
        approval = json.loads(said.splitlines()[-1])["result"]["output"]["approvals"][0]["approvalId"]
        result = agrun("resume", "-", "--deny", approval, *options, stdin=said)
    assert (result.exit_code, result.stdout) == (0, "Done.\n")


def test_wrong_states_and_decisions_say_what_is_wrong(tmp_path: Path) -> None:
    file, empty = tmp_path / "waits.json", tmp_path / "empty.json"
    empty.write_text("[]", encoding="utf-8")
    with providers_at_work(READ) as fake:
        blocked(fake.url, file)
        for options, said in (
            ((str(file), "--approve", "nope"), "nope"),
            ((str(file), "--approve", "a", "--deny", "a"), "approved and denied at once: a"),
            ((str(tmp_path / "none.json"),), "none.json cannot be read: No such file"),
            ((str(empty),), "holds no saved state"),
        ):
            result = agrun("resume", *options, "-p", "openai:m", "--base-url", fake.url)
            assert (result.exit_code, result.stdout) == (2, "")
            assert said in result.stderr


def test_a_run_is_recorded_and_played_again_without_key_and_server(tmp_path: Path) -> None:
    file = tmp_path / "asked.jsonl"
    with providers_at_work(ADVANCE, {"text": f"Done, {KEY}."}) as fake:
        options = ("run", "hi", "-p", "openai:m", "--base-url", fake.url)
        first = agrun(*options, "--record", str(file))
    assert KEY not in file.read_text(encoding="utf-8")
    again = agrun(*options, "--replay", str(file), key=None)
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert first.stdout == again.stdout == "Done, [redacted].\n"


@pytest.mark.skipif(os.name != "posix", reason="a signal of this kind")
def test_a_recording_outlives_a_killed_process(tmp_path: Path) -> None:
    file = tmp_path / "asked.jsonl"
    with providers_at_work(ADVANCE, {"text": f"Hello there {KEY}.", "stallAfter": 2}) as fake:
        options = ["run", "hi", "-p", "openai:m", "--base-url", fake.url]
        environment = {**os.environ, "OPENAI_API_KEY": KEY}
        command = [sys.executable, "-m", "agrun_host", *options, "--record", str(file)]
        running = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while fake.stats.requests < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        running.kill()
        running.wait()
        shown = agrun("replay", str(file))
    assert (shown.exit_code, KEY in file.read_text(encoding="utf-8")) == (0, False)
    again = agrun(*options, "--replay", str(file), key=None)
    assert "workspace_list" in again.stderr
    assert (again.exit_code, "the cassette does not hold POST" in again.stderr) == (1, True)


def test_a_provider_that_wants_a_key_needs_none_for_a_replay(tmp_path: Path) -> None:
    file = tmp_path / "empty.jsonl"
    file.write_text('{"cassette": 1}\n', encoding="utf-8")
    result = agrun("run", "hi", "-p", "openai:m", "--replay", str(file), key=None)
    assert result.exit_code == 1
    assert "the cassette is empty" in result.stderr


def test_record_and_replay_exclude_each_other_and_a_missing_cassette_is_told(tmp_path: Path) -> None:
    none, state = str(tmp_path / "none.jsonl"), tmp_path / "state.json"
    state.write_text("{}", encoding="utf-8")
    for command in (("run", "hi"), ("resume", str(state)), ("resume", "run-1")):
        both = agrun(*command, "--record", none, "--replay", none)
        assert (both.exit_code, "exclude each other" in both.stderr) == (2, True)
    missing = agrun("run", "hi", "--replay", none)
    assert (missing.exit_code, "none.jsonl cannot be read" in missing.stderr) == (2, True)
