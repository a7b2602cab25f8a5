"""Stitching: sections, intro, outro and the blocks after them into one Markdown text, byte for byte. Rules: 2.7.

Pure. Owns the form of the text; where the parts come from is `synthesize`'s.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from agrun_wasm.contracts.decision import Stitch
from agrun_wasm.text.blocks import DRILL_HINTS, FOLLOWUPS, TRAILING_BLOCKS, fenced_json, join, trim
from agrun_wasm.text.fences import strip_fenced

_HINT_KEYS = ("match_header", "label", "prompt")


class SectionText(NamedTuple):
    """A section's title as given (None: numbered) and its text, or why it failed."""

    title: str | None
    body: str
    failure: str | None = None


def stitch_problem(stitch: Stitch | None) -> str | None:
    """Why the stitch is not valid, or None."""
    if stitch is None:
        return None
    for name in ("intro_prompt", "outro_prompt", "provenance"):
        if not isinstance(getattr(stitch, name), str | None):
            return f"stitch.{name} must be a string"
    if not isinstance(stitch.followups, list) or not all(isinstance(item, str) for item in stitch.followups):
        return "stitch.followups must be a list of strings"
    if not isinstance(stitch.drill_hints, list):
        return "stitch.drill_hints must be a list of objects"
    for place, hint in enumerate(stitch.drill_hints):
        for key in _HINT_KEYS:
            value = hint.get(key) if isinstance(hint, dict) else None
            if not isinstance(value, str) or not value.strip():
                return f"stitch.drill_hints[{place}] needs a non-blank string in {key!r}"
    return None


def clean_part(text: str) -> str:
    """A written part without the blocks that belong to the whole text, and without outer blank lines."""
    return trim(strip_fenced(text, TRAILING_BLOCKS))


def stitch(sections: Iterable[SectionText], stitch: Stitch | None, intro: str | None, outro: str | None) -> str:
    """The whole text, its parts trimmed of outer blank lines and joined by one blank line."""
    parts = [intro or ""]
    for number, section in enumerate(sections, 1):
        parts.append(_section(section, number))
    parts.append(outro or "")
    if stitch is not None:
        parts.append(stitch.provenance or "")
        parts.append(fenced_json(FOLLOWUPS, stitch.followups))
        parts.append(fenced_json(DRILL_HINTS, stitch.drill_hints))
    return join(parts)


def _section(section: SectionText, number: int) -> str:
    title = section.title if section.title is not None else f"## Section {number}"
    if section.failure is not None:
        return join([title, failure_comment(section.failure)])
    body = section.body
    first, newline, rest = body.partition("\n")
    if first.rstrip() == title.rstrip():
        body = rest if newline else ""
    return join([title, body])


def failure_comment(reason: str) -> str:
    """`<!-- section failed: reason -->` on one line that nothing in the reason can end early."""
    line = " ".join(reason.split()).replace(">", "&gt;")
    while "--" in line:
        line = line.replace("--", "- -")
    return f"<!-- section failed: {line} -->"
