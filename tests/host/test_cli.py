"""The command `agrun`: exit codes, what goes to which stream, what is said about mistakes, and that no key is shown."""

from __future__ import annotations

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

from agrun_host.cli import EXIT_CODES, PROVIDERS, app
from agrun_host.keys import KEY_VARIABLES
from agrun_wasm import RunResult
from tests.host.kit import providers_at_work

KEY = "sk-marker-0123456789"
KEYS = {variable: KEY for variables in KEY_VARIABLES.values() for variable in variables}
OVER_HTTP = [name for name in PROVIDERS if name != "offline"]
MILES = "How many kilometres are 26.2 miles?"

ADVANCE = {"toolCalls": [{"name": "workspace_list", "args": {}}]}
READ = {"toolCalls": [{"name": "read_url", "args": {"url": "https://pages.invalid/a"}}]}
ASK = {"toolCalls": [{"name": "ask_clarification", "args": {"question": "Which [/tmp] or [red]one?"}}]}


def agrun(*arguments: str, env: Mapping[str, str | None] | None = None) -> Result:
    return CliRunner().invoke(app, ["run", *arguments], env={**KEYS, "HTTP_PROXY": None, **(env or {})})


def asked(*replies: Mapping[str, Any], provider: str = "openai", options: tuple[str, ...] = ()) -> Result:
    with providers_at_work(*replies) as fake:
        return agrun("hi", "-p", f"{provider}:m", "--base-url", fake.url, *options)


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("provider", OVER_HTTP)
def test_each_provider_answers_and_is_told_its_key(provider: str) -> None:
    with providers_at_work({"text": "It is [red]so[/red]: [/tmp] :smile:"}) as fake:
        result = agrun("hi", "-p", f"{provider}:m", "--base-url", fake.url)
        assert KEY in str(fake.seen[0].headers)
    assert (result.exit_code, result.stdout) == (0, "It is [red]so[/red]: [/tmp] :smile:\n")


def test_the_answer_alone_is_on_standard_output() -> None:
    result = agrun(MILES)
    assert (result.exit_code, result.stdout) == (0, "26.2 miles = 42.1648 kilometres.\n")
    assert "execute_skill_tool" in result.stderr


def test_an_answer_is_printed_once_though_it_grew_after_it_was_streamed() -> None:
    result = asked({"text": "Said once.\n\n"})
    assert result.stdout.count("Said once.") == 1


@pytest.mark.parametrize(
    ("replies", "options", "status", "said"),
    [
        ([{"text": "Done."}], (), "completed", ""),
        ([{"error": {"status": 401, "body": "no [/red] entry"}}], (), "failed", "PROVIDER_AUTH: "),
        ([ASK], (), "blocked", "? Which [/tmp] or [red]one?\nNobody is here to answer"),
        ([READ], (), "blocked", 'needs approval (tier 1: ask), with\n{\n  "url": "https://pages.invalid/a"\n}\n'),
        ([ADVANCE, ADVANCE, {"text": ""}], ("--max-steps", "1"), "failed", "PROVIDER_BAD_RESPONSE: "),
    ],
    ids=["answered", "refused", "asks", "needs approval", "no answer"],
)
def test_how_a_run_ends(replies: list[dict[str, Any]], options: tuple[str, ...], status: str, said: str) -> None:
    result = asked(*replies, options=options)
    assert result.exit_code == EXIT_CODES[status]
    assert said in result.stderr
    assert result.stdout == ("Done.\n" if status == "completed" else "")


def test_out_of_budget_is_an_exit_code_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from agrun_host import running as cli

    made = cli.config_of
    monkeypatch.setattr(cli, "config_of", lambda *given, **keys: made(*given, **keys, finalizeOnExhaustion=False))
    result = asked(ADVANCE, options=("--max-steps", "1"))
    assert result.exit_code == 4
    assert "steps of this run are spent" in result.stderr


@pytest.mark.parametrize("replies", [[{"text": "Grüße, 日本\u2028\x85x"}], [READ], [{"error": {"status": 400}}]])
def test_json_is_events_and_a_result_a_line_each(replies: list[dict[str, Any]]) -> None:
    result = asked(*replies, options=("--json",))
    *events, last = lines(result)
    assert [event["seq"] for event in events] == sorted(event["seq"] for event in events)
    assert last["type"] == "result"
    ended = RunResult.model_validate(last["result"])
    assert result.exit_code == EXIT_CODES[ended.status]
    assert result.stderr == ""


def test_a_blocked_run_resumes_from_its_json() -> None:
    from agrun_host import Runtime

    state = lines(asked(READ, options=("--json",)))[-1]["result"]["state"]
    assert Runtime(provider="offline").load(state).status == "blocked"


WRONG = [
    (("-p", "opnai:m"), "unknown provider 'opnai'; did you mean 'openai'?"),
    (("-p", "scripted"), "Known here are offline, openai,"),
    (("-p", "openai"), "needs a model"),
    (("-p", "openai-compatible:m"), "needs --base-url"),
    (("-p", "openai-compatible:m", "--base-url", "127.0.0.1:8080"), "must begin with http:// or https://"),
    (("--planner-mode", "auo"), "'plannerMode': input should be 'auto'"),
    (("--max-steps", "0"), "--max-steps"),
    (("--skill", "/no/such/folder"), "/no/such/folder is no folder"),
    (("--nope",), "--nope"),
]


@pytest.mark.parametrize(("options", "said"), WRONG)
def test_a_wrong_command_says_what_is_wrong(options: tuple[str, ...], said: str) -> None:
    result = agrun("hi", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("provider", [name for name in OVER_HTTP if name != "openai-compatible"])
def test_a_missing_key_names_its_variable(provider: str) -> None:
    result = agrun("hi", "-p", f"{provider}:m", env=dict.fromkeys(KEYS))
    assert result.exit_code == 2
    assert f"set {' or '.join(KEY_VARIABLES[provider])} in the environment" in result.stderr


def skill(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return folder


HEAD = "---\nname: {name}\ndescription: Says [/red] things.\n---\nHi\n"


def test_a_broken_skill_folder_says_which_file(tmp_path: Path) -> None:
    broken = skill(tmp_path / "broken", SKILL_md="no frontmatter")
    for given, said in (
        (broken, "broken/SKILL.md: there is no frontmatter"),
        (broken / "SKILL.md", "Give the folder that holds SKILL.md."),
        (skill(tmp_path / "empty"), "there is no SKILL.md in"),
    ):
        result = agrun("hi", "--skill", str(given))
        assert result.exit_code == 2
        assert said in result.stderr


def test_a_skill_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = skill(tmp_path / "shut", SKILL_md=HEAD.format(name="shut"))

    def refused(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refused)
    result = agrun("hi", "--skill", str(folder), "--no-bundled")
    assert result.exit_code == 2
    assert f"{folder}/SKILL.md cannot be read: Permission denied" in result.stderr


def test_tools_that_do_not_run_are_told(tmp_path: Path) -> None:
    folder = skill(tmp_path / "own", SKILL_md=HEAD.format(name="own"), tools_py="def x(:\n")
    untrusted, broken = (agrun("hi", "--skill", str(folder), *more) for more in ((), ("--trust-skills",)))
    assert "skill own: its tools.py is not run; --trust-skills lets it" in untrusted.stderr
    assert "skill own: tools.py cannot be loaded" in broken.stderr


def test_a_skill_of_ones_own_stands_before_the_bundled_one(tmp_path: Path) -> None:
    folder = skill(tmp_path / "unit-convert", SKILL_md=HEAD.format(name="unit-convert"))
    with providers_at_work() as fake:
        assert agrun("hi", "-p", "openai:m", "--base-url", fake.url, "--skill", str(folder)).exit_code == 0
        assert "Says [/red] things." in json.dumps(fake.seen[0].body)


ECHOES = [
    {"text": f"Your key is {KEY}."},
    {"text": f"Your key is {KEY}.", "split": "every_byte"},
    {"error": {"status": 401, "body": json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}})}},
    {"error": {"status": 500, "body": f"trace: {KEY}"}},
    {"toolCalls": [{"name": "nope", "args": {"key": KEY}}, {"name": "workspace_write", "args": {"path": KEY}}]},
    {"toolCalls": [{"name": "ask_clarification", "args": {"question": f"Is it {KEY}?"}}]},
    {"toolCalls": [{"name": "read_url", "args": {"url": f"https://pages.invalid/{KEY}"}}]},
    {"raw": [f"data: {KEY}\n\n"]},
    {"raw": [f"<html>{KEY}</html>"], "contentType": "text/html"},
]


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["shown", "json"])
@pytest.mark.parametrize("echo", ECHOES, ids=lambda reply: next(iter(reply)))
def test_no_key_is_printed(echo: Mapping[str, Any], options: tuple[str, ...]) -> None:
    result = asked(echo, {"text": "Done."}, options=("--max-steps", "2", *options))
    assert result.stdout + result.stderr
    assert KEY not in result.stdout
    assert KEY not in result.stderr


@pytest.mark.parametrize("echo", [ECHOES[0], {"text": "Done.", "reasoning": KEY}, ECHOES[4]])
def test_no_key_comes_in_pieces(echo: Mapping[str, Any]) -> None:
    events = lines(asked(echo, options=("--json", "--max-steps", "1")))
    together = "".join(event["detail"]["text"] for event in events if str(event.get("type")).endswith("-delta"))
    assert KEY not in together


def test_no_key_is_the_name_of_a_tool() -> None:
    named = {"toolCalls": [{"name": KEY, "args": {}}]}
    assert KEY not in asked(named, {"text": "Done."}, options=("--json",)).stdout


def test_help_shows_an_example_of_each_provider() -> None:
    said = agrun("--help").stdout
    for name in PROVIDERS:
        assert name == "offline" or f"-p {name}:" in said
    for variables in KEY_VARIABLES.values():
        assert variables[0] in said
    assert not re.search(r".{81,}", said)


def test_the_version() -> None:
    assert re.match(r"agrun \d+\.\d+", CliRunner().invoke(app, ["--version"]).stdout)


def command(*arguments: str, **env: str) -> subprocess.Popen[bytes]:
    clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return subprocess.Popen(
        [sys.executable, "-m", "agrun_host", "run", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**clean, **KEYS, **env},
    )


@pytest.mark.skipif(os.name != "posix", reason="Ctrl+C is a signal")
@pytest.mark.parametrize("stall", [0, 2], ids=["before the head's body", "in the middle of the stream"])
def test_ctrl_c_stops_the_run_on_the_wire(stall: int) -> None:
    with providers_at_work({"text": "Hello there, this is long.", "stallAfter": stall}) as fake:
        running = command("hi", "-p", "openai:m", "--base-url", fake.url, "--json")
        deadline = time.monotonic() + 20
        while not fake.stats.requests and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=20)
        assert (running.returncode, err) == (130, b"")
        assert json.loads(out.splitlines()[-1])["result"]["status"] == "aborted"
        while not fake.stats.closed and time.monotonic() < deadline:
            time.sleep(0.01)
        assert fake.stats.closed == 1


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["shown", "json"])
def test_output_that_is_not_utf_8(options: tuple[str, ...]) -> None:
    with providers_at_work({"text": "Grüße → 日本 ✓"}) as fake:
        running = command("hi", "-p", "openai:m", "--base-url", fake.url, *options, PYTHONIOENCODING="latin-1")
        out, err = running.communicate(timeout=20)
    assert (running.returncode, err) == (0, b"")
    if options:
        ended = json.loads(out.decode("utf-8").splitlines()[-1])
        assert ended["result"]["output"]["text"] == "Grüße → 日本 ✓"
    else:
        assert out.decode("latin-1") == "Grüße ? ?? ?\n"


def test_a_reader_that_goes_away_ends_it_in_silence() -> None:
    with providers_at_work({"text": "word " * 2000, "delayMs": 1}) as fake:
        running = command("hi", "-p", "openai:m", "--base-url", fake.url, "--json")
        assert running.stdout is not None
        running.stdout.readline()
        running.stdout.close()
        running.stdout = None
        _, err = running.communicate(timeout=20)
    assert b"Traceback" not in err
    assert running.returncode == 1
