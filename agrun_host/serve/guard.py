"""Guard: what every request passes before anything of it is looked at.

In this order: the Host (against DNS rebinding), the Origin (pages of elsewhere), the token, how many requests are open,
how large the body is and how slowly it comes. Must not know: paths, but that /v1 is what a token is for.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agrun_host.provider_headers import AUTH_HEADERS, DIALECT_HEADERS
from agrun_host.serve.problems import Refused, problem
from agrun_host.serve.settings import ServeSettings
from agrun_host.serve.token import carries
from agrun_wasm.contracts.errors import ErrorInfo
from agrun_wasm.contracts.ports import FETCH_FAILURE, FINAL_URL

__all__ = ["Guard"]

_METHODS = "GET, HEAD, POST, OPTIONS"
#: ours, and those of the providers' dialects, which a page sends to the relays
_ASKED_HEADERS = ", ".join(
    (
        *("content-type", "idempotency-key", "last-event-id"),
        *AUTH_HEADERS,
        *DIALECT_HEADERS,
        "anthropic-dangerous-direct-browser-access",
    )
)
_SHOWN_HEADERS = f"location, retry-after, retry-after-ms, {FINAL_URL}, {FETCH_FAILURE}"
_GUARDED = ("/v1", "/openapi.json")
_INTERNAL = ErrorInfo(code="INTERNAL", message="the server failed to answer this; its log says more")
_log = logging.getLogger(__name__)


class Guard:
    """An ASGI app around another one."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app = app
        self._settings = settings
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        client = str((scope.get("client") or ("",))[0])
        allowed: str | None = None
        try:
            self._check_host(headers)
            if ".." in scope["path"].split("/"):  # no client of good will sends one, whatever it would lead to
                raise Refused(404, "NOT_FOUND", "there is nothing at this path")
            allowed = self._check_origin(scope, headers)
            if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
                await self._preflight(allowed)(scope, receive, send)
                return
            self._check_token(scope, headers)
            self._check_room(client)
            length = headers.get("content-length", "0")
            if length.isdigit() and int(length) > self._settings.max_body_bytes:
                raise self._too_large()
        except Refused as refused:
            # A page that reads through this server must not take this for the answer of the site that it reads.
            refused.headers.setdefault(FETCH_FAILURE, "network_or_cors")
            await refused.response()(scope, receive, _with_origin(send, allowed))
            return
        self._open[client] += 1
        begun = _Begun(_with_origin(send, allowed))
        try:
            await self._app(scope, self._limited(receive), begun)
        except Exception:
            if begun:
                raise  # the server cuts the connection: what has come is no whole answer
            _log.exception("%s %s failed", scope["method"], scope["path"])
            await problem(500, _INTERNAL)(scope, receive, begun)
        finally:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]

    def _check_host(self, headers: Headers) -> None:
        hosts = headers.getlist("host")
        name = hosts[0].lower() if len(hosts) == 1 else ""
        if name.rpartition(":")[2].isdigit() and not name.endswith("]"):
            name = name.rpartition(":")[0]
        if name not in self._settings.names:
            raise Refused(
                421,
                "HOST_NOT_ALLOWED",
                "this server does not answer under that name",
                hint="Start it with --allow-host.",
            )

    def _check_origin(self, scope: Scope, headers: Headers) -> str | None:
        """The origin to allow in the answer, None for a request of the same origin or of no page."""
        origin = headers.get("origin")
        if origin is None:
            if headers.get("sec-fetch-site") == "cross-site" and scope["path"].startswith(_GUARDED):
                raise self._foreign()
            return None
        if origin in self._settings.origins:
            return origin
        if origin == f"{scope['scheme']}://{headers['host']}":
            return None
        raise self._foreign()

    def _foreign(self) -> Refused:
        return Refused(
            403,
            "ORIGIN_NOT_ALLOWED",
            "pages of that origin may not call this server",
            hint="Start it with --allow-origin.",
        )

    def _check_token(self, scope: Scope, headers: Headers) -> None:
        token = self._settings.token
        if token is None or not scope["path"].startswith(_GUARDED):
            return
        if not carries(headers, scope["path"], token):
            raise Refused(
                401,
                "UNAUTHORIZED",
                "the token is missing or wrong",
                hint="Send it as `Authorization: Bearer <token>`; in a page as a provider's `apiKey`, or `proxyToken`.",
                headers={"www-authenticate": "Bearer"},
            )

    def _check_room(self, client: str) -> None:
        mine = self._open[client] >= self._settings.requests_per_client
        if mine or self._open.total() >= self._settings.requests_at_once:
            whose = "this client has" if mine else "the server has"
            raise Refused(429, "TOO_MANY_REQUESTS", f"{whose} too many requests open", headers={"retry-after": "1"})

    def _limited(self, receive: Receive) -> Receive:
        """A body that is too large, or does not come to its end in time, is refused while it comes."""
        taken, whole = 0, False
        until: float | None = None

        async def limited() -> Message:
            nonlocal taken, whole, until
            if whole:  # nothing but the end of the connection comes now
                return await receive()
            if until is None:
                until = asyncio.get_running_loop().time() + self._settings.body_seconds
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                raise Refused(408, "BODY_TIMEOUT", "the body did not come in time") from None
            if message["type"] == "http.request":
                taken += len(message.get("body", b""))
                whole = not message.get("more_body", False)
                if taken > self._settings.max_body_bytes:
                    raise self._too_large()
            return message

        return limited

    def _too_large(self) -> Refused:
        most = self._settings.max_body_bytes
        return Refused(413, "BODY_TOO_LARGE", f"the body may have {most} bytes", headers={"connection": "close"})

    def _preflight(self, allowed: str | None) -> Response:
        headers = {"vary": "origin"}
        if allowed is not None:
            headers |= {
                "access-control-allow-origin": allowed,
                "access-control-allow-methods": _METHODS,
                "access-control-allow-headers": _ASKED_HEADERS,
                "access-control-max-age": "600",
            }
        return Response(status_code=204, headers=headers)


class _Begun:
    """A send that knows whether an answer has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False

    def __bool__(self) -> bool:
        return self._begun

    async def __call__(self, message: Message) -> None:
        self._begun = True
        await self._send(message)


def _with_origin(send: Send, allowed: str | None) -> Send:
    if allowed is None:
        return send

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: Any = MutableHeaders(scope=message)
            headers["access-control-allow-origin"] = allowed
            headers["access-control-expose-headers"] = _SHOWN_HEADERS
            headers.add_vary_header("origin")
        await send(message)

    return sent
