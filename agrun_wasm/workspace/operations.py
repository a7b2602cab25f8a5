"""The changes a model makes directly: write, append, insert after a section. Rules: 2.11.

Pure: each takes a workspace and gives a new one with the operation, or a refusal. Must not know actions or patches.
"""

from __future__ import annotations

from agrun_wasm.contracts.config import WorkspaceConfig
from agrun_wasm.contracts.workspace import VirtualWorkspace
from agrun_wasm.text.markdown import SectionError
from agrun_wasm.workspace.edits import append_edit, edited, insert_edit
from agrun_wasm.workspace.files import Change, Refusal, store, with_lf


def write(workspace: VirtualWorkspace, config: WorkspaceConfig, path: str, content: str) -> Change | Refusal:
    """Creates the file or replaces its content."""
    return store(workspace, config, path, with_lf(content), "write")


def append(
    workspace: VirtualWorkspace, config: WorkspaceConfig, path: str, content: str, separator: str | None = None
) -> Change | Refusal:
    """Adds at the file's end; a missing file is created with the content alone."""
    file = workspace.files.get(path)
    old = file.content if file else ""
    edit = append_edit(old, with_lf(content), None if separator is None else with_lf(separator))
    return store(workspace, config, path, edited(old, [edit]), "append")


def insert_after_section(
    workspace: VirtualWorkspace,
    config: WorkspaceConfig,
    path: str,
    heading: str,
    content: str,
    separator: str | None = None,
) -> Change | Refusal:
    """Adds at the end of the section under a heading, subsections included."""
    file = workspace.files.get(path)
    if file is None:
        return no_file(workspace, path)
    try:
        edit = insert_edit(file.content, heading, with_lf(content), None if separator is None else with_lf(separator))
    except SectionError as fault:
        return Refusal(fault.reason, f"{fault.message}; workspace_append adds at the end of the file")
    return store(workspace, config, path, edited(file.content, [edit]), "insert_after_section")


def no_file(workspace: VirtualWorkspace, path: str) -> Refusal:
    """The refusal for a path without a file."""
    known = ", ".join(workspace.files) or "none"
    return Refusal("not_found", f"there is no file {path}; the files are: {known}")
