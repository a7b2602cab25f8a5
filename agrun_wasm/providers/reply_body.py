"""The body of a 2xx: a stream of events, one JSON value, or neither, told apart by how it begins.

The content type alone is no help: servers label event streams as plain text and send JSON errors as event streams.
Must not know: dialects.
"""

from __future__ import annotations

import json
from typing import Any

from agrun_wasm.providers.error_body import head_of
from agrun_wasm.providers.errors import bad_response
from agrun_wasm.text.sse import SseDecoder, SseEvent

__all__ = ["NO_JSON", "ReplyBody"]

#: what `close` gives as the payload of an event stream
NO_JSON: Any = object()

_FIELDS = (b"data", b"event", b"id", b"retry", b":")
_ENOUGH = 6
_SHOWN = 4096
_BOM = b"\xef\xbb\xbf"


class ReplyBody:
    """Feed the chunks, get server-sent events; `close` gives the last ones, and the JSON where the body is that."""

    def __init__(self, content_type: str) -> None:
        self._content_type = content_type.partition(";")[0].strip().lower()
        self._sse: SseDecoder | None = None
        self._bytes: list[bytes] = []
        self._is_json = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        if self._sse is not None:
            return self._sse.feed(chunk)
        self._bytes.append(chunk)
        if self._is_json:
            return []
        return self._decide(b"".join(self._bytes), at_end=False)

    def close(self) -> tuple[list[SseEvent], Any]:
        events: list[SseEvent] = []
        if self._sse is None and not self._is_json:
            events = self._decide(b"".join(self._bytes), at_end=True)
        if self._sse is not None:
            return events + self._sse.close(), NO_JSON
        try:
            return [], json.loads(b"".join(self._bytes))
        except (ValueError, RecursionError):
            text = b"".join(self._bytes).decode("utf-8", "replace")
            raise bad_response(f"the body looks like JSON but cannot be read as it: {head_of(text)}") from None

    def _decide(self, head: bytes, *, at_end: bool) -> list[SseEvent]:
        start = head.removeprefix(_BOM).lstrip()
        if not at_end and len(start) < _ENOUGH and b":" not in start and start[:1] not in (b"{", b"["):
            return []
        if start[:1] in (b"{", b"["):
            self._is_json = True
            return []
        labelled = self._content_type == "text/event-stream"
        if start.startswith(_FIELDS) or (labelled and start[:1] != b"<"):
            self._sse = SseDecoder()
            self._bytes.clear()
            return self._sse.feed(head)
        if at_end or len(head) >= _SHOWN:
            self._refuse(head)
        return []

    def _refuse(self, head: bytes) -> None:
        label = self._content_type or "no content type"
        text = head_of(head.decode("utf-8", "replace"))
        raise bad_response(f"answered 200 with {label} instead of an event stream: {text or 'an empty body'}")
