"""`agrun run --keep` and `agrun resume RUN_ID`: a run in a database outlives its process, and is answered by its id."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from agrun_host.cli import app
from agrun_host.durable.runs import DurableRuns
from tests.fakes.providers import FakeProviders
from tests.host.kit import providers_at_work

KEY = "sk-marker-0123456789"
ADVANCE = {"toolCalls": [{"name": "workspace_list", "args": {}}]}
READ = {"toolCalls": [{"name": "read_url", "args": {"url": f"https://pages.invalid/{place}"}} for place in ("a", "b")]}
ASK = {"toolCalls": [{"name": "ask_clarification", "args": {"question": "Which one?"}}]}
STALLS = {"text": "Hello there, this is long.", "stallAfter": 2}

posix = pytest.mark.skipif(os.name != "posix", reason="signals of this kind")


def environment(url: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**clean, "OPENAI_API_KEY": KEY, "AGRUN_DATABASE": url}


def agrun(url: str, *arguments: str, fake: FakeProviders | None = None) -> Result:
    options = () if fake is None else ("-p", "openai:m", "--base-url", fake.url)
    return CliRunner().invoke(app, [*arguments, *options], env={**environment(url), "HTTP_PROXY": None})


def kept(url: str, fake: FakeProviders, *options: str, expected: int = 3) -> str:
    """A run that waits for somebody; its id."""
    result = agrun(url, "run", "hi", "--keep", *options, fake=fake)
    assert result.exit_code == expected, result.stderr
    found = re.search(r"run (run-\w+)", result.stderr)
    assert found
    return found[1]


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def started(url: str, fake: FakeProviders, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "agrun_host", *arguments, "-p", "openai:m", "--base-url", fake.url]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(url)
    )


def asked(fake: FakeProviders, times: int) -> None:
    deadline = time.monotonic() + 30
    while fake.stats.requests < times and time.monotonic() < deadline:
        time.sleep(0.02)
    assert fake.stats.requests == times
    time.sleep(0.3)


def test_a_kept_run_is_answered_by_its_id(database_url: str) -> None:
    with providers_at_work(READ, {"text": "Done."}) as fake:
        run_id = kept(database_url, fake)
        result = agrun(database_url, "resume", run_id, "--deny-all", "--note", "not those", "--json", fake=fake)
        assert result.exit_code == 0, result.stderr
        events = lines(result)
        assert [event["type"] for event in events].count("approval-resolved") == 2
        assert "approval-required" not in [event["type"] for event in events], "what was shown is not shown again"
        assert events[-1]["result"]["output"]["text"] == "Done."
        assert str(fake.seen[1].body["messages"]).count("the user denied read_url: not those") == 2
        over = agrun(database_url, "resume", run_id, fake=fake)
        assert (over.exit_code, "is over (completed)" in over.stderr) == (2, True)


def test_one_by_one_and_the_rest_at_once(database_url: str) -> None:
    with providers_at_work(READ, {"text": "Done."}) as fake:
        run_id = kept(database_url, fake)
        first = f"{run_id}:approval:1"
        assert agrun(database_url, "resume", run_id, "--deny", first, fake=fake).exit_code == 3
        again = agrun(database_url, "resume", run_id, "--approve", first, fake=fake)
        assert (again.exit_code, "was already used" in again.stderr) == (2, True)
        result = agrun(database_url, "resume", run_id, "--deny-all", fake=fake)
        assert (result.exit_code, result.stdout) == (0, "Done.\n")


def test_a_question_is_answered_in_its_conversation(database_url: str) -> None:
    with providers_at_work(ASK, {"text": "That one."}) as fake:
        run_id = kept(database_url, fake, "--system", "Be brief.")
        result = agrun(database_url, "resume", run_id, "--answer", "the second", fake=fake)
        assert (result.exit_code, result.stdout) == (0, "That one.\n")
        told = fake.seen[1].body["messages"]
        assert [message["content"] for message in told[-3:]] == ["hi", "Which one?", "the second"]
        assert "Be brief." in str(told[0])


def test_spent_steps_are_extended(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from agrun_host import running

    made = running.config_of
    monkeypatch.setattr(running, "config_of", lambda *given, **keys: made(*given, **keys, finalizeOnExhaustion=False))
    with providers_at_work(ADVANCE, {"text": "Done."}) as fake:
        run_id = kept(database_url, fake, "--max-steps", "1", expected=4)
        result = agrun(database_url, "resume", run_id, "--extend", "1", fake=fake)
    assert (result.exit_code, result.stdout) == (0, "Done.\n")


def test_a_failure_on_the_way_is_tried_again(database_url: str) -> None:
    fails = {"error": {"status": 503}}
    with providers_at_work(ADVANCE, *[fails] * 3, {"text": "Done."}) as fake:
        run_id = kept(database_url, fake, expected=1)
        result = agrun(database_url, "resume", run_id, fake=fake)
    assert (result.exit_code, result.stdout) == (0, "Done.\n")


@posix
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_a_run_whose_process_ended_goes_on_and_asks_nothing_twice(by: signal.Signals, database_url: str) -> None:
    with providers_at_work(ADVANCE, STALLS, {"text": "Done."}) as fake:
        running = started(database_url, fake, "run", "hi", "--keep", "--json")
        asked(fake, 2)
        running.send_signal(by)
        out, err = running.communicate(timeout=30)
        run_id = json.loads(out.splitlines()[0])["runId"]
        if by is signal.SIGINT:
            assert running.returncode == 130
            assert err.decode() == f"interrupted; agrun resume {run_id} goes on with it\n"
        result = agrun(database_url, "resume", run_id, fake=fake)
        assert (result.exit_code, result.stdout) == (0, "Done.\n")
        assert fake.stats.requests == 3
        assert "workspace_list" in result.stderr, "what had happened is shown"


@posix
def test_a_server_leaves_it_alone_and_what_a_server_left_goes_on_here(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'test.db'}"
    with providers_at_work(STALLS, {"text": "Done."}, STALLS, {"text": "Also done."}) as fake:
        running = started(url, fake, "run", "hi", "--keep", "--json")
        asked(fake, 1)
        running.kill()
        mine = json.loads(running.communicate()[0].splitlines()[0])["runId"]

        async def a_server_comes_and_goes() -> None:
            from agrun_host import Runtime

            def make(**ports: Any) -> Runtime:
                return Runtime(provider={"name": "openai", "model": "m", "baseUrl": fake.url, "apiKey": KEY}, **ports)

            async with await DurableRuns.open(make, url) as runs:
                await asyncio.sleep(1.0)
                assert (await runs.view(mine)).status == "running"
                assert fake.stats.requests == 1

        asyncio.run(a_server_comes_and_goes())
        assert agrun(url, "resume", mine, fake=fake).stdout == "Done.\n"

        serving = started(url, fake, "serve", "--port", "0")
        assert serving.stdout is not None
        address = serving.stdout.readline().split()[2].decode()
        theirs = posted(f"{address}v1/runs", {"input": "hi"})["runId"]
        asked(fake, 3)
        busy = agrun(url, "resume", theirs, fake=fake)
        assert (busy.exit_code, "another process" in busy.stderr) == (2, True)
        serving.kill()
        serving.communicate()
        assert agrun(url, "resume", theirs, fake=fake).stdout == "Also done.\n"


@posix
def test_a_run_that_lives_elsewhere_is_followed(postgres: Any) -> None:
    url = postgres.new_database()
    slow = {"text": "It is a long answer.", "delayMs": 1500}
    with providers_at_work(slow) as fake:
        running = started(url, fake, "run", "hi", "--keep", "--json")
        asked(fake, 1)
        assert running.stdout is not None
        run_id = json.loads(running.stdout.readline())["runId"]
        result = agrun(url, "resume", run_id, fake=fake)
        running.communicate(timeout=60)
        assert (result.exit_code, result.stdout) == (0, "It is a long answer.\n")
        assert "another process drives this run" in result.stderr
        assert fake.stats.requests == 1


def posted(url: str, body: Mapping[str, Any]) -> dict[str, Any]:
    import urllib.request

    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as response:
        answer: dict[str, Any] = json.loads(response.read())
    return answer


def test_runs_are_listed_with_what_they_wait_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'test.db'}"
    assert "no run is kept here" in agrun(url, "runs").stderr
    with providers_at_work({"text": "Done."}, READ) as fake:
        first, second = kept(url, fake, expected=0), kept(url, fake)
    rows = lines(agrun(url, "runs", "--json"))
    assert [(row["runId"], row["status"]) for row in rows] == [(second, "blocked"), (first, "completed")]
    assert rows[0]["says"].startswith(f"approve read_url ({second}:approval:1), read_url")
    assert rows[1]["says"] == "Done."
    assert second in agrun(url, "runs", "--limit", "1").stdout


def test_an_unknown_run_and_wrong_options(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'test.db'}"
    for arguments, said in (
        (("resume", "run-nope"), "there is no run 'run-nope' in this database"),
        (("resume", "run-nope", "--approve-all", "--deny-all"), "exclude each other"),
        (("resume", "run-nope", "--approve-all", "--answer", "x"), "a run waits for one of them"),
        (("resume", "nope.json"), "nope.json cannot be read"),
        (("run", "hi", "--keep", "--save-state", "x"), "--save-state is for runs that are kept nowhere else"),
        (("run", "hi", "--database", "mysql://x/y"), "is no database that this server can use"),
    ):
        result = agrun(url, *arguments)
        assert (result.exit_code, result.stdout) == (2, ""), result.stderr
        assert said in result.stderr
        assert "Traceback" not in result.stderr


def test_a_saved_state_takes_the_same_answers(tmp_path: Path) -> None:
    file = tmp_path / "waits.json"
    with providers_at_work(READ, {"text": "Done."}, ASK, {"text": "That one."}) as fake:
        assert agrun("none", "run", "hi", "--save-state", str(file), fake=fake).exit_code == 3
        result = agrun("none", "resume", str(file), "--deny-all", "--note", "not those", fake=fake)
        assert (result.exit_code, result.stdout) == (0, "Done.\n")
        assert str(fake.seen[1].body["messages"]).count("not those") == 2
        assert agrun("none", "run", "hi", "--save-state", str(file), fake=fake).exit_code == 3
        result = agrun("none", "resume", str(file), "--answer", "the second", fake=fake)
        assert (result.exit_code, result.stdout) == (0, "That one.\n")
        assert [m["content"] for m in fake.seen[3].body["messages"][-3:]] == ["hi", "Which one?", "the second"]


def test_a_server_says_at_once_that_its_database_cannot_be_used(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'none' / 'test.db'}"
    result = agrun(url, "serve", "--port", "0")
    assert (result.exit_code, result.stdout) == (2, ""), "nothing is served"
    assert "No such file" in result.stderr
    assert "Traceback" not in result.stderr
