"""A cassette as text: JSON lines, a line for the version, then for each exchange its request, its head and its chunks.

Owned here: the form of the file and what is said about one that is none. Must not know: where the text is kept, and
how an exchange is found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agrun_wasm.contracts.errors import AgrunError
from agrun_wasm.providers.cassette_request import body_bytes, request_key

__all__ = [
    "CASSETTE_VERSION",
    "CassetteInvalid",
    "CassetteVersionUnsupported",
    "Exchange",
    "exchange_text",
    "read_text",
    "write_text",
]

CASSETTE_VERSION = 1


class CassetteInvalid(AgrunError):
    """A text is no cassette, or is damaged."""

    code = "CASSETTE_INVALID"


class CassetteVersionUnsupported(AgrunError):
    """A cassette has a form of another version."""

    code = "CASSETTE_VERSION_UNSUPPORTED"


@dataclass(slots=True)
class Exchange:
    """One request in canonical form and what came of it.

    `head` is `{status, statusText, headers, url}`, None where none came. `chunks` are bytes with the milliseconds that
    passed before each (None: not recorded). `end`: complete, left (the caller read no further), or `{kind, message}`
    of the FetchError that ended it.
    """

    request: dict[str, Any]
    head: dict[str, Any] | None = None
    chunks: list[tuple[bytes, float | None]] = field(default_factory=list)
    end: str | dict[str, str] = "complete"

    @property
    def key(self) -> str:
        return request_key(self.request)


def write_text(exchanges: Iterable[Exchange]) -> str:
    """The text of a cassette, ending in a line break."""
    return _line({"cassette": CASSETTE_VERSION}) + "".join(exchange_text(exchange) for exchange in exchanges)


def exchange_text(exchange: Exchange) -> str:
    """The lines of one exchange: appended to a cassette, it is one more."""
    lines: list[dict[str, Any]] = [{"request": exchange.request}]
    if exchange.head is not None:
        lines.append({"response": exchange.head})
    for chunk, after in exchange.chunks:
        line: dict[str, Any] = {"chunk": _chunk_value(chunk)}
        if after is not None:
            line["afterMs"] = round(after, 1)
        lines.append(line)
    lines.append({"end": exchange.end})
    return "".join(map(_line, lines))


def _line(value: Mapping[str, Any]) -> str:
    return f"{json.dumps(value, ensure_ascii=False)}\n"


def read_text(text: str, where: str = "cassette") -> list[Exchange]:
    """The exchanges of a text; raises CASSETTE_INVALID and CASSETTE_VERSION_UNSUPPORTED, with the line's number.

    A last line without its line break is no fault where it is not whole: whoever wrote it was killed, and the exchange
    ends before it.
    """
    lines = _lines(text, where)
    _, first = next(lines, (0, {}))
    version = first.get("cassette")
    if not isinstance(version, int) or isinstance(version, bool):
        raise CassetteInvalid(
            f'{where}: this is no cassette; its first line must be {{"cassette": {CASSETTE_VERSION}}}'
        )
    if version != CASSETTE_VERSION:
        raise CassetteVersionUnsupported(
            f"{where}: a cassette of version {version}, and this agrun reads version {CASSETTE_VERSION}",
            hint="Record it again, or use the agrun that wrote it.",
        )
    made: list[Exchange] = []
    for number, line in lines:
        try:
            _take(made, line)
        except (KeyError, TypeError, ValueError, IndexError) as fault:
            raise CassetteInvalid(f"{where}: line {number} is no line of a cassette ({fault})") from None
    return made


def _take(made: list[Exchange], line: dict[str, Any]) -> None:
    match line:
        case {"request": {"method": str(), "url": str()} as request}:
            made.append(Exchange(request, end="left"))
        case {"response": {"status": int(), "headers": dict()} as head}:
            made[-1].head = {"statusText": "", "url": made[-1].request["url"], **head}
        case {"chunk": (str() | dict()) as chunk}:
            made[-1].chunks.append((body_bytes(chunk), line.get("afterMs")))
        case {"end": ("complete" | "left") as end}:
            made[-1].end = end
        case {"end": {"kind": str() as kind, "message": str() as message}}:
            made[-1].end = {"kind": kind, "message": message}
        case _:
            raise ValueError(f"it has {', '.join(line) or 'nothing'}")


def _lines(text: str, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            if number == len(lines) > 1 and line.startswith("{"):
                return
            raise CassetteInvalid(f"{where}: line {number} is not JSON") from None
        if not isinstance(value, dict):
            raise CassetteInvalid(f"{where}: line {number} is no JSON object")
        yield number, value


def _chunk_value(chunk: bytes) -> str | dict[str, str]:
    """A chunk as text; one that begins or ends within a character as base64."""
    try:
        return chunk.decode()
    except UnicodeDecodeError:
        import base64

        return {"base64": base64.b64encode(chunk).decode()}
