"""Configured base URL to request URL, with and without a version, slashes, a query or the endpoint itself.

Must not know: dialects. A base URL is never echoed in an error: it may hold a key.
"""

from __future__ import annotations

import re
from urllib.parse import urlencode, urlsplit

from agrun_wasm.contracts.errors import ConfigInvalid

__all__ = ["check_base_url", "endpoint"]

_VERSION = re.compile(r"v\d+(?:(?:alpha|beta)\d*)?", re.IGNORECASE)
#: an Azure deployment stands where others have the version
_UNVERSIONED = frozenset({"deployments"})


def endpoint(base_url: str, path: str, *, version: str, query: dict[str, str] | None = None) -> str:
    """`path` under the base URL, with `version` before it unless the base names one; the base's own query is kept."""
    parts = urlsplit(base_url.strip())
    segments = [segment for segment in parts.path.split("/") if segment]
    wanted = path.split("/")
    for length in range(len(wanted), 0, -1):
        if segments[-length:] == wanted[:length]:
            del segments[-length:]
            break
    if not any(_VERSION.fullmatch(segment) or segment in _UNVERSIONED for segment in segments):
        segments.append(version)
    origin = f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
    queries = [text for text in (parts.query, urlencode(query or {})) if text]
    return f"{origin}/{'/'.join([*segments, *wanted])}" + (f"?{'&'.join(queries)}" if queries else "")


def check_base_url(base_url: str, *, browser: bool) -> None:
    """Raises ConfigInvalid for what is no base URL. In a page one without an origin means the page's own."""
    try:
        parts = urlsplit(base_url.strip())
        host = parts.hostname
    except ValueError:
        raise ConfigInvalid("config: provider.baseUrl is no URL") from None
    if parts.username is not None or parts.password is not None:
        raise ConfigInvalid("config: provider.baseUrl holds user info; use apiKey or headers instead")
    if browser and not parts.scheme and not parts.netloc and parts.path.startswith("/"):
        return
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigInvalid("config: provider.baseUrl must begin with http:// or https:// and name a host")
