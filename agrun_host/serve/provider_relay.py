"""/v1/providers/{name}/...: model calls of a page, given the key that only the server has.

A call goes to the provider's own address, by POST, to the paths on which models answer, and nowhere else. What a client
sends to sign in with is left out, and so is the key from whatever comes back.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from agrun_host.keys import KEY_VARIABLES
from agrun_host.serve.problems import Refused
from agrun_host.serve.redacting import without
from agrun_wasm.contracts.ports import Fetch, FetchError, FetchRequest

__all__ = ["Relayed", "provider_relay_routes", "relayed_providers"]

_TIMEOUT_MS = 120_000
#: what is passed on of a request and of an answer; everything else is the connection's, or nobody's business
_SENT = ("accept", "content-type", "anthropic-version", "anthropic-beta", "openai-beta")
_GIVEN = ("content-type", "retry-after", "retry-after-ms", "request-id", "x-request-id")


class Relayed(NamedTuple):
    """A provider that the server has a key for: its address, the paths that are passed on, the header of the key."""

    base_url: str
    paths: re.Pattern[str]
    header: str
    key: str

    def signed_in(self) -> dict[str, str]:
        return {self.header: f"Bearer {self.key}" if self.header == "authorization" else self.key}


#: name -> base URL, paths, header of the key
_TABLE: dict[str, tuple[str, str, str]] = {
    "openai": ("https://api.openai.com", r"v1/(chat/completions|responses)", "authorization"),
    "anthropic": ("https://api.anthropic.com", r"v1/messages", "x-api-key"),
    "gemini": (
        "https://generativelanguage.googleapis.com",
        r"v1(beta)?/models/[A-Za-z0-9._-]+:(generateContent|streamGenerateContent)",
        "x-goog-api-key",
    ),
}


def relayed_providers(environment: Mapping[str, str], base_urls: Mapping[str, str] | None = None) -> dict[str, Relayed]:
    """The providers whose key is in the environment. `base_urls` gives another address of one, a gateway's."""
    found = {}
    for name, (base_url, paths, header) in _TABLE.items():
        keys = (environment.get(variable, "").strip() for variable in KEY_VARIABLES[name])
        if key := next(filter(None, keys), None):
            place = (base_urls or {}).get(name, base_url).rstrip("/")
            found[name] = Relayed(place, re.compile(paths), header, key)
    return found


def provider_relay_routes(providers: Mapping[str, Relayed], fetch: Fetch) -> list[Route]:
    """The route under /v1/providers. A page uses it as `baseUrl: "/v1/providers/openai"`, without a key."""

    async def relay(request: Request) -> Response:
        provider = providers.get(request.path_params["name"])
        if provider is None:
            known = ", ".join(providers) or "none"
            raise Refused(404, "NOT_FOUND", f"this server has no key for that provider; it has: {known}")
        path = request.path_params["path"]
        raw = request.scope.get("raw_path", b"").decode("latin-1").partition("?")[0]
        # The path as it was sent, too: nothing in it may mean something else to the provider than it does here.
        if not provider.paths.fullmatch(path) or not raw.endswith(f"/{path}"):
            raise Refused(404, "NOT_FOUND", "this path of the provider is not passed on")
        query = "?alt=sse" if request.query_params.get("alt") == "sse" else ""
        headers = {name: value for name in _SENT if (value := request.headers.get(name)) is not None}
        asked = FetchRequest(
            "POST",
            f"{provider.base_url}/{path}{query}",
            {**headers, **provider.signed_in()},
            await request.body(),
            timeout_ms=_TIMEOUT_MS,
        )
        async with AsyncExitStack() as open_call:
            try:
                answer = await open_call.enter_async_context(fetch.open(asked))
            except FetchError as error:
                raise Refused(502, "PROVIDER_UNREACHABLE", f"the provider gave no answer ({error.kind})") from None
            kept = open_call.pop_all()
        given = {name: answer.headers[name] for name in _GIVEN if name in answer.headers}
        body = _whole(kept, without(provider.key, answer.chunks()))
        return StreamingResponse(body, answer.status, {**given, "cache-control": "no-store"})

    return [Route("/v1/providers/{name}/{path:path}", relay, methods=["POST"])]


async def _whole(call: AsyncExitStack, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The body; the call to the provider ends with it, and with a client that leaves."""
    async with call:
        try:
            async for piece in pieces:
                yield piece
        except FetchError as error:  # a body that just ended would pass for a whole one
            raise ConnectionAbortedError("the provider's answer broke off") from error
