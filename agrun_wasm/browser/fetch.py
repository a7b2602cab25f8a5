"""JsFetch: the fetch port on the browser's own `fetch`, in a worker or in a page.

One AbortController for each call. It is the only thing that ends a connection here: neither cancelling the Python task
nor dropping a reader does. So it fires whenever the `async with` is left, however it is left, and on a timeout. Timers
are JS's own, so that a call leaves no Python function behind in JS.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal, cast, get_args
from urllib.parse import quote, urlsplit

import js

from agrun_wasm.browser.border import JsException, absent, js_bytes, py_bytes, settled
from agrun_wasm.contracts.ports import FETCH_FAILURE, FINAL_URL, FetchError, FetchFailureKind, FetchRequest

#: names of the reasons our controller gives; they are errors, since Python cannot be told of a promise that fails
#: with anything else
_CLOSED = "AbortError"
_TIMEOUT = "TimeoutError"


class JsFetch:
    """The Fetch port. Cookies are never sent.

    With `proxy_url`, every request to another origin goes there instead, as it is, with the real URL in the query:
    `<proxy_url>?url=<encoded>`. The proxy answers with what it got, and with FINAL_URL where it was redirected; where
    it got nothing, with FETCH_FAILURE and an error in JSON. `proxy_token` is what the proxy, and it alone, asks for: it
    goes in Authorization.
    """

    platform: Literal["browser", "host"] = "browser"

    def __init__(self, proxy_url: str | None = None, proxy_token: str | None = None) -> None:
        self._proxy_url = proxy_url
        self._proxy_token = proxy_token
        self._calls: set[_Call] = set()

    @asynccontextmanager
    async def open(self, request: FetchRequest) -> AsyncIterator[JsResponse]:
        call = _Call(request, self._proxy_url, self._proxy_token)
        self._calls.add(call)
        try:
            response = await call.head()
            if call.relayed and (failure := response.headers.get(FETCH_FAILURE)):
                raise await call.failure_told(str(failure), response)
            yield JsResponse(call, response)
        finally:
            call.end()
            self._calls.discard(call)

    async def aclose(self) -> None:
        """Ends every call that is still open."""
        for call in list(self._calls):
            call.end()


class JsResponse:
    """A response whose head has come."""

    def __init__(self, call: _Call, response: Any) -> None:
        self.status: int = response.status
        self.status_text: str = response.statusText
        self.headers: dict[str, str] = {str(name): str(value) for name, value in response.headers}
        self.url: str = self.headers.pop(FINAL_URL, "") or (call.url if call.relayed else response.url) or call.url
        self._call = call
        self._body = response.body

    async def chunks(self) -> AsyncIterator[bytes]:
        if absent(self._body):
            return
        reader = self._body.getReader()
        try:
            while True:
                result = await self._call.timed(reader.read())
                if result.done:
                    return
                yield py_bytes(result.value)
        finally:
            self._call.end()  # before the reader is given up: a body that was cancelled no longer hears of it
            settled(reader.cancel())


class _Call:
    """One call: its controller, its timer, and what a failure of it means."""

    def __init__(self, request: FetchRequest, proxy_url: str | None, proxy_token: str | None) -> None:
        self.url = request.url
        self.relayed = proxy_url is not None and not _is_own(request.url)
        self._address = _relayed(proxy_url, request.url) if proxy_url and self.relayed else request.url
        self._request = request
        self._token = proxy_token if self.relayed else None
        self._controller = js.AbortController.new()
        self._time_out = self._controller.abort.bind(self._controller, js.DOMException.new("timeout", _TIMEOUT))

    async def head(self) -> Any:
        try:
            promise = js.fetch(self._address, self._options())
        except JsException as failure:  # a header that no browser sends
            raise FetchError("network_or_cors", f"the request cannot be made: {failure}", url=self.url) from None
        return await self.timed(promise)

    async def timed(self, promise: Any) -> Any:
        """The promise's value, within the request's timeout. Raises FetchError."""
        limit = self._request.timeout_ms
        timer = None if limit is None else js.setTimeout(self._time_out, limit)
        try:
            return await promise
        except JsException:
            raise self._error() from None
        finally:
            if timer is not None:
                js.clearTimeout(timer)

    async def failure_told(self, kind: str, response: Any) -> FetchError:
        """What a relay says of the call that it could not make."""
        try:
            error = json.loads(str(await self.timed(response.text())))["error"]
            message = f"{error['message']}. {error.get('hint') or ''}".removesuffix(". ")
        except (ValueError, KeyError, TypeError):
            message = "the proxy got no answer"
        known = cast("FetchFailureKind", kind) if kind in get_args(FetchFailureKind) else "network_or_cors"
        return FetchError(known, message, url=self.url, relayed=True)

    def end(self) -> None:
        if not self._controller.signal.aborted:
            self._controller.abort(js.DOMException.new("closed", _CLOSED))

    def _options(self) -> Any:
        options = js.Object.new()
        options.method = self._request.method
        options.headers = js.Headers.new()
        for name, value in self._request.headers.items():
            options.headers.append(name, value)
        if self._token:
            options.headers.set("authorization", f"Bearer {self._token}")
        options.signal = self._controller.signal
        options.credentials = "omit"
        options.referrerPolicy = "no-referrer"
        if self._request.body is not None:
            options.body = js_bytes(self._request.body)
        return options

    def _error(self) -> FetchError:
        signal = self._controller.signal
        kind: FetchFailureKind = "network_or_cors"
        if signal.aborted:
            kind = "timeout" if signal.reason.name == _TIMEOUT else "aborted"
        return FetchError(kind, self._message(kind), url=self.url, relayed=self.relayed)

    def _message(self, kind: FetchFailureKind) -> str:
        host = urlsplit(self.url).netloc or self.url
        if kind == "aborted":
            return f"the request to {host} was stopped"
        if kind == "timeout":
            return f"{host} did not answer within {self._request.timeout_ms:g} ms"
        if self.relayed:
            return (
                f"no response from the proxy that was asked for {host} (`proxyUrl`): is it running, and does it allow "
                f"requests from this page's origin?"
            )
        return (
            f"no response from {host}: it cannot be reached, or it does not allow requests from this page (CORS; the "
            f"browser does not say which). Two ways out: a provider or site that allows them, or a proxy of your own "
            f"(`proxyUrl`, which agrun_host serves)."
        )


def _relayed(proxy_url: str, url: str) -> str:
    return f"{proxy_url}{'&' if '?' in proxy_url else '?'}url={quote(url, safe='')}"


def _is_own(url: str) -> bool:
    """Is it of this page's origin? One without an origin is."""
    parts = urlsplit(url)
    return not (parts.scheme or parts.netloc) or f"{parts.scheme}://{parts.netloc}" == js.location.origin
