"""Proxies that the environment names (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY), each with a pool of its own.

Owned here: which proxy serves a host. A proxy resolves names itself, so calls that must reach public addresses only
never come here. Must not know: requests, redirects.
"""

from __future__ import annotations

import asyncio
import os
from urllib.parse import unquote, urlsplit

import httpcore2

from agrun_host.network import Sockets

__all__ = ["Proxies", "Proxy"]

_VARIABLES = frozenset({"http_proxy", "https_proxy", "all_proxy"})
_KEEP_S = 30.0


class Proxy(httpcore2.AsyncHTTPProxy):
    """The pool of one proxy. `place` is its host and port, without the password that the address may hold."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        self.place = parts.netloc.rpartition("@")[2]
        user = None if parts.username is None else (unquote(parts.username), unquote(parts.password or ""))
        tls = httpcore2.default_ssl_context()
        super().__init__(
            proxy_url=f"{parts.scheme}://{self.place}",
            proxy_auth=None if user is None else (user[0].encode(), user[1].encode()),
            ssl_context=tls,
            proxy_ssl_context=tls if parts.scheme == "https" else None,
            max_connections=None,
            keepalive_expiry=_KEEP_S,
            network_backend=Sockets(public_only=False),
        )


class Proxies:
    """The proxies of this process. One event loop at a time; pools of another one are forgotten."""

    def __init__(self, *, heed_environment: bool) -> None:
        self._any = heed_environment and any(name.lower() in _VARIABLES for name in os.environ)
        self._pools: dict[str, Proxy] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def serving(self, url: httpcore2.URL) -> Proxy | None:
        """The proxy for a URL, None for a direct connection."""
        address = _address(url.scheme.decode(), url.host.decode()) if self._any else None
        if address is None:
            return None
        self._forget_other_loops()
        if address not in self._pools:
            self._pools[address] = Proxy(address)
        return self._pools[address]

    async def aclose(self) -> None:
        self._forget_other_loops()
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            await pool.aclose()

    def _forget_other_loops(self) -> None:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._pools.clear()


def _address(scheme: str, host: str) -> str | None:
    import urllib.request  # brings half of the standard library along, and few machines name a proxy

    if host == "localhost" or host.startswith("127.") or urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(scheme) or proxies.get("all")
