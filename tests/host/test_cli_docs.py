"""docs/cli.md shows what the commands print, and names every command, option of waiting runs, and exit code."""

from __future__ import annotations

import os
import re

import pytest
import typer

from agrun_host.cli import EXIT_CODES, app
from agrun_host.keys import KEY_VARIABLES
from tests.host.cli_docs import PAGE, matches, played


@pytest.mark.skipif(os.name != "posix", reason="the examples are for a shell")
def test_the_examples_print_what_the_page_shows() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert played(page).split("\n") == page.split("\n"), "run `python -m tests.host.cli_docs`"


def test_every_command_has_an_example_and_every_code_and_key_a_row() -> None:
    page = PAGE.read_text(encoding="utf-8")
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    shown = "".join(re.findall(r"(?ms)^```console\n(.*?)^```$", page))
    for name in commands:
        assert re.search(rf"(?m)^\$ .*\bagrun {name}\b", shown), name
    for code in {*EXIT_CODES.values(), 2}:
        assert f"\n| {code} | " in page
    for variable in (name for names in KEY_VARIABLES.values() for name in names):
        assert f"`{variable}`" in page


@pytest.mark.parametrize(
    ("shown", "now", "same"),
    [
        ("a\n...\nz\n", "a\nb\nc\nz\n", True),
        ("a\n...\nz\n", "a\nz\n", True),
        ("a\n...\nz\n", "b\nz\n", False),
        ("a.\n", "ab\n", False),
        ("...\n", "x\n", True),
    ],
)
def test_an_ellipsis_stands_for_lines(shown: str, now: str, same: bool) -> None:
    assert matches(shown, now) is same
