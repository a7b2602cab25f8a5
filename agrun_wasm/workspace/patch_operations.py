"""The operations of a patch as edits of a text: replace, append, insert_after_section, normalize_headings. Rules: 2.11.

Pure. Owned here: what each operation means, when it is malformed or fits nowhere, and the words about that. Must not
know what makes an edited text risky, nor files.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from agrun_wasm.contracts.naming import did_you_mean
from agrun_wasm.text.markdown import Heading, SectionError, headings
from agrun_wasm.text.shorten import one_line
from agrun_wasm.workspace.edits import Edit, append_edit, edited, insert_edit
from agrun_wasm.workspace.files import line_starts, with_lf
from agrun_wasm.workspace.patch_forms import SHAPES

#: how a find can miss by a hair -> what makes both alike; told, never used to match
_NEAR_MISSES: dict[str, Callable[[str], str]] = {
    "Unicode normalization (composed or decomposed characters)": lambda text: unicodedata.normalize("NFC", text),
    "white space": lambda text: " ".join(text.split()),
    "letter case": str.casefold,
}
_HEADING = re.compile(r"#{1,6}[ \t]+\S.*")
_OTHER_FIND = "take another find from workspace_read exactly as it stands there, or add text by append"


class OperationFault(Exception):
    """An operation that cannot be done. `flag` is the risk flag, `way_out` what to do instead."""

    def __init__(self, flag: Literal["not_found", "ambiguous"], message: str, way_out: str) -> None:
        super().__init__(message)
        self.flag = flag
        self.message = message
        self.way_out = way_out


class Step(NamedTuple):
    """One operation that was done: the text before it, and its edits in order."""

    type: str
    before: str
    edits: tuple[Edit, ...]
    after: str


class Patched(NamedTuple):
    """What operations made of `base`. With faults nothing was done at all."""

    base: str
    text: str
    steps: tuple[Step, ...] = ()
    faults: tuple[OperationFault, ...] = ()


def patched(base: str, operations: Sequence[Any]) -> Patched:
    """The text after all operations, each on what the ones before it left."""
    text = base
    steps: list[Step] = []
    faults: list[OperationFault] = []
    for operation in operations:
        try:
            kind, edits = _edits(text, operation)
        except OperationFault as fault:
            faults.append(fault)
            continue
        after = edited(text, edits)
        steps.append(Step(kind, text, tuple(edits), after))
        text = after
    if faults:
        return Patched(base, base, faults=tuple(faults))
    return Patched(base, text, tuple(steps))


def _edits(text: str, operation: Any) -> tuple[str, list[Edit]]:
    kind = operation.get("type") if isinstance(operation, Mapping) else None
    make = _MAKERS.get(kind) if isinstance(kind, str) else None
    if make is None:
        hint = did_you_mean(kind, _MAKERS) if isinstance(kind, str) else ""
        shapes = "; ".join(SHAPES.values())
        message = f"there is no operation of the type {one_line(repr(kind), 40)}{hint}"
        raise OperationFault("not_found", message, f"give one of {shapes}")
    return str(kind), make(text, operation)


def _string(operation: Mapping[str, Any], key: str, *, blank: bool = True) -> str:
    """A string of an operation in LF; a malformed operation is a fault."""
    value = operation.get(key)
    if isinstance(value, str) and (value or blank):
        return with_lf(value)
    kind = operation["type"]
    state = f"an empty `{key}`" if value == "" else f"no `{key}` of type string"
    way_out = f"give {SHAPES[kind]}"
    if kind == "replace":
        way_out += ", or add text by append {content} or insert_after_section {heading, content}"
    raise OperationFault("not_found", f"the operation {kind} has {state}", way_out)


def _optional_string(operation: Mapping[str, Any], key: str) -> str | None:
    return None if operation.get(key) is None else _string(operation, key)


def _replace(text: str, operation: Mapping[str, Any]) -> list[Edit]:
    find, replacement = _string(operation, "find", blank=False), _string(operation, "replace")
    every = operation.get("replace_all")
    if every is not None and not isinstance(every, bool):
        raise OperationFault("not_found", "the operation replace has no `replace_all` of type boolean", _OTHER_FIND)
    if every:
        places = _places(text, find, overlapping=False)
    else:
        places = _places(text, find, overlapping=True)
        if len(places) > 1:
            lines = [str(text.count("\n", 0, place) + 1) for place in places[:5]]
            more = ", ..." if len(places) > len(lines) else ""
            message = f"find {one_line(repr(find), 60)} fits {len(places)} times (lines {', '.join(lines)}{more})"
            raise OperationFault(
                "ambiguous", message, "take another find, a longer one that fits once, or set replace_all: true"
            )
    if not places:
        raise OperationFault("not_found", _not_found(text, find), _OTHER_FIND)
    return [Edit(place, place + len(find), replacement) for place in places]


def _places(text: str, find: str, *, overlapping: bool) -> list[int]:
    places: list[int] = []
    place = text.find(find)
    while place >= 0:
        places.append(place)
        place = text.find(find, place + (1 if overlapping else len(find)))
    return places


def _not_found(text: str, find: str) -> str:
    message = f"find {one_line(repr(find), 60)} is not in the file"
    for difference, alike in _NEAR_MISSES.items():
        if alike(find) in alike(text):
            return f"{message}; a place differs from it only in {difference}"
    return message


def _append(text: str, operation: Mapping[str, Any]) -> list[Edit]:
    return [append_edit(text, _string(operation, "content"), _optional_string(operation, "separator"))]


def _insert(text: str, operation: Mapping[str, Any]) -> list[Edit]:
    heading, content = _string(operation, "heading", blank=False), _string(operation, "content")
    try:
        return [insert_edit(text, heading, content, _optional_string(operation, "separator"))]
    except SectionError as fault:
        if fault.reason == "ambiguous":
            way_out = "use replace with a find that fits once, or append"
        else:
            way_out = f"take a heading of the file ({_heading_list(text)}), or use append"
        raise OperationFault(fault.reason, fault.message, way_out) from None


def _heading_list(text: str) -> str:
    found = headings(text)
    names = [f"{item.line}: {one_line(item.text, 40)!r}" for item in found[:10]]
    return ", ".join(names) + (", ..." if len(found) > len(names) else "") if names else "it has none"


def _normalize_headings(text: str, operation: Mapping[str, Any]) -> list[Edit]:
    wanted = operation.get("headings")
    if not isinstance(wanted, list) or not wanted:
        message = "the operation normalize_headings has no list `headings`"
        raise OperationFault("not_found", message, f"give {SHAPES['normalize_headings']}")
    by_line = {item.line: item for item in headings(text)}
    starts = line_starts(text)
    edits: dict[int, Edit] = {}
    for entry in wanted:
        line, new = _line_and_text(entry)
        heading = by_line.get(line)
        if heading is None or line in edits:
            state = "is named twice" if line in edits else "is no heading of the file"
            way_out = f"take the line of a heading ({_heading_list(text)}), or use replace with another find"
            raise OperationFault("not_found", f"line {line} {state}", way_out)
        edits[line] = _heading_edit(text, starts, heading, new)
    return [edits[line] for line in sorted(edits)]


def _line_and_text(entry: Any) -> tuple[int, str]:
    line, text = (entry.get("lineNumber"), entry.get("text")) if isinstance(entry, Mapping) else (None, None)
    is_line = isinstance(line, int | float) and not isinstance(line, bool) and int(line) == line
    if not is_line or not isinstance(text, str) or not text.strip(" \t#") or len(text.strip().splitlines()) != 1:
        message = (
            f"an entry of `headings` needs a whole lineNumber and one line of text, not {one_line(repr(entry), 60)}"
        )
        raise OperationFault("not_found", message, f"give {SHAPES['normalize_headings']}")
    assert line is not None
    return int(line), text.strip()


def _heading_edit(text: str, starts: list[int], heading: Heading, new: str) -> Edit:
    """`new` with its own #s in the place of the whole heading; else as its text, at the level it has."""
    last_line = heading.end_line
    if not _HEADING.fullmatch(new):
        if heading.setext:
            last_line -= 1  # the underline stays
        else:
            new = f"{'#' * heading.level} {new}"
    end = starts[last_line] - 1 if last_line < len(starts) else len(text)
    return Edit(starts[heading.line - 1], end, new)


_MAKERS: dict[str, Callable[[str, Mapping[str, Any]], list[Edit]]] = {
    "replace": _replace,
    "append": _append,
    "insert_after_section": _insert,
    "normalize_headings": _normalize_headings,
}
