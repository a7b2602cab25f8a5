"""The core's Runtime with this host's ports: HTTP by httpx2's engine, keys from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agrun_host.keys import key_from_environment
from agrun_host.transport import HttpFetch
from agrun_wasm.contracts.config import RuntimeConfig
from agrun_wasm.runtime.runtime import Runtime as CoreRuntime


class Runtime(CoreRuntime):
    """`agrun_wasm.Runtime` for CPython: the same face, with a transport and with keys where the config has none."""

    def __init__(self, config: RuntimeConfig | Mapping[str, Any] | None = None, **keys: Any) -> None:
        keys.setdefault("fetch", HttpFetch())
        super().__init__(config, **with_key(config, keys))


def with_key(config: RuntimeConfig | Mapping[str, Any] | None, keys: dict[str, Any]) -> dict[str, Any]:
    """The keywords, the provider's key filled in from the environment where none was given."""
    provider = keys.get("provider")
    if config is not None or provider is None:
        return keys
    if isinstance(provider, str):
        name, _, model = provider.partition(":")
        provider = {"name": name, "model": model}
    if isinstance(provider, Mapping) and not (provider.get("apiKey") or provider.get("api_key")):
        key = key_from_environment(str(provider.get("name")))
        if key is not None:
            return {**keys, "provider": {**provider, "apiKey": key}}
    return keys
