"""Contracts on the wire: names, versions, a golden state for each schema version, messages that never echo a value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agrun_wasm import ConfigInvalid
from agrun_wasm.contracts.config import RuntimeConfig
from agrun_wasm.contracts.errors import RUN_ERRORS
from agrun_wasm.contracts.events import DELTA_TYPES, STEP_TYPES
from agrun_wasm.contracts.request import RunInput
from agrun_wasm.contracts.schemas import json_schemas
from agrun_wasm.contracts.state import SCHEMA_CHANGES, SCHEMA_VERSION
from agrun_wasm.contracts.validation import parse
from agrun_wasm.session.saved import load_state, save_state
from tests.kit import adder, calls, scripted

GOLDEN = Path(__file__).parent / "golden"


async def golden_run() -> dict[str, Any]:
    """A run that waits for an approval after one call: most slots of a state are filled."""
    runtime, _ = scripted(
        [calls(("add", {"a": 1, "b": 2})), calls(("send", {"a": 3, "b": 4}))],
        actions=[adder(), adder(name="send", tier=1)],
        profile="minimal",
        runDeadlineMs=60_000,
    )
    result = await runtime.session("golden").run({"prompt": "add, then send", "system": "Be brief."})
    return result.state


def test_every_version_has_a_golden_file() -> None:
    assert all((GOLDEN / f"state-v{version}.json").exists() for version in SCHEMA_CHANGES)


@pytest.mark.parametrize("file", sorted(path.name for path in GOLDEN.glob("state-v*.json")))
def test_everything_that_was_ever_saved_still_loads(file: str) -> None:
    """Keys with a default came later without a new version: those files stand beside their version's own."""
    state = load_state(json.loads((GOLDEN / file).read_text(encoding="utf-8")))
    assert state.approvals.pending[0].policy.action_name == "send"
    assert state.tool_context.history[0].output == {"sum": 3}


async def test_the_newest_golden_file_is_what_is_written_today() -> None:
    """When this fails, either the change was a mistake, or SCHEMA_VERSION is due for a bump and a new golden file."""
    written = await golden_run()
    assert written == json.loads((GOLDEN / f"state-v{SCHEMA_VERSION}.json").read_text(encoding="utf-8"))


async def test_export_then_import_is_identity() -> None:
    written = await golden_run()
    assert save_state(load_state(written)) == written
    assert save_state(load_state(json.dumps(written))) == written


def test_schemas_use_wire_names_and_no_unknown_keys() -> None:
    schemas = json_schemas()
    config = schemas["runtime-config"]
    assert config["additionalProperties"] is False
    assert "maxPlanParallel" in config["properties"]
    assert "max_plan_parallel" not in json.dumps(config)
    json.dumps(schemas)


SECRETS: list[dict[str, Any]] = [
    {"provider": {"name": "openai", "model": "m", "apiKey": ["sk-very-secret"]}},
    {"provider": {"name": "openai", "model": "m", "apikey": "sk-very-secret"}},
    {"provider": {"name": "openai", "model": "m", "headers": {"authorization": ["sk-very-secret"]}}},
    {"provider": {"name": "openai", "model": "m", "headers": "sk-very-secret"}},
    {
        "provider": "openai:m",
        "webSearch": {"endpoint": "https://s.example", "headers": {"x-key": {"sk-very-secret": 1}}},
    },
    {"provider": "openai:m", "webSearch": {"endpoint": "https://s.example", "header": {"x-key": "sk-very-secret"}}},
]


@pytest.mark.parametrize("config", SECRETS)
def test_a_config_error_never_echoes_a_secret(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        parse(RuntimeConfig, config, "config")
    assert "sk-very-secret" not in str(caught.value)
    assert "sk-very-secret" not in repr(caught.value.info())


def test_a_config_shows_no_secret_either() -> None:
    config = parse(RuntimeConfig, {"provider": {"name": "openai", "model": "m", "apiKey": "sk-very-secret"}}, "config")
    assert "sk-very-secret" not in repr(config)
    assert "sk-very-secret" not in config.model_dump_json()


INPUTS: list[tuple[Any, list[str]]] = [
    ({}, ["prompt", "missing"]),
    ({"prompt": 3}, ["prompt"]),
    ({"prompt": "x", "converstion": []}, ["converstion", "conversation"]),
    ({"prompt": "x", "conversation": [{"role": "system", "parts": []}]}, ["role"]),
    ({"prompt": "x", "parts": [{"type": "audio"}]}, ["parts[0]"]),
    ({"prompt": "x", "parts": [{"type": "image", "uri": "https://x"}]}, ["parts[0]", "uri", "url"]),
    ({"prompt": "x", "requestedCitations": {"minUrlCount": 0}}, ["minUrlCount"]),
    (None, ["run input"]),
    ([], ["run input"]),
]


@pytest.mark.parametrize(("value", "words"), INPUTS)
def test_a_bad_input_says_what_and_where(value: Any, words: list[str]) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        parse(RunInput, value, "run input")
    for word in words:
        assert word in caught.value.message


def test_tables_hold_no_name_twice() -> None:
    assert len(set(STEP_TYPES) | set(DELTA_TYPES)) == len(STEP_TYPES) + len(DELTA_TYPES)
    assert all(code.isupper() for code in RUN_ERRORS)
