"""Secrets out of what a cassette holds, where the fetch border sees them: in requests, in chunks, in streamed deltas.

Owned here: which values of a request are secrets, and how a secret that is spread over chunks or over the events of a
stream is taken out. Must not know: files, and how requests are found again. The spellings are `text.redaction`'s.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from agrun_wasm.contracts.ports import FetchRequest
from agrun_wasm.providers.cassette_request import KEPT_HEADERS
from agrun_wasm.text.redaction import Redactor, StreamRedactor

__all__ = ["CassetteSecrets"]

_PLAIN_HEADERS = KEPT_HEADERS | {"accept-encoding", "content-length", "host", "user-agent", "idempotency-key"}
_KEY_PARAMETERS = frozenset(
    {"key", "api_key", "api-key", "apikey", "access_token", "token", "code", "sig", "signature"}
)


class CassetteSecrets:
    """The secrets seen so far, and what is written without them. `known` are those that the host names."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._seen: set[str] = set()
        self._text = Redactor(())
        #: the same for bytes, read as Latin-1 so that no border between characters matters
        self._bytes = Redactor(())
        for secret in known:
            self.add(secret)

    def add(self, secret: str) -> None:
        self._seen.add(secret)
        self._text.add(secret)
        self._bytes.add(secret)
        self._bytes.add(secret.strip().encode().decode("latin-1"))

    @property
    def count(self) -> int:
        """How many have been seen."""
        return len(self._seen)

    def learn(self, request: FetchRequest) -> None:
        """Takes the values of every header that may sign somebody in, and of a URL's keys, for secrets."""
        for name, value in request.headers.items():
            if name.lower() not in _PLAIN_HEADERS:
                self.add(value)
        parts = urlsplit(request.url)
        for name, value in parse_qsl(parts.query):
            if name.lower() in _KEY_PARAMETERS:
                self.add(value)
        for part in (parts.username, parts.password):
            if part:
                self.add(part)

    def value(self, value: Any) -> Any:
        return self._text.value(value)

    def text(self, text: str) -> str:
        return self._text.text(text)

    def chunks(self, chunks: list[bytes]) -> list[bytes]:
        """The chunks without secrets. Their borders stay where no secret was near; the number of chunks stays."""
        clean = self._in_pieces([chunk.decode("latin-1") for chunk in chunks], self._bytes)
        made = [piece.encode("latin-1") for piece in clean]
        return self._without_spread(made)

    def _in_pieces(self, pieces: list[str], redactor: Redactor) -> list[str]:
        together = "".join(pieces)
        if redactor.text(together) == together:
            return pieces
        stream = StreamRedactor(redactor)
        made = [stream.feed(piece) for piece in pieces]
        made[-1] += stream.close()
        return made

    def _without_spread(self, chunks: list[bytes]) -> list[bytes]:
        """A secret that was streamed in deltas stands in no place as a whole: the texts of each path are joined."""
        body = b"".join(chunks)
        lines = body.decode("utf-8", "surrogateescape").split("\n")
        events = dict(_events(lines))
        texts: dict[tuple[str | int, ...], list[tuple[int, str]]] = {}
        for place, event in events.items():
            for path, text in _texts(event, ()):
                texts.setdefault(path, []).append((place, text))
        changed: set[int] = set()
        for path, found in texts.items():
            before = [text for _, text in found]
            after = self._in_pieces(before, self._text)
            if after is before:
                continue
            for (place, _), text in zip(found, after, strict=True):
                _put(events[place], path, text)
                changed.add(place)
        if not changed:
            return chunks
        for place in changed:
            end = "\r" if lines[place].endswith("\r") else ""
            lines[place] = f"data: {json.dumps(events[place], ensure_ascii=False)}{end}"
        # What is rewritten has other lengths: then a line is a chunk.
        return [line.encode("utf-8", "surrogateescape") for line in "\n".join(lines).splitlines(keepends=True)]


def _events(lines: list[str]) -> Iterator[tuple[int, Any]]:
    for place, line in enumerate(lines):
        if line.startswith("data:"):
            try:
                event = json.loads(line[5:])
            except (ValueError, RecursionError):
                continue
            if isinstance(event, (dict, list)):
                yield place, event


def _texts(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _texts(item, (*path, place))


def _put(value: Any, path: tuple[str | int, ...], text: str) -> None:
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = text
