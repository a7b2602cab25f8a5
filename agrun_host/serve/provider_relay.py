"""/v1/providers/{name}/...: model calls of a page, given the key that only the server has.

A call goes to the provider's own address, by POST, to the paths on which models answer, and nowhere else. What a client
sends to sign in with is left out, and so is the key from whatever comes back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from starlette.requests import Request
from starlette.routing import Route

from agrun_host.keys import find_key
from agrun_host.provider_headers import DIALECT_HEADERS
from agrun_host.serve.passing import INERT, PassedOn
from agrun_host.serve.problems import Refused
from agrun_host.serve.redacting import header_without, without
from agrun_wasm.contracts.ports import Fetch, FetchError, FetchRequest, FetchResponse
from agrun_wasm.providers.endpoint import endpoint

__all__ = ["Relayed", "key_header", "provider_relay_routes", "relayed_providers"]

_TIMEOUT_MS = 120_000
_MOST_SECONDS = 3_600
_MOST_BYTES = 64 * 1024 * 1024
#: what is passed on of a request and of an answer; everything else is the connection's, or nobody's business
_SENT = ("accept", "content-type", *DIALECT_HEADERS)
_GIVEN = ("content-type", "retry-after", "retry-after-ms", "request-id", "x-request-id")


class _Dialect(NamedTuple):
    """The first of `versions` stands before a path that names none: a page's base URL (`/v1/providers/openai`) has one
    of its own already, and the page adds none."""

    base_url: str | None
    versions: tuple[str, ...]
    paths: str
    header: str


_TABLE: dict[str, _Dialect] = {
    "openai": _Dialect("https://api.openai.com", ("v1",), "chat/completions|responses", "authorization"),
    "openai-compatible": _Dialect(None, ("v1",), "chat/completions", "authorization"),
    "anthropic": _Dialect("https://api.anthropic.com", ("v1",), "messages", "x-api-key"),
    "gemini": _Dialect(
        "https://generativelanguage.googleapis.com",
        ("v1beta", "v1"),
        "models/[A-Za-z0-9._-]+:(?:generateContent|streamGenerateContent)",
        "x-goog-api-key",
    ),
}
#: providers that are the same place as another one
_SAME = {"openai-responses": "openai"}


class Relayed(NamedTuple):
    """A provider that the server passes on to: its address, the paths, the header of the key, the key ("": none)."""

    base_url: str
    version: str
    paths: re.Pattern[str]
    header: str
    key: str

    def address(self, path: str, *, events: bool) -> str | None:
        """Where a path of a client leads, None for one that is not passed on. `events`: Gemini's wish to stream."""
        found = self.paths.fullmatch(path)
        if found is None:
            return None
        query = {"alt": "sse"} if events else None
        return endpoint(self.base_url, found["path"], version=found["version"] or self.version, query=query)

    def signed_in(self) -> dict[str, str]:
        if not self.key:
            return {}
        return {self.header: f"Bearer {self.key}" if self.header == "authorization" else self.key}


def key_header(path: str) -> str | None:
    """The header in which calls to a path of the relay carry a key, None for any other path."""
    _, *parts = path.split("/")
    name = parts[2] if parts[:2] == ["v1", "providers"] and len(parts) > 3 else ""
    dialect = _TABLE.get(_SAME.get(name, name))
    return None if dialect is None else dialect.header


def relayed_providers(
    environment: Mapping[str, str],
    base_urls: Mapping[str, str] | None = None,
    stored: Callable[[str], str | None] = lambda _provider: None,
) -> dict[str, Relayed]:
    """The providers whose key is in the environment, or is `stored`.

    `base_urls` gives another address of one, a gateway's or a server's of one's own, which may need no key; a provider
    that is only OpenAI-compatible has no other.
    """
    places = {_SAME.get(name, name): url for name, url in (base_urls or {}).items()}
    found = {}
    for name, dialect in _TABLE.items():
        key = find_key(name, environment, stored) or ""
        place = places.get(name, dialect.base_url)
        if place is not None and (key or name in places):
            paths = re.compile(f"(?:(?P<version>{'|'.join(dialect.versions)})/)?(?P<path>{dialect.paths})")
            found[name] = Relayed(place, dialect.versions[0], paths, dialect.header, key)
    return found


def provider_relay_routes(providers: Mapping[str, Relayed], fetch: Fetch) -> list[Route]:
    """The route under /v1/providers. A page uses it as `baseUrl: "/v1/providers/openai"`, without a key."""

    async def relay(request: Request) -> PassedOn:
        name = request.path_params["name"]
        provider = providers.get(_SAME.get(name, name))
        if provider is None:
            known = ", ".join(providers) or "none"
            raise Refused(404, "NOT_FOUND", f"this server has no key for that provider; it has: {known}")
        path = request.path_params["path"]
        raw = request.scope.get("raw_path", b"").decode("latin-1").partition("?")[0]
        address = provider.address(path, events=request.query_params.get("alt") == "sse")
        # The path as it was sent, too: nothing in it may mean something else to the provider than it does here.
        if address is None or not raw.endswith(f"/{path}"):
            raise Refused(404, "NOT_FOUND", "this path of the provider is not passed on")
        headers = {name: value for name in _SENT if (value := request.headers.get(name)) is not None}
        return PassedOn(
            fetch,
            FetchRequest(
                "POST", address, {**headers, **provider.signed_in()}, await request.body(), timeout_ms=_TIMEOUT_MS
            ),
            headers=partial(_given, provider.key),
            refused=_refused,
            seconds=_MOST_SECONDS,
            most_bytes=_MOST_BYTES,
            through=partial(without, provider.key),
        )

    return [Route("/v1/providers/{name}/{path:path}", relay, methods=["POST"])]


def _given(key: str, answer: FetchResponse) -> dict[str, str]:
    given = {name: header_without(key, answer.headers[name]) for name in _GIVEN if name in answer.headers}
    return {**given, **INERT}


def _refused(fault: FetchError) -> Refused:
    # Its message may name a gateway's address, which is no business of a page's.
    if fault.kind == "timeout":
        return Refused(504, "PROVIDER_TIMEOUT", "the provider gave no answer in time")
    return Refused(502, "PROVIDER_UNREACHABLE", f"the provider gave no answer ({fault.kind})")
