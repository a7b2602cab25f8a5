"""What comes back from a provider, without the key: it is looked for in bodies and headers, which may echo it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from agrun_wasm.text.redaction import Redactor, StreamRedactor

__all__ = ["header_without", "without"]


async def without(key: str, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces with the key, in any spelling and over their borders, replaced.

    Byte for byte: latin-1 has a character for each, and a key is ASCII.
    """
    redactor = StreamRedactor(Redactor([key]))
    async for piece in pieces:
        if shown := redactor.feed(piece.decode("latin-1")):
            yield shown.encode("latin-1")
    if shown := redactor.close():
        yield shown.encode("latin-1")


def header_without(key: str, value: str) -> str:
    """The value of a header, likewise."""
    return Redactor([key]).text(value)
