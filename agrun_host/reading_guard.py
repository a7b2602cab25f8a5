"""The reading guard: which URLs, ports and addresses are read where the wish to read is a model's, or a page's.

A URL is looked at before a connection, and the addresses of its name at the connection, of which one is then taken: a
name that answers differently a moment later changes nothing. On each redirect again. Must not know: sockets, requests.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Sequence

from agrun_wasm.contracts.ports import FetchError
from agrun_wasm.text.hosts import is_private_host
from agrun_wasm.text.urls import check_public_url

__all__ = ["WEB_PORTS", "NotPublicError", "check_addresses", "check_port", "check_url"]

WEB_PORTS = frozenset({80, 443})
_WHY = "only pages on the public network are read"


class NotPublicError(Exception):
    """What was asked for is not on the public network, or not of the web. Says what and where."""


def check_url(url: str) -> None:
    """Raises NotPublicError for a host that is private however it is written, FetchError for what is no URL to read."""
    fault = check_public_url(url)
    if fault == "invalid_url":
        said = "only http and https URLs without user info and control characters are read"
        raise FetchError("network_or_cors", said, url=url)
    if fault is not None:
        raise NotPublicError(f"the host is private or local; {_WHY}")


def check_port(port: int | None, more: Collection[int]) -> None:
    """Raises NotPublicError for a port that is neither one of the web's nor among `more`."""
    if port is not None and port not in WEB_PORTS and port not in more:
        known = ", ".join(map(str, sorted({*WEB_PORTS, *more})))
        raise NotPublicError(f"port {port} is none of those that are read from ({known})")


def check_addresses(host: str, addresses: Sequence[str]) -> None:
    """Raises NotPublicError where one of a name's addresses is not public: the next try could take that one.

    Which one is not told: it may come back to somebody who is to learn nothing about this network.
    """
    for address in addresses:
        bare = address.partition("%")[0]
        literal = f"[{bare}]" if ":" in bare else bare
        if "%" in address or is_private_host(literal) or not ipaddress.ip_address(bare).is_global:
            raise NotPublicError(f"the name {host} leads to an address that is not public; {_WHY}")
