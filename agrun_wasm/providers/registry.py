"""Providers by name: the table, and the checks made when a runtime is built.

Owned here: which name means which provider, and what each needs (a model, a baseUrl, a fetch port). Must not know: how
a provider speaks. Dialects and providers are imported when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.contracts.naming import did_you_mean
from agrun_wasm.contracts.ports import Clock, Fetch, ModelProvider

if TYPE_CHECKING:
    from agrun_wasm.providers.dialect import Dialect

__all__ = ["PROVIDERS", "create_provider"]

Factory = Callable[[ProviderConfig, Fetch | None, Clock], ModelProvider]


def create_provider(
    config: ProviderConfig, host_providers: Mapping[str, Any], fetch: Fetch | None, clock: Clock
) -> ModelProvider:
    """The provider that `config.name` names: one of the host's own, else one of PROVIDERS. Raises ConfigInvalid."""
    if config.name in host_providers:
        from agrun_wasm.providers.host_provider import HostProvider

        return HostProvider(config.name, host_providers[config.name])
    factory = PROVIDERS.get(config.name)
    if factory is None:
        known = [*PROVIDERS, *host_providers]
        raise ConfigInvalid(
            f"config: unknown provider {config.name!r}{did_you_mean(config.name, known)}",
            hint=f"Known are {', '.join(known)}; others are registered in `providers`.",
        )
    return factory(config, fetch, clock)


def _over_http(config: ProviderConfig, fetch: Fetch | None, clock: Clock) -> ModelProvider:
    from agrun_wasm.providers.http_provider import HttpProvider

    if not config.model:
        raise ConfigInvalid(f'config: provider {config.name!r} needs a model: "{config.name}:<model>"')
    if config.name == "openai-compatible" and not config.base_url:
        raise ConfigInvalid(
            "config: provider 'openai-compatible' needs `baseUrl`",
            hint='For example {"name": "openai-compatible", "model": "...", "baseUrl": "http://127.0.0.1:11434/v1"}.',
        )
    if fetch is None:
        raise ConfigInvalid(
            f"config: provider {config.name!r} needs the fetch port",
            hint="Pass fetch=HttpFetch() from agrun_host, or any object with the port's `open(request)`.",
        )
    return HttpProvider(_dialect(config), config, fetch, clock)


def _dialect(config: ProviderConfig) -> Dialect:
    if config.name == "openai-responses":
        from agrun_wasm.providers.openai_responses import OpenAiResponses

        return OpenAiResponses()
    if config.name == "anthropic":
        from agrun_wasm.providers.anthropic import Anthropic

        return Anthropic()
    if config.name == "gemini":
        from agrun_wasm.providers.gemini import Gemini

        return Gemini()
    from agrun_wasm.providers.openai_chat import OpenAiChat

    return OpenAiChat(compatible=config.name == "openai-compatible")


def _scripted(config: ProviderConfig, _fetch: Fetch | None, clock: Clock) -> ModelProvider:
    from agrun_wasm.providers.scripted import ScriptedProvider

    replies = config.settings.get("replies")
    if not isinstance(replies, list):
        raise ConfigInvalid(
            "config: provider 'scripted' needs `settings.replies`, a list of replies",
            hint="Or register one: providers={'scripted': ScriptedProvider([...])}.",
        )
    return ScriptedProvider(replies, now=clock.now)


def _offline(_config: ProviderConfig, _fetch: Fetch | None, _clock: Clock) -> ModelProvider:
    from importlib import import_module

    provider: ModelProvider = import_module("agrun_wasm.providers.offline").OfflineProvider()
    return provider


def _prompt_api(_config: ProviderConfig, _fetch: Fetch | None, _clock: Clock) -> ModelProvider:
    raise ConfigInvalid(
        "config: provider 'prompt-api' runs in a page only, on the browser's own model, which `Agrun.createRuntime` of "
        "agrun.js reaches",
        hint="Elsewhere use another provider, such as openai-compatible with a local baseUrl.",
    )


#: every provider that needs no registration
PROVIDERS: dict[str, Factory] = {
    "openai": _over_http,
    "openai-responses": _over_http,
    "anthropic": _over_http,
    "gemini": _over_http,
    "openai-compatible": _over_http,
    "prompt-api": _prompt_api,
    "offline": _offline,
    "scripted": _scripted,
}
