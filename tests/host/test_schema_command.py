"""`agrun schema`: every published contract by its name, as JSON Schema."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from agrun_host.cli import app
from agrun_wasm.contracts.schemas import PUBLISHED


def agrun(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["schema", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_without_a_name_it_lists_them() -> None:
    assert agrun() == (0, "\n".join(PUBLISHED) + "\n", "")


@pytest.mark.parametrize("name", PUBLISHED)
def test_each_prints_a_valid_schema(name: str) -> None:
    code, said, _ = agrun(name)
    assert code == 0
    Draft202012Validator.check_schema(json.loads(said))


def test_all_of_them_are_one_object() -> None:
    assert list(json.loads(agrun("--all")[1])) == list(PUBLISHED)


def test_a_wrong_name_is_answered_with_the_right_one() -> None:
    code, said, problem = agrun("run-reslt")
    assert (code, said) == (2, "")
    assert "unknown schema 'run-reslt'; did you mean 'run-result'?" in problem
