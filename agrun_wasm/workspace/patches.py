"""Patches: previewed first, applied later, never with another outcome than the one previewed. Rules: 2.11.

Pure. Owned here: what a preview tells and keeps, and the checks before it is applied. Must not know actions, nor how
blocked previews are counted. The text of a preview is never told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from agrun_wasm.contracts.config import WorkspaceConfig
from agrun_wasm.contracts.workspace import PendingPatch, TextStructure, VirtualWorkspace, WorkspaceFile
from agrun_wasm.text.markdown import count_words
from agrun_wasm.text.shorten import one_line
from agrun_wasm.workspace.files import Change, Refusal, content_hash, oversize, store, text_structure
from agrun_wasm.workspace.patch_operations import Patched, patched
from agrun_wasm.workspace.patch_risks import Risk, risks


class Preview(NamedTuple):
    """A workspace with the new pending patch, what the model is told of it, and whether it is blocked."""

    workspace: VirtualWorkspace
    output: dict[str, Any]
    blocked: bool


def propose(
    workspace: VirtualWorkspace,
    config: WorkspaceConfig,
    path: str,
    operations: Sequence[Mapping[str, Any]],
    summary: str,
    patch_id: str,
) -> Preview | Refusal:
    """Previews operations on a file; nothing changes but the pending patch, which the new one replaces."""
    file = workspace.files.get(path)
    result = patched(file.content if file else "", operations if file else [])
    found = risks(result) if file else [_no_file(path)]
    if refusal := oversize(path, result.text, config):
        return refusal
    pending = PendingPatch(
        patch_id=patch_id,
        path=path,
        base_version=file.version if file else 0,
        operations=deepcopy(list(operations)),
        summary=summary,
        status="preview_blocked" if any(risk.blocks for risk in found) else "preview_ready",
        risk_flags=list(dict.fromkeys(risk.flag for risk in found)),
        preview_hash=content_hash(result.text),
    )
    output = _told(pending, file, result, found)
    proposed = workspace.model_copy(update={"pending_patch": pending})
    return Preview(proposed, output, pending.status == "preview_blocked")


def apply(workspace: VirtualWorkspace, config: WorkspaceConfig, patch_id: str) -> Change | Refusal:
    """The file with the pending patch applied, which is pending no more."""
    pending = workspace.pending_patch
    if pending is None:
        return Refusal("missing_pending_patch", "there is no pending patch; propose one with workspace_propose_patch")
    if pending.patch_id != patch_id:
        return Refusal("patch_id_mismatch", f"the pending patch is {pending.patch_id}; only the latest can be applied")
    if pending.status != "preview_ready":
        flags = ", ".join(pending.risk_flags)
        return Refusal("pending_patch_invalid", f"the preview is blocked ({flags}); propose another patch")
    file = workspace.files.get(pending.path)
    if file is None or file.version != pending.base_version:
        return Refusal("base_version_changed", f"{pending.path} has changed since the preview; propose the patch again")
    result = patched(file.content, pending.operations)
    if result.faults or content_hash(result.text) != pending.preview_hash:
        return Refusal("preview_hash_mismatch", "the patch does not lead to the previewed text; propose it again")
    change = store(workspace, config, pending.path, result.text, "apply_patch", patch_id=patch_id)
    if isinstance(change, Refusal):
        return change
    return Change(change.workspace.model_copy(update={"pending_patch": None}), change.operation)


def _no_file(path: str) -> Risk:
    return Risk("not_found", f"there is no file {path}", "write it with workspace_write or workspace_append")


def _told(pending: PendingPatch, file: WorkspaceFile | None, result: Patched, found: Sequence[Risk]) -> dict[str, Any]:
    words_before, words_after = count_words(result.base), count_words(result.text)
    output: dict[str, Any] = {
        "kind": "workspace_patch_preview",
        "patchId": pending.patch_id,
        "path": pending.path,
        "baseVersion": pending.base_version,
        "beforeWords": words_before,
        "afterWords": words_after,
        "deltaWords": words_after - words_before,
        "changed": result.text != result.base,
        "status": pending.status,
        "riskFlags": pending.risk_flags,
    }
    if file is None:
        output["previewSummary"] = _summary(found)
    else:
        before, after = file.structure, text_structure(result.text)
        output["previewSummary"] = _summary(found) or _changes(result, words_before, words_after, before, after)
        output |= {"structureBefore": before.to_json(), "structureAfter": after.to_json()}
    if blocking := [risk for risk in found if risk.blocks]:
        output["suggestion"] = "; ".join(f"{risk.message}: {risk.way_out}" for risk in blocking)
    return output


def _summary(found: Sequence[Risk]) -> str:
    """What blocks a patch; "" where nothing does."""
    return "; ".join(f"{risk.flag}: {one_line(risk.message, 160)}" for risk in found if risk.blocks)


def _changes(result: Patched, words_before: int, words_after: int, before: TextStructure, after: TextStructure) -> str:
    kinds = ", ".join(dict.fromkeys(step.type for step in result.steps))
    headings = f"headings {before.headings} -> {after.headings}"
    return f"{kinds}: words {words_before} -> {words_after}, {headings}"
