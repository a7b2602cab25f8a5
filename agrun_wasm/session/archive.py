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
from copy import deepcopy
from typing import Any

from pydantic.alias_generators import to_camel

from agrun_wasm.contracts.base import Contract
from agrun_wasm.contracts.errors import StateInvalid
from agrun_wasm.contracts.state import ArchiveChunk, RunState

#: cycles that one chunk holds; as many at least stay in the open
CHUNK = 32
#: the lists that grow with every cycle, by their path in the state; their entries know their cycle
LISTS: dict[str, tuple[str, ...]] = {
    "steps": ("steps",),
    "cycles": ("cycles",),
    "toolHistory": ("tool_context", "history"),
}
#: lists whose entries know no cycle: what is in the open is halved with each chunk
HALVED: dict[str, tuple[str, ...]] = {
    "readSources": ("research_context", "read_sources"),
    "searchResults": ("research_context", "search_results"),
}
_PATHS = {**LISTS, **HALVED}
#: bytes that one chunk may unpack to; a hostile state could else fill the memory
MAX_CHUNK_BYTES = 64_000_000

_Entries = dict[str, list[Any]]


def open_entries(state: RunState) -> _Entries:
    """The entries of each list that are not archived."""
    chunks = _chunks(state)
    counts = state.archived[chunks - 1].counts if chunks else {}
    return {name: _list(state, name)[counts.get(name, 0) :] for name in _PATHS}


def archive_of(state: RunState) -> list[str]:
    """The chunks of a run that is long enough to have some. Those made before are remembered with the state."""
    known = state.archived
    for number in range(len(known), _chunks(state)):
        counts = dict(known[-1].counts) if known else dict.fromkeys(_PATHS, 0)
        # Cycle by cycle: what a step and its result have in common then stands close together, and packs well.
        groups = [_take(state, counts, cycle) for cycle in range(number * CHUNK + 1, number * CHUNK + CHUNK + 1)]
        groups[0] |= _take_half(state, counts)
        known.append(ArchiveChunk(_pack(groups), counts))
    return [chunk.text for chunk in known[: _chunks(state)]]


def _take(state: RunState, counts: dict[str, int], until: int) -> _Entries:
    """The next entries of each list up to this cycle; `counts` moves on. One that came out of order waits."""
    taken: _Entries = {}
    for name in LISTS:
        entries, first = _list(state, name), counts[name]
        last = first
        while last < len(entries) and entries[last].cycle <= until:
            last += 1
        taken[name] = entries[first:last]
        counts[name] = last
    return taken


def unarchive(saved: dict[str, Any]) -> list[ArchiveChunk]:
    """Puts archived entries back into the lists of a state as JSON; gives the chunks. Raises STATE_INVALID."""
    archive = saved.pop("archive", [])
    if not isinstance(archive, list):
        raise StateInvalid("state: 'archive' must be a list")
    entries: _Entries = {name: [] for name in _PATHS}
    chunks: list[ArchiveChunk] = []
    for place, text in enumerate(archive):
        for group in _unpack(text, f"archive[{place}]"):
            for name, listed in group.items():
                entries[name] += listed
        chunks.append(ArchiveChunk(text, {name: len(listed) for name, listed in entries.items()}))
    if archive:
        for name, archived in entries.items():
            put(saved, name, archived, before=True)
    return chunks


def put(saved: dict[str, Any], name: str, entries: list[Any], *, before: bool = False) -> None:
    """Writes a list to its place in a state as JSON, or adds to its front. Raises STATE_INVALID where it has none."""
    *path, last = [to_camel(key) for key in _PATHS[name]]
    parent: Any = saved
    for key in path:
        parent = parent.get(key) if isinstance(parent, dict) else None
    if not isinstance(parent, dict) or not isinstance(parent.get(last), list):
        raise StateInvalid(f"state: '{'.'.join([*path, last])}' is missing or no list, and 'archive' belongs to it")
    parent[last] = entries + parent[last] if before else entries


def _chunks(state: RunState) -> int:
    return max(0, state.cycles_started // CHUNK - 1)


def _take_half(state: RunState, counts: dict[str, int]) -> _Entries:
    taken: _Entries = {}
    for name in HALVED:
        entries, first = _list(state, name), counts[name]
        counts[name] = first + (len(entries) - first) // 2
        taken[name] = entries[first : counts[name]]
    return taken


def _list(state: RunState, name: str) -> list[Any]:
    found: Any = state
    for key in _PATHS[name]:
        found = getattr(found, key)
    return found  # type: ignore[no-any-return]


def _pack(groups: list[_Entries]) -> str:
    listed = [{name: [entry_json(entry) for entry in entries] for name, entries in g.items()} for g in groups]
    text = json.dumps(listed, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def entry_json(entry: Any) -> Any:
    """An entry as JSON of its own. (A step's own to_json shares its detail with the step.)"""
    return Contract.to_json(entry) if isinstance(entry, Contract) else deepcopy(entry)


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
    if not isinstance(group, dict) or not LISTS.keys() <= group.keys() <= _PATHS.keys():
        return False
    return all(isinstance(entries, list) for entries in group.values())
