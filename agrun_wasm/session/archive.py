"""The archive of a saved state: the oldest cycles of a long run as compressed text, so that its state stays small and
saving it costs the same each cycle.

Nothing is lost: loading puts the entries back in front of their lists. A run of ordinary length has no archive. Owns
the form of a chunk, zlib over JSON in base64, and which cycles are in one: it depends on the number of cycles alone, so
a chunk is made once and never changes.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from bisect import bisect_right
from typing import Any

from pydantic.alias_generators import to_camel

from agrun_wasm.contracts.base import Contract
from agrun_wasm.contracts.errors import StateInvalid
from agrun_wasm.contracts.state import RunState

#: cycles that one chunk holds; as many at least stay in the open
CHUNK = 32
#: the lists that grow with every cycle, by their path in the state; their entries know their cycle and stand in order
LISTS: dict[str, tuple[str, ...]] = {
    "steps": ("steps",),
    "cycles": ("cycles",),
    "toolHistory": ("tool_context", "history"),
}
#: bytes that one chunk may unpack to; a hostile state could else fill the memory
MAX_CHUNK_BYTES = 64_000_000

_Entries = dict[str, list[Any]]


def open_entries(state: RunState) -> _Entries:
    """The entries of each list that are not archived."""
    return _between(state, _chunks(state) * CHUNK, None)


def archive_of(state: RunState) -> list[str]:
    """The chunks of a run that is long enough to have some. Those made before are remembered with the state."""
    known = state.archived
    for number in range(len(known), _chunks(state)):
        # Cycle by cycle: what a step and its result have in common then stands close together, and packs well.
        first = number * CHUNK
        known.append(_pack([_between(state, cycle, cycle + 1) for cycle in range(first, first + CHUNK)]))
    return known[: _chunks(state)]


def unarchive(saved: dict[str, Any]) -> list[str]:
    """Puts archived entries back into the lists of a state as JSON; gives the chunks. Raises STATE_INVALID."""
    archive = saved.pop("archive", [])
    if not isinstance(archive, list):
        raise StateInvalid("state: 'archive' must be a list")
    entries: _Entries = {name: [] for name in LISTS}
    for place, chunk in enumerate(archive):
        for group in _unpack(chunk, f"archive[{place}]"):
            for name in LISTS:
                entries[name] += group[name]
    if archive:
        for name, archived in entries.items():
            put(saved, name, archived, before=True)
    return archive


def put(saved: dict[str, Any], name: str, entries: list[Any], *, before: bool = False) -> None:
    """Writes a list to its place in a state as JSON, or adds to its front. Raises STATE_INVALID where it has none."""
    *path, last = [to_camel(key) for key in LISTS[name]]
    parent: Any = saved
    for key in path:
        parent = parent.get(key) if isinstance(parent, dict) else None
    if not isinstance(parent, dict) or not isinstance(parent.get(last), list):
        raise StateInvalid(f"state: '{'.'.join([*path, last])}' is missing or no list, and 'archive' belongs to it")
    parent[last] = entries + parent[last] if before else entries


def _chunks(state: RunState) -> int:
    return max(0, state.cycles_started // CHUNK - 1)


def _between(state: RunState, after: int, until: int | None) -> _Entries:
    """The entries of the cycles above `after`, up to `until`; what came before the first cycle goes with it."""
    found: _Entries = {}
    for name, path in LISTS.items():
        entries: Any = state
        for key in path:
            entries = getattr(entries, key)
        first = bisect_right(entries, after, key=_cycle) if after else 0
        found[name] = entries[first : None if until is None else bisect_right(entries, until, key=_cycle)]
    return found


def _cycle(entry: Any) -> int:
    return entry.cycle  # type: ignore[no-any-return]


def _pack(groups: list[_Entries]) -> str:
    listed = [{name: [Contract.to_json(entry) for entry in group[name]] for name in LISTS} for group in groups]
    text = json.dumps(listed, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _unpack(chunk: Any, where: str) -> list[_Entries]:
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(chunk, validate=True), MAX_CHUNK_BYTES)
        if not unpacker.eof:
            raise ValueError("it is cut, or too large")
        groups = json.loads(data)
    except (TypeError, ValueError, RecursionError, zlib.error, binascii.Error) as error:
        raise StateInvalid(f"state: '{where}' cannot be unpacked ({error})") from None
    whole = isinstance(groups, list) and len(groups) == CHUNK
    if not whole or not all(_is_group(group) for group in groups):
        raise StateInvalid(f"state: '{where}' must hold the {', '.join(LISTS)} of {CHUNK} cycles")
    return groups  # type: ignore[no-any-return]


def _is_group(group: Any) -> bool:
    return isinstance(group, dict) and all(isinstance(group.get(name), list) for name in LISTS)
