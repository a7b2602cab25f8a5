"""Reasoning blocks (`<think>...</think>`) out of a model's reply.

Owned here: which part of a reply is reasoning when the tags stand in the text itself (contract 2.3). A tag inside the
strings of a JSON object is the model's word and stays.

Must not know: what the reply is for; reasoning that providers send apart from the text.
"""

import re
from typing import NamedTuple

from agrun_wasm.text.json_repair import balanced_end, ends_inside, parses

__all__ = ["Spoken", "has_reasoning_tag", "without_reasoning"]

_TAG = re.compile(r"</?think\s*>", re.IGNORECASE)
_TAG_OR_OBJECT = re.compile(r'</?think\s*>|\{(?=\s*")', re.IGNORECASE)
_CLOSING = re.compile(r"</think\s*>", re.IGNORECASE)
_JSON_ENDS = ("}", "}]", "```", "~~~")
_STRAY_BRACES = 16
"""After so many braces that begin no JSON they are no longer looked at: each costs a look at the rest of the text."""


class Spoken(NamedTuple):
    """What is left of a reply; `is_open` where the text ended inside its reasoning."""

    text: str
    is_open: bool = False


def has_reasoning_tag(text: str) -> bool:
    """Whether a tag stands anywhere in the text, JSON strings included."""
    return _TAG.search(text) is not None


def without_reasoning(text: str) -> Spoken:
    """The text without its blocks and without all that stands before a lone closing tag.

    After an opening tag that is never closed, a text that ends with JSON is taken as the reply (the model forgot the
    closing tag); any other is dropped as reasoning that was cut.
    """
    kept: list[str] = []
    begin = position = strays = 0
    while match := _TAG_OR_OBJECT.search(text, position):
        position = match.end()
        if match.group() == "{":
            if strays >= _STRAY_BRACES:
                continue
            end = balanced_end(text, match.start())
            if end is None and ends_inside(text[match.start() :]):
                break
            if end is not None and parses(text[match.start() : end]):
                position = end
            else:
                strays += 1
        elif match.group().startswith("</"):
            kept.clear()
            begin = position
        else:
            kept.append(text[begin : match.start()])
            closing = _CLOSING.search(text, position)
            if closing is None:
                spoken, rest = "".join(kept), text[position:]
                return Spoken(spoken + rest) if rest.rstrip().endswith(_JSON_ENDS) else Spoken(spoken, is_open=True)
            begin = position = closing.end()
    kept.append(text[begin:])
    return Spoken("".join(kept))
