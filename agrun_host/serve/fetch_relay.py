"""/v1/fetch: pages read for a page, which its browser would not let it read (`proxyUrl`).

Guarded as reading on the server is: http and https, public addresses only, on each redirect again. Nothing that signs
somebody in goes along or comes back, and what comes back can do nothing on this server's origin. Hosts that the server
was told of get whole calls: by POST, and with what the page signs in with.
"""

from __future__ import annotations

from collections.abc import Collection
from string import punctuation
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.routing import Route

from agrun_host.provider_headers import AUTH_HEADERS, DIALECT_HEADERS
from agrun_host.serve.passing import INERT, PassedOn
from agrun_host.serve.problems import Refused
from agrun_wasm.contracts.ports import FETCH_FAILURE, FINAL_URL, Fetch, FetchError, FetchRequest, FetchResponse
from agrun_wasm.text.hosts import normal_host
from agrun_wasm.text.urls import check_public_url

__all__ = ["fetch_relay_routes"]

_TIMEOUT_MS = 30_000
_CALL_TIMEOUT_MS = 120_000
_MOST_SECONDS = 120
_MOST_CALL_SECONDS = 3_600
_MOST_BYTES = 16 * 1024 * 1024
_SENT = ("accept", "accept-language")
#: to hosts that get whole calls
_SENT_IN_CALLS = (*_SENT, "content-type", *AUTH_HEADERS, *DIALECT_HEADERS)
_GIVEN = ("content-type", "content-language", "last-modified", "retry-after", "retry-after-ms")
#: kind of failure -> status, code
_FAILURES = {
    "timeout": (504, "TIMEOUT"),
    "private_address": (403, "ADDRESS_NOT_PUBLIC"),
    "redirect_private": (403, "ADDRESS_NOT_PUBLIC"),
    "too_many_redirects": (502, "TOO_MANY_REDIRECTS"),
    "decode_error": (502, "ANSWER_UNREADABLE"),
}


def fetch_relay_routes(fetch: Fetch, call_hosts: Collection[str] = (), *, token: bool = False) -> list[Route]:
    """The route /v1/fetch?url=...: GET and HEAD of any public address, POST to `call_hosts`.

    `token`: this server asks its clients for one, in the header Authorization; then nobody else is ever sent it.
    """
    hosts = frozenset(filter(None, map(normal_host, call_hosts)))
    sent_in_calls = tuple(name for name in _SENT_IN_CALLS if not (token and name == "authorization"))

    async def relay(request: Request) -> PassedOn:
        url = request.query_params.get("url", "").strip(" ")
        if fault := check_public_url(url):
            status, code = (403, "ADDRESS_NOT_PUBLIC") if fault == "private_address" else (400, "URL_INVALID")
            said = "only http and https addresses on the public network are fetched"
            kind = "private_address" if fault == "private_address" else "network_or_cors"
            raise Refused(status, code, said, headers={FETCH_FAILURE: kind})
        calls = _host(url) in hosts
        posts = request.method == "POST"
        if posts and not calls:
            raise Refused(
                403,
                "HOST_NOT_CALLED",
                "only GET and HEAD are passed on to that host",
                hint="Use /v1/providers/... as the provider's baseUrl, or start the server with --relay-to HOST.",
                headers={FETCH_FAILURE: "network_or_cors"},
            )
        names = sent_in_calls if calls else _SENT
        headers = {name: value for name in names if (value := request.headers.get(name)) is not None}
        if posts:
            headers["accept-encoding"] = "identity"  # a compressed event stream waits in somebody's buffer
        return PassedOn(
            fetch,
            FetchRequest(
                request.method,
                url,
                headers,
                await request.body() if posts else None,
                timeout_ms=_CALL_TIMEOUT_MS if posts else _TIMEOUT_MS,
                purpose="read",
            ),
            headers=_given,
            refused=_refused,
            seconds=_MOST_CALL_SECONDS if posts else _MOST_SECONDS,
            most_bytes=_MOST_BYTES,
        )

    return [Route("/v1/fetch", relay, methods=["GET", "HEAD", "POST"])]


def _host(url: str) -> str | None:
    """The host of a URL that has been checked, in its normal form."""
    return normal_host(urlsplit(url).hostname or "")


def _given(answer: FetchResponse) -> dict[str, str]:
    given = {name: answer.headers[name] for name in _GIVEN if name in answer.headers}
    return {**given, FINAL_URL: quote(answer.url, safe=punctuation), **INERT}


def _refused(fault: FetchError) -> Refused:
    status, code = _FAILURES.get(fault.kind, (502, "UNREACHABLE"))
    return Refused(status, code, f"no page came back: {fault.message}", headers={FETCH_FAILURE: fault.kind})
