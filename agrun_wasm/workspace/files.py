"""Files of the virtual workspace: their records, their limits, and what a refusal looks like. Rules: 2.11.

Owned here: how a text becomes a file record (line ends, hash, counts, structure, versions) and when it may not. Nothing
given is changed; a change gives a new workspace. Must not know patches, actions or the run.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Literal, NamedTuple

from agrun_wasm.contracts.config import WorkspaceConfig
from agrun_wasm.contracts.workspace import TextStats, TextStructure, VirtualWorkspace, WorkspaceFile, WorkspaceOperation
from agrun_wasm.text.markdown import count_words, structure

RefusalError = Literal[
    "invalid_path",
    "not_found",
    "ambiguous",
    "too_large",
    "too_many_files",
    "missing_pending_patch",
    "patch_id_mismatch",
    "pending_patch_invalid",
    "base_version_changed",
    "preview_hash_mismatch",
]
ChangeAction = Literal["write", "append", "insert_after_section", "apply_patch"]


class Refusal(NamedTuple):
    """Why nothing was changed; `message` says what to do instead."""

    error: RefusalError
    message: str

    def output(self) -> dict[str, Any]:
        return {"ok": False, "error": self.error, "message": self.message}


class Change(NamedTuple):
    """A new workspace, and the one operation that led to it."""

    workspace: VirtualWorkspace
    operation: WorkspaceOperation


def with_lf(text: str) -> str:
    """The text with LF for every CRLF and CR; nothing else is touched."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def content_hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def text_stats(text: str) -> TextStats:
    """Counts of a text; a last line break ends a line and begins none."""
    return TextStats(chars=len(text), words=count_words(text), lines=len(split_lines(text)))


def split_lines(text: str) -> list[str]:
    """The lines without their LF; no line for an empty text, none after a last LF."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def line_starts(text: str) -> list[int]:
    """Offsets at which the lines of a text in LF begin, a last empty one included."""
    starts = [0]
    while (line_end := text.find("\n", starts[-1])) >= 0:
        starts.append(line_end + 1)
    return starts


def text_structure(text: str) -> TextStructure:
    return TextStructure.model_validate(structure(text))


def oversize(path: str, content: str, config: WorkspaceConfig) -> Refusal | None:
    """The refusal, where the text is over the limit."""
    if len(content) <= config.max_file_chars:
        return None
    return Refusal(
        "too_large",
        f"{path} would have {len(content)} characters, the limit is {config.max_file_chars}; "
        "nothing was changed, write less or split it over several files",
    )


def store(
    workspace: VirtualWorkspace,
    config: WorkspaceConfig,
    path: str,
    content: str,
    action: ChangeAction,
    *,
    patch_id: str | None = None,
) -> Change | Refusal:
    """`content` (in LF) as the next version of the file, or the refusal of a limit."""
    if refusal := oversize(path, content, config):
        return refusal
    old = workspace.files.get(path)
    if old is None and len(workspace.files) >= config.max_files:
        count = len(workspace.files)
        return Refusal("too_many_files", f"{count} files are the limit; write to one of them instead of {path}")
    version = old.version + 1 if old else 1
    file = WorkspaceFile(
        content=content,
        version=version,
        hash=content_hash(content),
        text_stats=text_stats(content),
        structure=text_structure(content),
    )
    operation = WorkspaceOperation(action=action, path=path, version=version, patch_id=patch_id)
    changed = workspace.model_copy(
        update={
            "version": workspace.version + 1,
            "files": {**workspace.files, path: file},
            "operations": [*workspace.operations, operation],
        }
    )
    return Change(changed, operation)
