"""The archive of a saved state: the oldest entries of its growing lists as compressed text, so that a long run's state
stays small and saving it costs the same each cycle.

Nothing is lost: loading puts the entries back in front of their lists. A run of ordinary length has no archive. Owns
the form of a chunk, zlib over a JSON array in base64, and which entries are in one: it depends on the list's length
alone, so a chunk is made once and never changes.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any, NamedTuple

from pydantic.alias_generators import to_camel

from agrun_wasm.contracts.base import Contract
from agrun_wasm.contracts.errors import StateInvalid
from agrun_wasm.contracts.state import RunState

#: bytes that one chunk may unpack to; a hostile state could else fill the memory
MAX_CHUNK_BYTES = 64_000_000


class Slot(NamedTuple):
    """A list that grows with the run, by its path in the state. Always `chunk` entries at least stay in the open."""

    path: tuple[str, ...]
    chunk: int

    @property
    def keys(self) -> list[str]:
        return [to_camel(name) for name in self.path]

    def entries(self, state: RunState) -> list[Any]:
        found: Any = state
        for name in self.path:
            found = getattr(found, name)
        return found  # type: ignore[no-any-return]

    def archived(self, length: int) -> int:
        """How many leading entries of a list of this length are archived."""
        return max(0, length // self.chunk - 1) * self.chunk


SLOTS: dict[str, Slot] = {
    "steps": Slot(("steps",), 256),
    "cycles": Slot(("cycles",), 32),
    "toolHistory": Slot(("tool_context", "history"), 32),
    "readSources": Slot(("research_context", "read_sources"), 8),
}


def archive_of(state: RunState) -> dict[str, list[str]]:
    """The chunks of each list that is long enough to have some. Those made before are remembered with the state."""
    archive: dict[str, list[str]] = {}
    for name, slot in SLOTS.items():
        entries = slot.entries(state)
        archived = slot.archived(len(entries))
        known = state.archived.setdefault(name, [])
        for start in range(len(known) * slot.chunk, archived, slot.chunk):
            known.append(_pack(entries[start : start + slot.chunk]))
        if archived:
            archive[name] = known[: archived // slot.chunk]
    return archive


def unarchive(saved: dict[str, Any]) -> dict[str, list[str]]:
    """Puts archived entries back into the lists of a state as JSON; gives the chunks. Raises STATE_INVALID."""
    archive = saved.pop("archive", {})
    if not isinstance(archive, dict):
        raise StateInvalid("state: 'archive' must be an object")
    for name, chunks in archive.items():
        slot = SLOTS.get(name)
        if slot is None or not isinstance(chunks, list):
            raise StateInvalid(f"state: 'archive.{name}' is no archived list; known: {', '.join(SLOTS)}")
        *path, last = slot.keys
        parent: Any = saved
        for key in path:
            parent = parent.get(key) if isinstance(parent, dict) else None
        if not isinstance(parent, dict) or not isinstance(parent.get(last), list):
            raise StateInvalid(f"state: '{'.'.join(slot.keys)}' is missing, and 'archive.{name}' belongs to it")
        entries: list[Any] = []
        for place, chunk in enumerate(chunks):
            entries += _unpack(chunk, slot.chunk, f"archive.{name}[{place}]")
        parent[last] = entries + parent[last]
    return archive


def _pack(entries: list[Any]) -> str:
    listed = [entry.to_json() if isinstance(entry, Contract) else entry for entry in entries]
    text = json.dumps(listed, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _unpack(chunk: Any, length: int, where: str) -> list[Any]:
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(chunk, validate=True), MAX_CHUNK_BYTES)
        if not unpacker.eof:
            raise ValueError("it is cut, or too large")
        entries = json.loads(data)
    except (TypeError, ValueError, RecursionError, zlib.error, binascii.Error) as error:
        raise StateInvalid(f"state: '{where}' cannot be unpacked ({error})") from None
    if not isinstance(entries, list) or len(entries) != length:
        raise StateInvalid(f"state: '{where}' must hold a list of {length} entries")
    return entries
