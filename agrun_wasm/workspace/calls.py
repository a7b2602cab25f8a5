"""What each workspace action does with its arguments: outputs, summaries and effects. Rules: 2.11.

Pure: the workspace of the state comes in, a result goes out. Must not know what the planner is told of the actions, nor
how files change or patches are judged.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

from agrun_wasm.contracts.config import WorkspaceConfig
from agrun_wasm.contracts.effects import PatchPreviewed, Published, WorkspaceChanged, WorkspaceGrown
from agrun_wasm.contracts.workspace import VirtualWorkspace, WorkspaceFile
from agrun_wasm.workspace import operations, patches
from agrun_wasm.workspace.files import Change, Refusal, split_lines
from agrun_wasm.workspace.paths import PathInvalid, workspace_path


class Call(NamedTuple):
    """One call: the workspace as it is, the limits, the checked arguments, and the call's own key."""

    workspace: VirtualWorkspace
    config: WorkspaceConfig
    args: dict[str, Any]
    key: str

    def path(self) -> str:
        """Raises PathInvalid."""
        return workspace_path(self.args["path"])


def run(action: str, call: Call) -> dict[str, Any]:
    """The result of a workspace action; a refusal is an output like any other."""
    try:
        result = _DOES[action](call)
    except PathInvalid as fault:
        result = Refusal("invalid_path", str(fault))
    if isinstance(result, Refusal):
        return {"control": "continue", "output": result.output(), "summary": f"refused: {result.error}"}
    return result


def _list_files(call: Call) -> dict[str, Any]:
    workspace = call.workspace
    pending = workspace.pending_patch
    output = {
        "kind": "workspace_files",
        "ok": True,
        "version": workspace.version,
        "files": [{"path": path, **_described(file)} for path, file in workspace.files.items()],
        "pendingPatch": pending and {"patchId": pending.patch_id, "path": pending.path, "status": pending.status},
    }
    return {"control": "continue", "output": output, "summary": f"{len(workspace.files)} workspace files"}


def _read_file(call: Call) -> dict[str, Any] | Refusal:
    path = call.path()
    file = call.workspace.files.get(path)
    if file is None:
        return operations.no_file(call.workspace, path)
    lines = split_lines(file.content)
    first = max(int(call.args.get("startLine", 1)), 1)
    most = int(call.args.get("maxLines", 0))
    last = min(first + most - 1, len(lines)) if most > 0 else len(lines)
    whole = first == 1 and last == len(lines)
    output = {
        "kind": "workspace_file",
        "ok": True,
        "path": path,
        "version": file.version,
        "content": file.content if whole else "\n".join(lines[first - 1 : last]),
        "startLine": first,
        "lines": max(last - first + 1, 0),
        "totalLines": len(lines),
    }
    return {"control": "continue", "output": output, "summary": f"read {path} (version {file.version})"}


def _write_file(call: Call) -> dict[str, Any] | Refusal:
    return _grown(operations.write(call.workspace, call.config, call.path(), call.args["content"]))


def _append_text(call: Call) -> dict[str, Any] | Refusal:
    args = call.args
    return _grown(operations.append(call.workspace, call.config, call.path(), args["content"], args.get("separator")))


def _insert_text(call: Call) -> dict[str, Any] | Refusal:
    args = call.args
    return _grown(
        operations.insert_after_section(
            call.workspace, call.config, call.path(), args["heading"], args["content"], args.get("separator")
        )
    )


def _propose_patch(call: Call) -> dict[str, Any] | Refusal:
    path = call.path()
    # The key is one of the call's alone, so the id is unique in the run and the same when the call is made again.
    patch_id = f"patch-{sha256(call.key.encode()).hexdigest()[:12]}"
    preview = patches.propose(
        call.workspace, call.config, path, call.args["operations"], call.args.get("summary", ""), patch_id
    )
    if isinstance(preview, Refusal):
        return preview
    return {
        "control": "continue",
        "output": preview.output,
        "summary": f"{preview.output['status']} {path}: {preview.output['previewSummary']}",
        "effects": [WorkspaceChanged(preview.workspace), PatchPreviewed(path, preview.blocked)],
    }


def _apply_patch(call: Call) -> dict[str, Any] | Refusal:
    change = patches.apply(call.workspace, call.config, call.args["patchId"])
    return change if isinstance(change, Refusal) else _changed(change)


def _publish_file(call: Call) -> dict[str, Any] | Refusal:
    path = call.path()
    file = call.workspace.files.get(path)
    if file is None:
        return operations.no_file(call.workspace, path)
    limited = call.args.get("limited", "").strip() or None
    output = {"kind": "workspace_publication", "path": path, "version": file.version, "text": file.content}
    return {
        "control": "complete",
        "output": output | ({"limited": limited} if limited else {}),
        "summary": f"published {path} (version {file.version})",
        "effects": [WorkspaceGrown(path), Published(file.content, limited)],
    }


def _grown(change: Change | Refusal) -> dict[str, Any] | Refusal:
    if isinstance(change, Refusal):
        return change
    result = _changed(change)
    result["effects"].append(WorkspaceGrown(change.operation.path))
    return result


def _changed(change: Change) -> dict[str, Any]:
    operation = change.operation
    output = {
        "kind": "workspace_change",
        "ok": True,
        **{key: value for key, value in operation.to_json().items() if value is not None},
        "workspaceVersion": change.workspace.version,
        **_described(change.workspace.files[operation.path]),
    }
    return {
        "control": "continue",
        "output": output,
        "summary": f"{operation.action} {operation.path} (version {operation.version})",
        "effects": [WorkspaceChanged(change.workspace)],
    }


def _described(file: WorkspaceFile) -> dict[str, Any]:
    return {
        "version": file.version,
        "textStats": file.text_stats.to_json(),
        "structure": file.structure.to_json(),
    }


_DOES: dict[str, Callable[[Call], dict[str, Any] | Refusal]] = {
    "workspace_list": _list_files,
    "workspace_read": _read_file,
    "workspace_write": _write_file,
    "workspace_append": _append_text,
    "workspace_insert_after_section": _insert_text,
    "workspace_propose_patch": _propose_patch,
    "workspace_apply_patch": _apply_patch,
    "workspace_publish_candidate": _publish_file,
}
