"""Propose and apply: what a preview tells and keeps, what apply refuses, and that it leads where the preview said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.contracts.config import WorkspaceConfig
from agrun_wasm.contracts.workspace import VirtualWorkspace
from agrun_wasm.workspace.files import Change, Refusal, content_hash
from agrun_wasm.workspace.operations import append
from agrun_wasm.workspace.patches import Preview, apply, propose
from tests.workspace.test_operations import workspace

CONFIG = WorkspaceConfig()
LOG = "# Log\n\n## Morning\n\nCalm sea, 3 boats."
TIDE = {"type": "append", "content": "### Tide\n\nRising slowly."}


def preview(files: VirtualWorkspace, *operations: dict[str, Any], path: str = "a.md", patch_id: str = "p1") -> Preview:
    result = propose(files, CONFIG, path, operations, "why", patch_id)
    assert isinstance(result, Preview)
    return result


def refusal(files: VirtualWorkspace, patch_id: str = "p1", config: WorkspaceConfig = CONFIG) -> str:
    result = apply(files, config, patch_id)
    assert isinstance(result, Refusal)
    assert result.message
    return result.error


def test_a_preview_tells_counts_and_structure_and_changes_only_the_pending_patch() -> None:
    files = workspace(a=LOG)
    result = preview(files, TIDE)
    assert result.output == {
        "kind": "workspace_patch_preview",
        "patchId": "p1",
        "path": "a.md",
        "baseVersion": 1,
        "beforeWords": 6,
        "afterWords": 9,
        "deltaWords": 3,
        "changed": True,
        "status": "preview_ready",
        "riskFlags": [],
        "previewSummary": "append: words 6 -> 9, headings 2 -> 3",
        "structureBefore": {"headings": 2, "duplicates": 0, "maxLevel": 2},
        "structureAfter": {"headings": 3, "duplicates": 0, "maxLevel": 3},
    }
    assert result.blocked is False
    pending = result.workspace.pending_patch
    assert pending is not None
    assert pending.preview_hash == content_hash(LOG + "\n\n### Tide\n\nRising slowly.")
    assert result.workspace.model_copy(update={"pending_patch": None}) == files
    assert files.pending_patch is None
    assert "Rising" not in json.dumps(result.output)


def test_a_blocked_preview_keeps_its_structures_and_gains_a_suggestion() -> None:
    result = preview(workspace(a=LOG), {"type": "replace", "find": "rain", "replace": "snow"})
    assert result.blocked is True
    assert (result.output["status"], result.output["riskFlags"]) == ("preview_blocked", ["not_found"])
    assert result.output["changed"] is False
    assert result.output["structureAfter"] == result.output["structureBefore"]
    assert "another find" in result.output["suggestion"]
    assert "rain" in result.output["previewSummary"]


def test_a_path_without_a_file_is_a_blocked_preview_without_structures() -> None:
    result = preview(workspace(), TIDE, path="b.md")
    assert (result.output["status"], result.output["riskFlags"]) == ("preview_blocked", ["not_found"])
    assert "structureBefore" not in result.output
    assert "workspace_append" in result.output["suggestion"]
    assert refusal(result.workspace) == "pending_patch_invalid"


def test_each_propose_replaces_the_pending_patch() -> None:
    first = preview(workspace(a=LOG), TIDE)
    second = preview(first.workspace, {"type": "append", "content": "x"}, patch_id="p2")
    assert refusal(second.workspace, "p1") == "patch_id_mismatch"
    assert isinstance(apply(second.workspace, CONFIG, "p2"), Change)


def test_apply_is_one_operation_and_clears_the_pending_patch() -> None:
    change = apply(preview(workspace(a=LOG), TIDE).workspace, CONFIG, "p1")
    assert isinstance(change, Change)
    file = change.workspace.files["a.md"]
    assert file.content == LOG + "\n\n### Tide\n\nRising slowly."
    assert (file.version, change.workspace.version) == (2, 2)
    assert file.structure.headings == 3
    assert change.operation.to_json() == {"action": "apply_patch", "path": "a.md", "version": 2, "patchId": "p1"}
    assert change.workspace.operations[-1] == change.operation
    assert change.workspace.pending_patch is None
    assert refusal(change.workspace) == "missing_pending_patch"


def test_what_apply_refuses() -> None:
    ready = preview(workspace(a=LOG), TIDE).workspace
    assert refusal(workspace(a=LOG)) == "missing_pending_patch"
    assert refusal(ready, "other") == "patch_id_mismatch"
    blocked = preview(workspace(a=LOG), {"type": "append", "content": " "}).workspace
    assert refusal(blocked) == "pending_patch_invalid"
    grown = append(ready, CONFIG, "a.md", "More.")
    assert isinstance(grown, Change)
    assert refusal(grown.workspace) == "base_version_changed"
    gone = ready.model_copy(update={"files": {}})
    assert refusal(gone) == "base_version_changed"
    assert refusal(ready, config=WorkspaceConfig(max_file_chars=len(LOG))) == "too_large"


@pytest.mark.parametrize(
    "operations", [[{"type": "append", "content": "Other."}], [], [{"type": "replace", "find": "?"}]]
)
def test_a_patch_that_was_altered_since_its_preview_is_refused(operations: list[dict[str, Any]]) -> None:
    ready = preview(workspace(a=LOG), TIDE).workspace
    assert ready.pending_patch is not None
    ready.pending_patch.operations = operations
    assert refusal(ready) == "preview_hash_mismatch"


def test_a_file_that_was_altered_since_the_preview_is_refused() -> None:
    ready = preview(workspace(a=LOG), TIDE).workspace.clone()
    ready.files["a.md"].content = "Other."
    assert refusal(ready) == "preview_hash_mismatch"


def test_a_patch_over_the_limit_is_refused_and_leaves_the_pending_one() -> None:
    ready = preview(workspace(a=LOG), TIDE).workspace
    result = propose(ready, WorkspaceConfig(max_file_chars=len(LOG) + 5), "a.md", [TIDE], "", "p2")
    assert isinstance(result, Refusal)
    assert result.error == "too_large"
    assert ready.pending_patch is not None
    assert ready.pending_patch.patch_id == "p1"


_TEXT = st.text(st.sampled_from("a# \n`潮"))
_OPERATION = st.one_of(
    st.fixed_dictionaries({"type": st.just("append"), "content": _TEXT}, optional={"separator": _TEXT}),
    st.fixed_dictionaries(
        {"type": st.just("replace"), "find": _TEXT, "replace": _TEXT}, optional={"replace_all": st.booleans()}
    ),
    st.fixed_dictionaries({"type": st.just("insert_after_section"), "heading": st.just("a"), "content": _TEXT}),
)


@given(_TEXT.map("# a\n\n{}".format), st.lists(_OPERATION, max_size=3))
def test_apply_leads_to_the_previewed_text_also_from_saved_state(text: str, operations: list[dict[str, Any]]) -> None:
    result = preview(workspace(a=text), *operations)
    saved = VirtualWorkspace.model_validate(json.loads(json.dumps(result.workspace.to_json())))
    assert saved == result.workspace
    if result.blocked:
        assert refusal(saved) == "pending_patch_invalid"
        assert result.output["suggestion"]
        return
    change = apply(saved, CONFIG, "p1")
    assert isinstance(change, Change)
    assert saved.pending_patch is not None
    file = change.workspace.files["a.md"]
    assert file.hash == saved.pending_patch.preview_hash
    assert file.text_stats.words == result.output["afterWords"]
    assert file.structure.to_json() == result.output["structureAfter"]
