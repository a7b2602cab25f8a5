"""Edits of a text: the pieces that change and their places, and the two edits that make a text grow. Rules: 2.11.

Pure. Owned here: where added text stands and what parts it from the old one. Must not know files, actions or patches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from agrun_wasm.text.markdown import insert_after_section

_BLANK_LINE = 2
"""Line breaks in a row that make one blank line."""


class Edit(NamedTuple):
    """`text` takes the place of `start` to `end` of the text before."""

    start: int
    end: int
    text: str

    @property
    def growth(self) -> int:
        return len(self.text) - (self.end - self.start)


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text after edits that do not overlap, given in order."""
    pieces: list[str] = []
    position = 0
    for edit in edits:
        pieces += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*pieces, text[position:]])


def append_edit(text: str, content: str, separator: str | None) -> Edit:
    """`content` at the end; a separator only where there is something to part it from."""
    if not text:
        return Edit(0, 0, content)
    return Edit(len(text), len(text), _separator(text, content, separator) + content)


def insert_edit(text: str, heading: str, content: str, separator: str | None) -> Edit:
    """`content` at the end of the section under that heading. Raises SectionError."""
    grown = insert_after_section(text, heading, content, _separator("", content, separator))
    differing = (place for place, (old, new) in enumerate(zip(text, grown, strict=False)) if old != new)
    start = next(differing, len(text))
    return Edit(start, start, grown[start : start + len(grown) - len(text)])


def _separator(before: str, content: str, given: str | None) -> str:
    """As given; by default what is missing to one blank line."""
    if given is not None:
        return given
    ends = len(before) - len(before.rstrip("\n"))
    begins = len(content) - len(content.lstrip("\n"))
    return "\n" * max(_BLANK_LINE - ends - begins, 0)
