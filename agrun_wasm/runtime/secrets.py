"""Secrets of a config: what must never leave, and the redactor that knows them. Rules: document 2, 2.5 (last line)."""

from __future__ import annotations

import inspect
from typing import Any

from pydantic import SecretStr

from agrun_wasm.contracts.config import ProviderConfig, RuntimeConfig, WebSearchConfig
from agrun_wasm.text.redaction import Redactor


class Secrets:
    """The key and header values of one config; a key that a callback gives is known from its first use on."""

    def __init__(self, config: RuntimeConfig) -> None:
        self._provider = config.provider_config()
        headers = [*self._provider.headers.values()]
        if isinstance(config.web_search, WebSearchConfig):
            headers += config.web_search.headers.values()
        key = self._provider.api_key
        known = [*headers, *([key] if isinstance(key, SecretStr) else [])]
        self.redactor = Redactor(secret.get_secret_value() for secret in known)

    def provider_config(self) -> ProviderConfig:
        """The provider's config, its key callback wrapped so that the redactor learns what it gives."""
        ask = self._provider.api_key
        if ask is None or isinstance(ask, SecretStr):
            return self._provider

        async def asked() -> Any:
            key = ask()
            if inspect.isawaitable(key):
                key = await key
            if isinstance(key, SecretStr):
                key = key.get_secret_value()
            if isinstance(key, str):
                self.redactor.add(key)
            return key

        return self._provider.model_copy(update={"api_key": asked})
