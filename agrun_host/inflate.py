"""Content decoding while it streams: gzip and deflate, never much at once, broken or cut bodies as an error.

Must not know: responses and what they are read for.
"""

from __future__ import annotations

import zlib

__all__ = ["InflateError", "Inflater", "inflater_of"]

#: inflated bytes handed on at once: a small body may hold gigabytes
_AT_ONCE = 262_144
#: parts without a byte in them; each costs the setting up of a decoder, and twenty bytes of its sender
_MOST_EMPTY = 100
_SHOWN = 40
_ANY_FRAME = zlib.MAX_WBITS | 32
_NO_FRAME = -zlib.MAX_WBITS


class InflateError(Exception):
    """The body cannot be decoded."""


def inflater_of(coding: str) -> Inflater | None:
    """A decoder for a Content-Encoding, None where there is nothing to decode. Raises InflateError."""
    coding = coding.strip().lower()
    if coding in ("", "identity"):
        return None
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise InflateError(f"the content encoding {coding[:_SHOWN]!r} cannot be read")
    return Inflater(frameless=coding == "deflate")


class Inflater:
    """Feed bytes, take pieces until one is empty. `frameless`: some servers send deflate without the zlib frame."""

    def __init__(self, *, frameless: bool = False) -> None:
        self._try_frameless = frameless
        self._inflate = zlib.decompressobj(_ANY_FRAME)
        self._waiting = b""
        self._started = False
        self._empty = 0
        self._gave = False

    def feed(self, chunk: bytes) -> None:
        self._waiting += chunk

    def piece(self) -> bytes:
        """The next inflated bytes, empty when more must be fed."""
        if not self._started and len(self._waiting) < 2:
            return b""  # one byte does not tell which frame it is
        while self._waiting:
            if self._inflate.eof:
                # gzip allows several members one after another.
                self._next_member()
            out = self._next()
            if out:
                self._gave = True
                return out
        return b""

    def check_whole(self) -> None:
        """Raises InflateError when the body ended in the middle."""
        if self._waiting or (self._started and not self._inflate.eof):
            raise InflateError("the compressed body ends too early")

    def _next_member(self) -> None:
        self._empty = 0 if self._gave else self._empty + 1
        if self._empty > _MOST_EMPTY:
            raise InflateError("the compressed body is made of empty parts")
        self._gave = False
        self._inflate = zlib.decompressobj(_ANY_FRAME)

    def _next(self) -> bytes:
        try:
            out = self._inflate.decompress(self._waiting, _AT_ONCE)
        except zlib.error as fault:
            if self._started or not self._try_frameless:
                raise InflateError(f"the compressed body is broken: {fault}") from None
            self._try_frameless = False
            self._inflate = zlib.decompressobj(_NO_FRAME)
            return self._next()
        self._started = True
        self._waiting = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
        return out
