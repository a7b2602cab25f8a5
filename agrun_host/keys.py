"""Provider keys from the environment: which variable holds which provider's key. Nothing else reads the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

from agrun_wasm.contracts.config import ProviderConfig

#: provider -> variables, the first that is set counts; AGRUN_API_KEY serves any provider that has none of its own
KEY_VARIABLES: dict[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
    "openai-compatible": ("AGRUN_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
#: providers that run without any key
KEYLESS = frozenset({"offline", "scripted", "openai-compatible"})


def key_from_environment(provider: str, environment: Mapping[str, str] | None = None) -> str | None:
    """The provider's key, or None where no variable holds one."""
    values = os.environ if environment is None else environment
    return next((values[name] for name in KEY_VARIABLES.get(provider, ()) if values.get(name)), None)


def missing_key(config: ProviderConfig) -> str | None:
    """What to do about a missing key, in words, or None where there is a key or none is needed."""
    variables = KEY_VARIABLES.get(config.name)
    if config.api_key is not None or config.name in KEYLESS or variables is None:
        return None
    return f"provider {config.name!r} needs a key: set {' or '.join(variables)} in the environment"
