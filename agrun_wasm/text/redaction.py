"""Secrets out of text and JSON.

Owned here: the spellings in which a secret can leave (as it is, without its scheme word, percent-encoded, JSON-escaped,
base64) and their replacement. Must not know: where secrets come from and which records are redacted.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

__all__ = ["REDACTED", "Redactor", "StreamRedactor"]

REDACTED = "[redacted]"

_SHORTEST = 4
"""Shorter secrets are left alone: they would redact ordinary words, and guessing them is no work."""

_SCHEMES = frozenset({"bearer", "basic", "token", "apikey", "api-key", "key", "bot"})


class Redactor:
    """Replaces every spelling of the given secrets by `REDACTED`.

    A secret may be a whole header value: after an authorization scheme ("Bearer x", "Basic x") the credential counts as
    a secret too, of "Basic" also what it encodes and its password.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        spellings = {spelling for secret in secrets for core in _cores(secret.strip()) for spelling in _spellings(core)}
        self._set(spellings)

    def _set(self, spellings: set[str]) -> None:
        # Longest first: a spelling that holds another one goes as a whole.
        self._spellings = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))
        firsts = {re.escape(spelling[0]) for spelling in spellings}
        self._firsts = re.compile(f"[{''.join(sorted(firsts))}]" if firsts else "(?!)")

    def add(self, secret: str) -> None:
        """One more secret, known only now (a key that a callback gave)."""
        new = {spelling for core in _cores(secret.strip()) for spelling in _spellings(core)} - set(self._spellings)
        if new:
            self._set(new.union(self._spellings))

    def text(self, text: str) -> str:
        """The text without the secrets; the same object where it holds none."""
        for spelling in self._spellings:
            if spelling in text:
                text = text.replace(spelling, REDACTED)
        return text

    def begins_in(self, text: str) -> bool:
        """Whether a secret may begin in the text: no more than a look for their first characters."""
        return self._firsts.search(text) is not None

    def settled(self, text: str) -> int:
        """The length of the text's beginning that no secret reaches out of, whatever follows the text."""
        end = min((_begun(text, spelling) for spelling in self._spellings), default=len(text))
        while end < len(text):
            # A spelling that is here as a whole goes as a whole: the place before it is the border.
            across = [
                start
                for spelling in self._spellings
                if (start := text.find(spelling, max(0, end - len(spelling) + 1), end + len(spelling) - 1)) >= 0
                and start < end
            ]
            if not across:
                break
            end = min(across)
        return end

    def value(self, value: Any) -> Any:
        """The JSON value without the secrets, keys included; parts that hold none are the same objects."""
        # Nearly every value holds none: then its texts are looked through together, and nothing is built.
        if not self._spellings:
            return value
        texts: list[str] = []
        _gather(value, texts)
        together = "\0".join(texts)
        for spelling in self._spellings:
            if spelling in together:
                return self._clean(value)
        return value

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            clean = {self.text(key): self._clean(item) for key, item in value.items()}
            unchanged = all(
                key is old and item is value[old] for (key, item), old in zip(clean.items(), value, strict=False)
            )
            return value if unchanged and len(clean) == len(value) else clean
        if isinstance(value, list):
            items = [self._clean(item) for item in value]
            return value if all(item is old for item, old in zip(items, value, strict=True)) else items
        return value


def _gather(value: Any, texts: list[str]) -> None:
    """Every text of a JSON value, keys included."""
    if isinstance(value, str):
        texts.append(value)
    elif isinstance(value, dict):
        texts += value
        for item in value.values():
            if isinstance(item, str):
                texts.append(item)
            elif isinstance(item, (dict, list)):
                _gather(item, texts)
    elif isinstance(value, list):
        for item in value:
            _gather(item, texts)


class StreamRedactor:
    """The redactor for a text that comes in pieces: what it gives, joined, is what the redactor makes of the whole."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now: all but a tail that may be the beginning of a secret."""
        if not self._held and not self._redactor.begins_in(piece):
            return piece
        text = self._held + piece
        shown = self._redactor.settled(text)
        self._held = text[shown:]
        return self._redactor.text(text[:shown])

    def close(self) -> str:
        """The tail, at the end of the text."""
        held, self._held = self._held, ""
        return self._redactor.text(held)


def _begun(text: str, spelling: str) -> int:
    """Where the spelling may have begun at the end of the text without having ended; else the text's length."""
    start = max(0, len(text) - len(spelling) + 1)
    while (start := text.find(spelling[0], start)) >= 0:
        if spelling.startswith(text[start:]):
            return start
        start += 1
    return len(text)


def _cores(secret: str) -> Iterator[str]:
    """The secret and what is secret inside it."""
    yield secret
    scheme, _, credential = secret.partition(" ")
    credential = credential.strip()
    if not credential or scheme.lower() not in _SCHEMES:
        return
    yield credential
    if scheme.lower() == "basic":
        try:
            pair = base64.b64decode(credential, validate=True).decode()
        except (binascii.Error, ValueError):
            return
        yield pair
        yield pair.partition(":")[2]


def _spellings(secret: str) -> Iterator[str]:
    if len(secret) < _SHORTEST:
        return
    yield secret
    for encoded in (
        quote(secret, safe="", errors="replace"),
        quote_plus(secret, errors="replace"),
        quote(secret, errors="replace"),
    ):
        yield encoded
        yield _lower_hex(encoded)
    for ascii_only in (True, False):
        yield json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
    raw = secret.encode(errors="replace")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(raw).decode().rstrip("=")


def _lower_hex(encoded: str) -> str:
    first, *parts = encoded.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in parts)])
