"""The virtual workspace as it is saved: versioned text files in memory. Rules: document 2, 2.11."""

from __future__ import annotations

from typing import Any, Literal

from agrun_wasm.contracts.base import Contract


class TextStats(Contract):
    chars: int = 0
    words: int = 0
    lines: int = 0


class TextStructure(Contract):
    """Counts of headings, of headings repeated under one parent, and the deepest level."""

    headings: int = 0
    duplicates: int = 0
    max_level: int = 0


class WorkspaceFile(Contract):
    content: str
    version: int
    hash: str
    text_stats: TextStats
    structure: TextStructure


class WorkspaceOperation(Contract):
    action: Literal["write", "append", "insert_after_section", "apply_patch"]
    path: str
    version: int
    patch_id: str | None = None


class PendingPatch(Contract):
    """A previewed patch. `preview_hash` is the hash of the text it leads to, `operations` what it does."""

    patch_id: str
    path: str
    base_version: int
    operations: list[Any]
    summary: str = ""
    status: Literal["preview_ready", "preview_blocked"]
    risk_flags: list[str] = []
    preview_hash: str = ""


class VirtualWorkspace(Contract):
    version: int = 0
    files: dict[str, WorkspaceFile] = {}
    operations: list[WorkspaceOperation] = []
    pending_patch: PendingPatch | None = None
