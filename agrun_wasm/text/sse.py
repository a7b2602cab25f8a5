"""Server-sent events out of bytes, by the WHATWG event stream rules.

Owned here: incremental UTF-8, lines (LF, CR, CRLF), fields and the dispatch of events, whatever the borders of the
chunks. One rule is looser than the standard: an event that the stream ends in the middle of is delivered by `close`,
for servers leave out the last blank line.

Must not know: what the data means (JSON, `[DONE]`, error events) and where the bytes come from.
"""

import codecs
from typing import NamedTuple

__all__ = ["SseDecoder", "SseEvent"]

_MAX_RETRY_DIGITS = 15


class SseEvent(NamedTuple):
    """One dispatched event.

    `event` is "message" where the stream named none; `data` has its lines joined by LF. `id` is the last event id and
    `retry` the last reconnection time in ms that the stream gave up to here, None before the first.
    """

    event: str
    data: str
    id: str | None = None
    retry: int | None = None


class SseDecoder:
    """Feed chunks, get the events they complete; `close` once at the end gives what was still open."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_inside_character = False
        self._at_start = True
        self._after_cr = False
        self._open_line: list[str] = []
        self._event = ""
        self._data: list[str] = []
        self._id: str | None = None
        self._retry: int | None = None

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that this chunk completes, in order."""
        if chunk.isascii() and not self._is_inside_character:
            return self._take(chunk.decode("ascii"))
        text = self._utf8.decode(chunk)
        self._is_inside_character = self._utf8.getstate()[0] != b""
        return self._take(text)

    def close(self) -> list[SseEvent]:
        """The events of an unfinished last line and of an event without its blank line; empty when called again."""
        events = self._take(self._utf8.decode(b"", True))
        self._utf8.reset()
        self._is_inside_character = False
        line = "".join(self._open_line)
        self._open_line.clear()
        if line:
            self._field(line)
        if self._data:
            events.append(self._dispatch())
        return events

    def _take(self, text: str) -> list[SseEvent]:
        if not text:
            return []
        if self._at_start:
            self._at_start = False
            text = text.removeprefix("\ufeff")
        if self._after_cr:
            # The CR before this chunk has ended its line already; its LF must not end another one.
            text = text.removeprefix("\n")
        if text:
            self._after_cr = text.endswith("\r")
        else:
            self._after_cr = False
            return []
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        if "\n" not in text:
            # Parts are joined only at the line's end: a long line in many chunks stays linear.
            self._open_line.append(text)
            return []
        lines = text.split("\n")
        if self._open_line:
            self._open_line.append(lines[0])
            lines[0] = "".join(self._open_line)
            self._open_line.clear()
        rest = lines.pop()
        if rest:
            self._open_line.append(rest)
        return self._events(lines)

    def _events(self, lines: list[str]) -> list[SseEvent]:
        events = []
        for line in lines:
            if not line:
                if self._data:
                    events.append(self._dispatch())
                else:
                    self._event = ""
            elif line.startswith("data:"):
                self._data.append(line[6:] if line.startswith(" ", 5) else line[5:])
            else:
                self._field(line)
        return events

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id":
            if "\0" not in value:
                self._id = value
        elif name == "retry" and value.isascii() and value.isdigit() and len(value) <= _MAX_RETRY_DIGITS:
            self._retry = int(value)

    def _dispatch(self) -> SseEvent:
        event = SseEvent(self._event or "message", "\n".join(self._data), self._id, self._retry)
        self._event = ""
        self._data.clear()
        return event
