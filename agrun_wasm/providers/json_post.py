"""The POST of a dialect: what all of them share of a request.

Owned here: the headers (the dialect's, over them the host's), the body as UTF-8, the configured timeout. Must not know:
any dialect's fields.
"""

from __future__ import annotations

from collections.abc import Mapping

from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.ports import FetchRequest
from agrun_wasm.text.strict_json import without_surrogates

__all__ = ["bearer", "json_post"]


def json_post(config: ProviderConfig, url: str, body: str, headers: Mapping[str, str]) -> FetchRequest:
    """A call of the provider. `headers` are the dialect's own, names in lower case; the host's win over them."""
    merged = {"content-type": "application/json", **headers}
    for name, value in config.headers.items():
        merged[name.lower()] = value.get_secret_value()
    return FetchRequest(method="POST", url=url, headers=merged, body=_utf8(body), timeout_ms=config.timeout_ms)


def bearer(api_key: str | None) -> dict[str, str]:
    """The authorization header of a key, none without one."""
    return {"authorization": f"Bearer {api_key}"} if api_key else {}


def _utf8(text: str) -> bytes:
    """Lone surrogates as U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return without_surrogates(text).encode()
