"""`agrun replay`: a finished run and a cassette are shown again, by nobody's help."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agrun_host.cli import app
from tests.host.kit import providers_at_work

MILES = "How many kilometres are 26.2 miles?"


def agrun(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin, env={"OPENAI_API_KEY": "sk-abcdefgh"})


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    file = tmp_path / "run.jsonl"
    file.write_text(agrun("run", MILES, "--json").stdout, encoding="utf-8")
    return file


def test_a_run_is_shown_as_it_was(kept: Path) -> None:
    live, again = agrun("run", MILES), agrun("replay", str(kept))
    assert (again.exit_code, again.stdout, again.stderr) == (0, live.stdout, live.stderr)


def test_its_json_is_what_was_kept(kept: Path) -> None:
    again = [json.loads(line) for line in agrun("replay", str(kept), "--json").stdout.splitlines()]
    assert again == [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]


def test_step_by_step_it_waits_before_each(kept: Path) -> None:
    steps = [json.loads(line)["type"] for line in kept.read_text(encoding="utf-8").splitlines()]
    count = sum(not kind.endswith("-delta") and kind != "result" for kind in steps)
    whole, short = (agrun("replay", str(kept), "--step", stdin="\n" * lines) for lines in (count, count - 1))
    assert (whole.exit_code, whole.stdout) == (0, "26.2 miles = 42.1648 kilometres.\n")
    assert (short.exit_code, short.stdout) == (130, "")


def test_a_result_alone_has_its_steps(kept: Path) -> None:
    result = json.loads(kept.read_text(encoding="utf-8").splitlines()[-1])["result"]
    kept.write_text(json.dumps(result, indent=1), encoding="utf-8")
    assert agrun("replay", str(kept)).stdout == "26.2 miles = 42.1648 kilometres.\n"


def test_a_cassette_shows_its_exchanges_and_steers_no_terminal(tmp_path: Path) -> None:
    file = tmp_path / "asked.jsonl"
    with providers_at_work({"raw": ["data: \x1b[31mred\n\n"]}) as fake:
        agrun("run", "hi", "-p", "openai:m", "--base-url", fake.url, "--record", str(file))
        shown = agrun("replay", str(file))
        assert f"1 POST {fake.url}" in shown.stderr
    assert "200 OK, " in shown.stderr
    assert "\\x1b[31mred" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert json.loads(agrun("replay", str(file), "--json").stdout.splitlines()[0])["number"] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no run"),
        ("nope", "line 1 is no JSON object"),
        ('{"seq": "x"}', "line 1"),
        ('{"cassette": 9}', "a cassette of version 9"),
    ],
)
def test_a_file_that_holds_neither(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(text, encoding="utf-8")
    result = agrun("replay", str(file))
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert "Traceback" not in result.stderr
