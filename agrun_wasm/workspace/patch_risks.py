"""Risk flags: what speaks against applying a patch, and the way out of each. Rules: 2.11.

Pure. Owned here: no_growth, structure_maybe_worse and shrinks_candidate, and their order among the flags. Must not know
how operations are done, nor what is kept of a preview.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

from agrun_wasm.text.markdown import Heading, headings
from agrun_wasm.text.shorten import one_line
from agrun_wasm.workspace.edits import Edit
from agrun_wasm.workspace.files import line_starts
from agrun_wasm.workspace.patch_operations import Patched

RiskFlag = Literal["not_found", "ambiguous", "no_growth", "structure_maybe_worse", "shrinks_candidate"]

#: flag -> does it block? In the order in which they are told.
RISK_FLAGS: dict[RiskFlag, bool] = {
    "not_found": True,
    "ambiguous": True,
    "no_growth": True,
    "structure_maybe_worse": True,
    "shrinks_candidate": False,
}

_GROWING = frozenset({"append", "insert_after_section"})
_NEW_TEXT = "append or insert_after_section text that is new, or take another find; workspace_append adds it at once"
_OTHER_STRUCTURE = (
    "give the heading another text or level, insert_after_section where it belongs, or take another find that leaves "
    "headings alone; workspace_append adds plain text"
)


class Risk(NamedTuple):
    """A flag, what it is about, and what to do instead ("" for one that only informs)."""

    flag: RiskFlag
    message: str
    way_out: str = ""

    @property
    def blocks(self) -> bool:
        return RISK_FLAGS[self.flag]


def risks(patched: Patched) -> list[Risk]:
    """Every risk of a patch, those of one flag together, in the table's order."""
    found = [Risk(fault.flag, fault.message, fault.way_out) for fault in patched.faults]
    found += [Risk("structure_maybe_worse", message, _OTHER_STRUCTURE) for message in _structure_faults(patched)]
    if not found and (message := _no_growth(patched)):
        found.append(Risk("no_growth", message, _NEW_TEXT))
    if len(patched.text) < len(patched.base):
        found.append(
            Risk("shrinks_candidate", f"the text gets {len(patched.base) - len(patched.text)} characters shorter")
        )
    order = list(RISK_FLAGS)
    return sorted(found, key=lambda risk: order.index(risk.flag))


def _no_growth(patched: Patched) -> str:
    if patched.text == patched.base:
        return "the patch changes nothing"
    only_grows = all(step.type in _GROWING for step in patched.steps)
    if only_grows and _signs(patched.text) <= _signs(patched.base):
        return "the patch adds nothing but white space"
    return ""


def _signs(text: str) -> int:
    return sum(len(word) for word in text.split())


def _structure_faults(patched: Patched) -> Iterator[str]:
    if patched.text == patched.base:
        return
    before, after = headings(patched.base), headings(patched.text)
    for name in _duplicates(after) - _duplicates(before):
        yield f"the heading {one_line(name, 60)!r} would stand twice under one parent"
    for heading in _lost(patched, before, after):
        yield f"the heading on line {heading.line} ({one_line(heading.text, 60)!r}) would be none any more"
    for level in _jumps(after) - _jumps(before) - _allowed_jumps(patched):
        yield f"a heading would jump down to level {level}, more than one level below the one before it"


def _duplicates(found: Sequence[Heading]) -> Counter[str]:
    """How often each heading text repeats one that a sibling before it has."""
    parents: list[int] = []
    seen: set[tuple[int, str]] = set()
    repeated: Counter[str] = Counter()
    for index, heading in enumerate(found):
        while parents and found[parents[-1]].level >= heading.level:
            parents.pop()
        name = " ".join(heading.text.split())
        key = (parents[-1] if parents else -1, name)
        repeated[name] += key in seen
        seen.add(key)
        parents.append(index)
    return +repeated


def _jumps(found: Sequence[Heading]) -> Counter[int]:
    """Headings more than one level below the heading before them, counted by their level.

    Not by their text or by what stands above: a heading that is renamed, or nearer to it now, makes no new jump.
    """
    return Counter(below.level for above, below in pairwise(found) if below.level > above.level + 1)


def _allowed_jumps(patched: Patched) -> Counter[int]:
    """Those that normalize_headings made: it may change levels."""
    allowed: Counter[int] = Counter()
    for step in patched.steps:
        if step.type == "normalize_headings":
            allowed += _jumps(headings(step.after)) - _jumps(headings(step.before))
    return allowed


def _lost(patched: Patched, before: Sequence[Heading], after: Sequence[Heading]) -> Iterator[Heading]:
    """Headings of the base in whose place none stands any more.

    Each is followed through the edits as a range of offsets; an edit inside or across it widens the range to what took
    its place. One new heading makes up for one old one.
    """
    starts = line_starts(patched.text)
    left = [starts[heading.line - 1] for heading in after]
    for heading, (start, end) in zip(before, _moved_ranges(patched, before), strict=True):
        line_start = patched.text.rfind("\n", 0, start) + 1
        place = bisect_left(left, line_start)
        if place < len(left) and (left[place] < end or left[place] == line_start):
            del left[place]
        else:
            yield heading


def _moved_ranges(patched: Patched, found: Sequence[Heading]) -> list[tuple[int, int]]:
    starts = [*line_starts(patched.base), len(patched.base) + 1]
    ranges = [(starts[heading.line - 1], starts[heading.end_line] - 1) for heading in found]
    for step in patched.steps:
        ranges = _moved(ranges, step.edits)
    return ranges


def _moved(ranges: Sequence[tuple[int, int]], edits: Sequence[Edit]) -> list[tuple[int, int]]:
    """The ranges after edits in order; those before a range shift it, those inside or across it widen it."""
    begins, ends = [edit.start for edit in edits], [edit.end for edit in edits]
    growth = list(accumulate((edit.growth for edit in edits), initial=0))
    moved: list[tuple[int, int]] = []
    for start, end in ranges:
        first, after = bisect_right(ends, start), bisect_left(begins, end)
        if first >= after:
            moved.append((start + growth[first], end + growth[first]))
        else:
            moved.append((min(start, begins[first]) + growth[first], max(end, ends[after - 1]) + growth[after]))
    return moved
