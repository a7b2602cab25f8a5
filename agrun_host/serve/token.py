"""The server's token: where a request may carry it, compared in constant time.

In Authorization, everywhere. A page that calls a provider through the relay sends what it signs in with in the one
header of that provider's dialect, so under that path the token may stand there instead: it is the page's only key. The
relays pass neither on. Must not know: what is answered without one.
"""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers

from agrun_host.serve.provider_relay import key_header

__all__ = ["carries"]

_BEARER = "Bearer "


def carries(headers: Headers, path: str, token: str) -> bool:
    """Does a request to this path carry the token?"""
    found = _same(headers.get("authorization", ""), _BEARER + token)
    header = key_header(path)
    if header is not None and header != "authorization":
        found |= _same(headers.get(header, ""), token)
    return found


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("latin-1", "replace"), expected.encode())
