"""A model provider over HTTP: a dialect spoken through the fetch port.

Owned here: one call from key to last event, its failures, and that no secret is in their words. Leaving the stream
closes the connection at once. Must not know: any dialect's forms, and whether a call is tried again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from inspect import isawaitable
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.errors import ProviderError
from agrun_wasm.contracts.model import ModelEvent, ModelRequest
from agrun_wasm.contracts.ports import Clock, Fetch, FetchError, FetchRequest, FetchResponse
from agrun_wasm.providers.dialect import Dialect, StreamDecoder
from agrun_wasm.providers.endpoint import check_base_url
from agrun_wasm.providers.error_body import is_error
from agrun_wasm.providers.errors import HINTS, bad_response, fetch_error, http_error, inner_error
from agrun_wasm.providers.reply_body import NO_JSON, ReplyBody
from agrun_wasm.providers.retry_after import retry_after_ms
from agrun_wasm.text.strict_json import JsonTextError, parse_json

__all__ = ["HttpProvider"]

_ERROR_BODY_BYTES = 65_536
_AUTH_HEADERS = frozenset({"authorization", "x-api-key", "x-goog-api-key", "api-key"})


class HttpProvider:
    """Speaks `dialect` to the server of `config`. `timeoutMs` bounds the wait for the head and for each chunk."""

    def __init__(self, dialect: Dialect, config: ProviderConfig, fetch: Fetch, clock: Clock) -> None:
        if config.base_url is not None:
            check_base_url(config.base_url, browser=fetch.platform == "browser")
        self._dialect = dialect
        self._config = config
        self._fetch = fetch
        self._clock = clock

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The events of one call. Raises ProviderError."""
        key = await self._key()
        call = self._dialect.http_request(request, self._config, key, browser=self._fetch.platform == "browser")
        decoder = self._dialect.decoder(request)
        headers: dict[str, str] = {}
        try:
            try:
                async with self._fetch.open(call) as response:
                    headers.update(response.headers)
                    if not 200 <= response.status < 300:
                        body = await _error_body(response)
                        raise http_error(response.status, headers, body, now=self._clock.now())
                    reply = ReplyBody(headers.get("content-type", ""))
                    async for chunk in response.chunks():
                        for frame in reply.feed(chunk):
                            for event in decoder.feed(frame):
                                yield event
                        if decoder.done:
                            break
            except FetchError as failure:
                # What breaks after the terminal signal breaks nothing.
                if not decoder.ended:
                    raise self._no_reply(failure, call, head_came=bool(headers)) from None
            else:
                for event in _rest(reply, decoder):
                    yield event
            for event in decoder.finish():
                yield event
        except ProviderError as error:
            raise self._told(error, call, key, headers) from None
        except (AttributeError, KeyError, TypeError, ValueError) as fault:
            unread = bad_response(f"the reply has a form that cannot be read ({type(fault).__name__})")
            raise self._told(unread, call, key, headers) from fault

    async def _key(self) -> str | None:
        """The key for this request: as configured, or what the host's callable gives now."""
        config = self._config
        value: Any = config.api_key
        if callable(value):
            value = await _asked(value)
        if isinstance(value, SecretStr):
            value = value.get_secret_value()
        key = value.strip() if isinstance(value, str) else ""
        if not key:
            own = self._dialect.key_required and config.base_url is None
            if own and not _AUTH_HEADERS & {name.lower() for name in config.headers}:
                raise _no_key(f"{config.name}: no API key was given (provider.apiKey)")
            return None
        if not (key.isascii() and key.isprintable()):
            raise _no_key(f"{config.name}: the API key holds characters that a header cannot carry")
        return key

    def _no_reply(self, failure: FetchError, call: FetchRequest, *, head_came: bool) -> ProviderError:
        return fetch_error(
            failure,
            url=call.url,
            platform=self._fetch.platform,
            head_came=head_came,
            timeout_ms=self._config.timeout_ms,
        )

    def _told(
        self, error: ProviderError, call: FetchRequest, key: str | None, headers: dict[str, str]
    ) -> ProviderError:
        """The error as the caller gets it: who said it, no secret. What had come is `collect`'s to add."""
        from agrun_wasm.text.redaction import Redactor

        secrets = [value.get_secret_value() for value in self._config.headers.values()]
        redactor = Redactor([*secrets, key] if key else secrets)
        host = urlsplit(call.url).hostname
        wait = error.retry_after_ms
        if wait is None and headers:
            wait = retry_after_ms(headers, self._clock.now())
        return ProviderError(
            error.code,
            redactor.text(f"{self._config.name}{f' at {host}' if host else ''}: {error.message}"),
            status=error.status,
            retry_after_ms=wait,
            protocol_failure=error.protocol_failure,
            hint=error.hint,
            details=redactor.value(error.details),
        )


def _rest(reply: ReplyBody, decoder: StreamDecoder) -> Iterator[ModelEvent]:
    """What the end of the body completes."""
    if decoder.done:
        return
    frames, payload = reply.close()
    if payload is not NO_JSON:
        if is_error(payload):
            raise inner_error(payload)
        yield from decoder.whole(payload)
    for frame in frames:
        # A last event without its blank line counts, one that was cut in the middle does not.
        if _is_whole(frame.data):
            yield from decoder.feed(frame)


def _is_whole(data: str) -> bool:
    if data.strip() == "[DONE]":
        return True
    try:
        parse_json(data)
    except JsonTextError:
        return False
    return True


async def _error_body(response: FetchResponse) -> str:
    """The text of an error body, as far as it comes."""
    body = b""
    try:
        async for chunk in response.chunks():
            body += chunk
            if len(body) >= _ERROR_BODY_BYTES:
                break
    except FetchError:
        pass
    return body.decode("utf-8", "replace")


async def _asked(source: Callable[[], Any]) -> Any:
    try:
        value = source()
        return await value if isawaitable(value) else value
    except ProviderError:
        raise
    except Exception as fault:
        # Its words could hold the key.
        raise _no_key(f"the apiKey callable raised {type(fault).__name__}") from None


def _no_key(message: str) -> ProviderError:
    return ProviderError("PROVIDER_AUTH", message, hint=HINTS["PROVIDER_AUTH"])
