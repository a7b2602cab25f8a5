"""Provider keys, from the environment or where a host keeps them: which variable holds whose key, who needs one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from pydantic import SecretStr

from agrun_host.provider_headers import AUTH_HEADERS
from agrun_wasm.contracts.config import ProviderConfig, RuntimeConfig

__all__ = ["KEY_VARIABLES", "find_key", "missing_key", "with_key"]

#: provider -> its variables, the first that is set counts
KEY_VARIABLES: dict[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
    "openai-compatible": ("AGRUN_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}


def find_key(
    provider: str, environment: Mapping[str, str], stored: Callable[[str], str | None] | None = None
) -> str | None:
    """A provider's key: from the environment, else where `stored` finds it. Providers of the same variables are one."""
    variables = KEY_VARIABLES.get(provider, ())
    key = next(filter(None, (environment.get(name, "").strip() for name in variables)), None)
    if key is not None or stored is None or not variables:
        return key
    same = (name for name, theirs in KEY_VARIABLES.items() if theirs == variables and name != provider)
    return next(filter(None, map(stored, (provider, *same))), None)


def with_key(
    config: RuntimeConfig,
    environment: Mapping[str, str] | None = None,
    stored: Callable[[str], str | None] | None = None,
) -> RuntimeConfig:
    """The config, the provider's key filled in from the environment where it has none and sets no such header.

    `stored` gives a provider's key from where else keys are kept; it is asked where the environment has none.
    """
    provider = config.provider_config()
    if provider.name in config.providers or _signs_in(provider):
        return config
    values = os.environ if environment is None else environment
    key = find_key(provider.name, values, stored)
    if key is None:
        return config
    return config.model_copy(update={"provider": provider.model_copy(update={"api_key": SecretStr(key)})})


def missing_key(config: RuntimeConfig) -> str | None:
    """What to do about a missing key, in words, or None where there is a key or none is needed."""
    provider = config.provider_config()
    variables = KEY_VARIABLES.get(provider.name)
    if variables is None or provider.name in config.providers or _signs_in(provider):
        return None
    if provider.name == "openai-compatible" or provider.base_url is not None:
        return None  # servers of one's own often ask for none
    return (
        f"provider {provider.name!r} needs a key: set {' or '.join(variables)} in the environment, "
        f"or keep it with `agrun keys set {provider.name}`"
    )


def _signs_in(provider: ProviderConfig) -> bool:
    key = provider.api_key
    has_key = key is not None and not (isinstance(key, SecretStr) and not key.get_secret_value().strip())
    return has_key or any(name.lower() in AUTH_HEADERS for name in provider.headers)
