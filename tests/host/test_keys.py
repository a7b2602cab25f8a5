"""Keys from the environment: whose variable is whose, and that every form of `provider` takes the same path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import SecretStr

from agrun_host import Runtime
from agrun_host.keys import KEY_VARIABLES, missing_key, with_key
from agrun_wasm import RuntimeConfig
from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.providers.registry import PROVIDERS
from agrun_wasm.runtime.host_input import read_config

KEYLESS = {"offline", "scripted", "prompt-api"}

FORMS: dict[str, Callable[[], Runtime]] = {
    "text": lambda: Runtime(provider="openai:gpt"),
    "mapping": lambda: Runtime(provider={"name": "openai", "model": "gpt"}),
    "ProviderConfig": lambda: Runtime(provider=ProviderConfig(name="openai", model="gpt")),
    "config with text": lambda: Runtime({"provider": "openai:gpt"}),
    "config with mapping": lambda: Runtime({"provider": {"name": "openai", "model": "gpt"}}),
    "config and keywords": lambda: Runtime({"provider": "openai:gpt"}, max_steps=3),
    "RuntimeConfig": lambda: Runtime(RuntimeConfig(provider="openai:gpt")),
    "RuntimeConfig with ProviderConfig": lambda: Runtime(
        RuntimeConfig(provider=ProviderConfig(name="openai", model="gpt"))
    ),
}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for names in KEY_VARIABLES.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)


def key_of(config: RuntimeConfig) -> str | None:
    key = config.provider_config().api_key
    return key.get_secret_value() if isinstance(key, SecretStr) else None


def config(**provider: Any) -> RuntimeConfig:
    return read_config(None, {"provider": {"model": "m", **provider}})


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_provider_finds_the_key(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-environment")
    runtime = FORMS[form]()
    assert key_of(runtime.config) == "sk-from-environment"
    assert runtime.config.provider_config().model == "gpt"


def test_every_provider_has_its_variables_or_needs_none() -> None:
    assert set(KEY_VARIABLES) | KEYLESS == set(PROVIDERS)


@pytest.mark.parametrize(("provider", "variable"), [(p, v) for p, names in KEY_VARIABLES.items() for v in names])
def test_each_variable_serves_its_providers_only(provider: str, variable: str) -> None:
    for name in KEY_VARIABLES:
        found = key_of(with_key(config(name=name), {variable: "k"}))
        assert found == ("k" if variable in KEY_VARIABLES[name] else None)


@pytest.mark.parametrize(
    ("environment", "key"),
    [
        ({"GEMINI_API_KEY": "first", "GOOGLE_API_KEY": "second"}, "first"),
        ({"GEMINI_API_KEY": "", "GOOGLE_API_KEY": "second"}, "second"),
        ({"GEMINI_API_KEY": " first\n"}, "first"),
        ({"GEMINI_API_KEY": "  "}, None),
    ],
)
def test_the_first_variable_that_holds_something_counts(environment: dict[str, str], key: str | None) -> None:
    assert key_of(with_key(config(name="gemini"), environment)) == key


def test_a_key_of_the_config_stays() -> None:
    given = config(name="openai", apiKey="mine")
    assert with_key(given, {"OPENAI_API_KEY": "theirs"}) is given

    def ask() -> str:
        return "asked"

    asked = config(name="openai", apiKey=ask)
    assert with_key(asked, {"OPENAI_API_KEY": "theirs"}).provider_config().api_key is ask


@pytest.mark.parametrize("key", ["", "  "])
def test_an_empty_key_is_none(key: str) -> None:
    assert key_of(with_key(config(name="openai", apiKey=key), {"OPENAI_API_KEY": "k"})) == "k"


@pytest.mark.parametrize("header", ["Authorization", "X-Api-Key", "x-goog-api-key", "api-key"])
def test_a_header_that_signs_in_keeps_the_key_at_home(header: str) -> None:
    given = config(name="anthropic", headers={header: "gateway"})
    assert with_key(given, {"ANTHROPIC_API_KEY": "k"}) is given
    assert missing_key(given) is None


def test_a_transport_of_the_host_is_told_no_key() -> None:
    given = read_config(None, {"provider": "openai:m", "providers": {"openai": object()}})
    assert with_key(given, {"OPENAI_API_KEY": "k"}) is given
    assert missing_key(given) is None


@pytest.mark.parametrize(
    ("provider", "needed"),
    [
        ({"name": "openai"}, "OPENAI_API_KEY"),
        ({"name": "openai-responses"}, "OPENAI_API_KEY"),
        ({"name": "anthropic"}, "ANTHROPIC_API_KEY"),
        ({"name": "gemini"}, "GEMINI_API_KEY or GOOGLE_API_KEY"),
        ({"name": "openai", "apiKey": "k"}, None),
        ({"name": "openai", "baseUrl": "http://127.0.0.1:1"}, None),
        ({"name": "openai-compatible"}, None),
        ({"name": "offline"}, None),
        ({"name": "no such one"}, None),
    ],
)
def test_whose_key_is_missing(provider: dict[str, str], needed: str | None) -> None:
    problem = missing_key(config(**provider))
    assert (problem is None) if needed is None else (problem is not None and f"set {needed} in" in problem)


def test_no_key_is_shown_by_a_config(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-marker")
    runtime = Runtime(provider="openai:gpt")
    for shown in (repr(runtime.config), str(runtime.config.to_json()), str(runtime.describe_composition())):
        assert "sk-marker" not in shown
