"""What the decoders of all dialects share: JSON frames, characters cut in half, counts, and how a reply ended.

Must not know: any dialect's fields.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agrun_wasm.contracts.model import FinishReason
from agrun_wasm.providers.error_body import head_of
from agrun_wasm.providers.errors import bad_response
from agrun_wasm.text.strict_json import MAX_DEPTH, nesting_depth, without_surrogates

__all__ = ["TextJoiner", "count", "finish_reason", "load_frame", "mapping", "text_of", "whole_characters"]

_JSON_BLANKS = " \t\n\r"
#: the value a text begins with, and where it ends; `json.loads` takes a third longer for a text as short as an event
_first_value = json.JSONDecoder().raw_decode


def load_frame(data: str) -> Any:
    """The JSON of one server-sent event. Lone surrogates are kept: halves of a character meet in `TextJoiner`."""
    data = data.strip(_JSON_BLANKS)
    if data.count("{") + data.count("[") > MAX_DEPTH and nesting_depth(data) > MAX_DEPTH:
        raise bad_response(f"the stream holds JSON nested over {MAX_DEPTH} levels")
    try:
        value, end = _first_value(data)
        if end == len(data):
            return value
    except ValueError:
        pass
    raise bad_response(f"the stream holds an event that is no JSON: {head_of(data)}")


class TextJoiner:
    """Text in pieces; a character whose UTF-16 halves came in two of them comes out whole."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """What can be shown of the text up to here that was not shown before."""
        if piece.isascii() and not self._half:
            return piece
        piece = self._half + piece
        self._half = ""
        if "\ud800" <= piece[-1] <= "\udbff":
            self._half = piece[-1]
            piece = piece[:-1]
        return without_surrogates(piece)

    def close(self) -> str:
        """A half that nothing followed, as U+FFFD."""
        left, self._half = self._half, ""
        return without_surrogates(left)


def whole_characters(value: Any) -> Any:
    """The JSON value with halves of characters joined or replaced, so that it can be saved and sent."""
    text = json.dumps(value, ensure_ascii=False)
    return value if text.isascii() else json.loads(without_surrogates(text))


def mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is an object, else an empty one: servers send null for "nothing"."""
    return value if isinstance(value, dict) else {}


def text_of(value: Any) -> str:
    """The value where it is text, else an empty one."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """A number of tokens; None is "the provider did not say", which is not 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None
    return int(value)


def finish_reason(
    raw: str | None, table: Mapping[str, FinishReason], *, anything_came: bool, unknown: FinishReason = "stop"
) -> FinishReason:
    """The reason in our words. An unknown one is `unknown` where something came, else an error: no empty success."""
    if raw is None:
        return "stop"
    known = table.get(raw)
    if known is not None:
        return known
    if not anything_came:
        raise bad_response(f"the reply is empty and ended with {raw!r}")
    return unknown
