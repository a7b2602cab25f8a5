"""What a server is told: where it listens, whom it answers, and how much of each it takes."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from agrun_wasm.contracts.errors import ConfigInvalid

__all__ = ["ServeSettings"]

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class ServeSettings:
    """Settings of `serve`. Raises ConfigInvalid for an address that others reach, without a token.

    `origins` are pages of elsewhere that may call (`https://app.example.org`), `hosts` names under which this server is
    reached, besides its own address. Bytes, seconds and counts; a client is an address.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = field(default=None, repr=False)
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    page: Path | None = None
    max_body_bytes: int = 4 * 1024 * 1024
    body_seconds: float = 30.0
    requests_per_client: int = 256
    requests_at_once: int = 2_000
    ping_seconds: float = 15.0
    #: events that wait for a reader, and how long it may leave them all waiting
    events_waiting: int = 1_000
    lag_seconds: float = 10.0
    #: a reader that takes nothing for so long is let go; it can come back for what it has not seen
    send_seconds: float = 60.0

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token.strip()) < 16:
            raise ConfigInvalid("serve: the token is too short", hint="Take at least 16 characters, made at random.")
        if self.token is None and not self.is_loopback:
            raise ConfigInvalid(
                f"serve: {self.host} can be reached by others, and there is no token",
                hint="Set AGRUN_TOKEN (or --token-file), or listen on 127.0.0.1.",
            )
        for origin in self.origins:
            scheme, separator, rest = origin.partition("://")
            if scheme not in ("http", "https") or not separator or not rest or "/" in rest or "*" in rest:
                raise ConfigInvalid(
                    f"serve: {origin!r} is no origin", hint="Write scheme, host and port alone: https://app.example.org"
                )

    @property
    def is_loopback(self) -> bool:
        """Is it reached from this machine only?"""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def names(self) -> frozenset[str]:
        """What may stand in the Host header, without the port, in lower case."""
        own = f"[{self.host}]" if ":" in self.host and not self.host.startswith("[") else self.host
        given = {name.lower() for name in self.hosts}
        if self.is_loopback:
            given.update(_LOOPBACK_NAMES)
        return frozenset(given | {own.lower()})
