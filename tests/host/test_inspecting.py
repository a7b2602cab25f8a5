"""`agrun describe`, `inspect-prompt` and `surface`: tables with origins and sizes, JSON, and the generated page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agrun_host.cli import app
from agrun_host.surface import surface_markdown
from agrun_wasm import Plugin, Runtime
from tests.kit import adder

SURFACE = Path(__file__).parents[2] / "docs" / "surface.md"


def agrun(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def rows_of(text: str) -> dict[str, list[str]]:
    """First word of a line -> the others; the first line that begins with it counts."""
    rows: dict[str, list[str]] = {}
    for line in text.splitlines():
        if words := line.split():
            rows.setdefault(words[0], words[1:])
    return rows


def test_describe_lists_every_action_with_policy_origin_and_size() -> None:
    result = agrun("describe")
    assert result.exit_code == 0, result.stderr
    described = Runtime(provider="offline").describe_composition()
    rows = rows_of(result.stdout)
    for action in described["actions"]:
        row = rows[action["name"]]
        assert row[:4] == [str(action["tier"]), action["policy"], action["origin"], str(action["schemaBytes"])]
    assert "web_search is not offered: no search provider is configured" in result.stdout
    assert "unit-convert" in rows
    assert "fingerprint:" in rows


def test_inspect_prompt_names_where_each_part_comes_from_and_what_it_weighs() -> None:
    result = agrun("inspect-prompt", "hi", "--no-bundled")
    assert result.exit_code == 0, result.stderr
    inspected = Runtime(provider="offline").inspect_prompt("hi")
    rows = rows_of(result.stdout)
    for section in inspected["sections"]:
        assert rows[section["id"]][:3] == [section["origin"], str(section["bytes"]), str(section["estTokens"])]
    for tool in inspected["tools"]:
        origin = "decision" if tool["name"] in ("plan", "finalize", "final_answer") else "built-in"
        assert rows[tool["name"]][0] == origin
        assert int(rows[tool["name"]][1]) > 0
    totals = inspected["totals"]
    assert f"{totals['bytes'] + totals['messageBytes']} bytes" in result.stdout


def test_full_prints_the_texts_themselves() -> None:
    result = agrun("inspect-prompt", "hi [red]there[/red]", "--full", "--no-bundled")
    assert "hi [red]there[/red]" in result.stdout
    first = Runtime(provider="offline").inspect_prompt("x")["system"].splitlines()[0]
    assert first in result.stdout


@pytest.mark.parametrize("command", [("describe",), ("inspect-prompt", "hi"), ("surface",)])
def test_each_is_there_as_json(command: tuple[str, ...]) -> None:
    result = agrun(*command, "--json")
    assert result.exit_code == 0
    assert isinstance(json.loads(result.stdout), dict)


@pytest.mark.parametrize("mode", ["native_tools", "envelope"])
def test_the_profile_and_the_planner_mode_are_options(mode: str) -> None:
    result = agrun("describe", "--profile", "minimal", "--planner-mode", mode, "--json")
    described = json.loads(result.stdout)
    assert (described["profile"], described["plannerMode"]["mode"]) == ("minimal", mode)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--profile", "tiny"), "profile"),
        (("--provider", "opnai:x"), "openai"),
        (("--planner-mode", "magic"), "plannerMode"),
        (("--skill", "/nowhere/at/all"), "/nowhere/at/all"),
    ],
)
@pytest.mark.parametrize("command", [("describe",), ("inspect-prompt", "hi")])
def test_a_wrong_option_is_told_and_ends_with_2(
    command: tuple[str, ...], arguments: tuple[str, ...], said: str
) -> None:
    result = agrun(*command, *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_the_surface_page_is_what_the_code_says() -> None:
    assert SURFACE.read_text(encoding="utf-8") == agrun("surface").stdout, "`python build.py schema` writes it anew"


def test_the_surface_of_a_host_lists_its_own_parts() -> None:
    plugin = Plugin(name="mine", version="1", actions=[adder(name="send|it".replace("|", "_"))])
    index = Runtime(provider="offline", actions=[adder()], plugins=[plugin]).surface_index()
    page = surface_markdown(index)
    assert "### `add`" in page
    assert "### `send_it`" in page
    assert "| `a` | integer | yes |  |" in page
