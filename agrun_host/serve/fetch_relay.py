"""/v1/fetch: pages read for a page, which its browser would not let it read (`proxyUrl`).

Guarded as reading on the server is: http and https, public addresses only, on each redirect again. Nothing that signs
somebody in goes along or comes back, and what comes back can do nothing on this server's origin.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from agrun_host.serve.problems import Refused
from agrun_wasm.contracts.ports import Fetch, FetchError, FetchRequest
from agrun_wasm.text.urls import check_public_url

__all__ = ["fetch_relay_routes"]

_TIMEOUT_MS = 30_000
_MOST_BYTES = 16 * 1024 * 1024
_SENT = ("accept", "accept-language")
_GIVEN = ("content-type", "content-language", "last-modified", "retry-after")
#: the core's browser port takes the real address from here
FINAL_URL = "x-agrun-final-url"
#: kind of failure -> status, code
_FAILURES = {
    "timeout": (504, "TIMEOUT"),
    "private_address": (403, "ADDRESS_NOT_PUBLIC"),
    "redirect_private": (403, "ADDRESS_NOT_PUBLIC"),
    "too_many_redirects": (502, "TOO_MANY_REDIRECTS"),
}


def fetch_relay_routes(fetch: Fetch) -> list[Route]:
    """The route /v1/fetch?url=..., GET only."""

    async def relay(request: Request) -> Response:
        url = request.query_params.get("url", "")
        if fault := check_public_url(url):
            status, code = (403, "ADDRESS_NOT_PUBLIC") if fault == "private_address" else (400, "URL_INVALID")
            raise Refused(status, code, "only http and https addresses on the public network are fetched")
        headers = {name: value for name in _SENT if (value := request.headers.get(name)) is not None}
        asked = FetchRequest("GET", url, headers, timeout_ms=_TIMEOUT_MS, purpose="read")
        async with AsyncExitStack() as open_call:
            try:
                answer = await open_call.enter_async_context(fetch.open(asked))
            except FetchError as error:
                status, code = _FAILURES.get(error.kind, (502, "UNREACHABLE"))
                raise Refused(status, code, f"no page came back: {error.message}") from None
            kept = open_call.pop_all()
        given = {name: answer.headers[name] for name in _GIVEN if name in answer.headers}
        return StreamingResponse(
            _whole(kept, answer.chunks()),
            answer.status,
            {
                **given,
                FINAL_URL: answer.url,
                "cache-control": "no-store",
                "content-disposition": "attachment",
                "content-security-policy": "sandbox; default-src 'none'",
            },
        )

    return [Route("/v1/fetch", relay, methods=["GET"])]


async def _whole(call: AsyncExitStack, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The body, up to the most that is passed on; the call ends with it, and with a client that leaves."""
    taken = 0
    async with call:
        try:
            async for piece in pieces:
                taken += len(piece)
                if taken > _MOST_BYTES:  # a body that just ended would pass for a whole one
                    raise ConnectionAbortedError("the page is too large")
                yield piece
        except FetchError as error:
            raise ConnectionAbortedError("the page broke off") from error
