"""The eight actions: their tables, outputs, refusals and effects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agrun_wasm.actions.arguments import check_args
from agrun_wasm.actions.definition import Action
from agrun_wasm.actions.protocol import completed_text, read_result
from agrun_wasm.contracts.config import WorkspaceConfig
from agrun_wasm.contracts.effects import PatchPreviewed, Published, WorkspaceChanged, WorkspaceGrown
from agrun_wasm.contracts.workspace import VirtualWorkspace
from agrun_wasm.workspace.actions import workspace_actions
from tests.research.fakes import built_in_context, run_state

#: name -> reads only, standalone
TABLE = {
    "workspace_list": (True, False),
    "workspace_read": (True, False),
    "workspace_write": (False, True),
    "workspace_append": (False, True),
    "workspace_insert_after_section": (False, True),
    "workspace_propose_patch": (False, True),
    "workspace_apply_patch": (False, True),
    "workspace_publish_candidate": (False, True),
}
GROWTH = {"workspace_write", "workspace_append", "workspace_insert_after_section"}


class Files:
    """A run's workspace; `call` performs an action and applies its effects as the loop would."""

    def __init__(self, **config: int) -> None:
        self.actions = {action.name: action for action in workspace_actions(WorkspaceConfig(**config))}
        self.state = run_state()
        self.calls = 0

    async def call(self, name: str, **args: Any) -> dict[str, Any]:
        action = self.actions[name]
        checked = check_args(action.args_schema, args)
        assert checked.fault is None, checked.fault
        self.calls += 1
        before = self.state.to_json()
        raw = await action.execute(built_in_context(self.state, f"run-1:{self.calls}"), checked.args)
        assert self.state.to_json() == before
        self.result = read_result(raw, built_in=True)
        for effect in self.result.effects:
            if isinstance(effect, WorkspaceChanged):
                self.state.virtual_workspace = effect.workspace
        assert json.loads(json.dumps(self.result.output)) == self.result.output
        assert self.result.summary
        output: dict[str, Any] = self.result.output
        return output

    @property
    def workspace(self) -> VirtualWorkspace:
        return self.state.virtual_workspace


def test_the_table() -> None:
    actions = workspace_actions(WorkspaceConfig())
    assert [action.name for action in actions] == list(TABLE)
    for action in actions:
        reads, standalone = TABLE[action.name]
        permission = action.permission
        assert (permission.effect, permission.interrupt_behavior) == ("virtual_workspace", "abort_safe")
        assert (permission.is_read_only, permission.is_concurrency_safe) == (reads, reads)
        assert (permission.is_destructive, permission.needs_approval) == (False, False)
        assert permission.source == "built_in_metadata"
        assert (action.tier, action.standalone, action.origin) == (0, standalone, "built-in")
        assert action.built_in is not None
        assert action.built_in.capability == "workspace"


@pytest.mark.parametrize("action", workspace_actions(WorkspaceConfig()), ids=lambda action: action.name)
def test_examples_pass_their_own_schema(action: Action) -> None:
    assert action.planner is not None
    assert action.planner.args_example is not None
    assert check_args(action.args_schema, action.planner.args_example).fault is None
    assert action.planner.guidance


async def test_write_append_insert_publish() -> None:
    files = Files()
    output = await files.call("workspace_write", path="d/log.md", content="# Log\r\n\r\nCalm.")
    assert output == {
        "kind": "workspace_change",
        "ok": True,
        "action": "write",
        "path": "d/log.md",
        "version": 1,
        "workspaceVersion": 1,
        "textStats": {"chars": 12, "words": 2, "lines": 3},
        "structure": {"headings": 1, "duplicates": 0, "maxLevel": 1},
    }
    assert files.result.effects[1] == WorkspaceGrown("d/log.md")
    await files.call("workspace_append", path="d/log.md", content="Rain.", separator="\n")
    await files.call("workspace_insert_after_section", path="d/log.md", heading="Log", content="Wind.")
    output = await files.call("workspace_publish_candidate", path="d/log.md", limited=" Half. ")
    text = "# Log\n\nCalm.\nRain.\n\nWind."
    assert files.result.control == "complete"
    assert files.result.effects == (WorkspaceGrown("d/log.md"), Published(text, "Half."))
    assert completed_text(output) == (
        text,
        {"kind": "workspace_publication", "path": "d/log.md", "version": 3, "limited": "Half."},
    )
    assert "limited" not in await files.call("workspace_publish_candidate", path="d/log.md", limited=" ")


async def test_growth_actions_are_told_as_such_and_no_other() -> None:
    files = Files()
    await files.call("workspace_write", path="a.md", content="# A\n\nOld.")
    args: dict[str, dict[str, Any]] = {
        "workspace_list": {},
        "workspace_read": {"path": "a.md"},
        "workspace_write": {"path": "a.md", "content": "# A\n\nOld."},
        "workspace_append": {"path": "a.md", "content": "x"},
        "workspace_insert_after_section": {"path": "a.md", "heading": "A", "content": "x"},
        "workspace_propose_patch": {
            "path": "a.md",
            "operations": [{"type": "replace", "find": "Old", "replace": "New"}],
        },
    }
    for name, given in args.items():
        await files.call(name, **given)
        grown = any(isinstance(effect, WorkspaceGrown) for effect in files.result.effects)
        assert grown == (name in GROWTH)
    assert files.workspace.pending_patch is not None
    await files.call("workspace_apply_patch", patchId=files.workspace.pending_patch.patch_id)
    assert [type(effect) for effect in files.result.effects] == [WorkspaceChanged]


async def test_list_and_read() -> None:
    files = Files()
    assert (await files.call("workspace_list"))["files"] == []
    await files.call("workspace_write", path="a.md", content="1\n2\n3\n4\n")
    output = await files.call("workspace_list")
    assert [(file["path"], file["version"]) for file in output["files"]] == [("a.md", 1)]
    assert output["pendingPatch"] is None
    whole = await files.call("workspace_read", path="a.md")
    assert whole == {
        "kind": "workspace_file",
        "ok": True,
        "path": "a.md",
        "version": 1,
        "content": "1\n2\n3\n4\n",
        "startLine": 1,
        "lines": 4,
        "totalLines": 4,
    }
    assert files.result.effects == ()


@pytest.mark.parametrize(
    ("window", "content", "lines"),
    [
        ({"startLine": 2}, "2\n3\n4", 3),
        ({"startLine": 2, "maxLines": 2}, "2\n3", 2),
        ({"maxLines": 1}, "1", 1),
        ({"startLine": 0, "maxLines": 9}, "1\n2\n3\n4\n", 4),
        ({"startLine": 4, "maxLines": 5}, "4", 1),
        ({"startLine": 5}, "", 0),
        ({"startLine": 50, "maxLines": 3}, "", 0),
        ({"maxLines": 0}, "1\n2\n3\n4\n", 4),
        ({"startLine": 2.0, "maxLines": 1.0}, "2", 1),
    ],
)
async def test_windows(window: dict[str, Any], content: str, lines: int) -> None:
    files = Files()
    await files.call("workspace_write", path="a.md", content="1\n2\n3\n4\n")
    output = await files.call("workspace_read", path="a.md", **window)
    assert (output["content"], output["lines"], output["totalLines"]) == (content, lines, 4)


async def test_refusals_are_outputs_and_change_nothing() -> None:
    files = Files(max_file_chars=20, max_files=1)
    await files.call("workspace_write", path="a.md", content="# A\n\nx")
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("workspace_write", {"path": "../b.md", "content": "x"}, "invalid_path"),
        ("workspace_append", {"path": "/b.md", "content": "x"}, "invalid_path"),
        ("workspace_read", {"path": "a//b"}, "invalid_path"),
        ("workspace_propose_patch", {"path": "./a.md", "operations": []}, "invalid_path"),
        ("workspace_publish_candidate", {"path": "../b.md"}, "invalid_path"),
        ("workspace_write", {"path": "b.md", "content": "x"}, "too_many_files"),
        ("workspace_write", {"path": "a.md", "content": "x" * 21}, "too_large"),
        ("workspace_append", {"path": "a.md", "content": "x" * 21}, "too_large"),
        ("workspace_insert_after_section", {"path": "a.md", "heading": "A", "content": "x" * 21}, "too_large"),
        ("workspace_insert_after_section", {"path": "a.md", "heading": "B", "content": "x"}, "not_found"),
        ("workspace_insert_after_section", {"path": "b.md", "heading": "B", "content": "x"}, "not_found"),
        ("workspace_read", {"path": "b.md"}, "not_found"),
        ("workspace_publish_candidate", {"path": "b.md"}, "not_found"),
        ("workspace_apply_patch", {"patchId": "p"}, "missing_pending_patch"),
        (
            "workspace_propose_patch",
            {"path": "a.md", "operations": [{"type": "append", "content": "x" * 21}]},
            "too_large",
        ),
    ]
    before = files.workspace
    for name, args, error in refused:
        output = await files.call(name, **args)
        assert (output["ok"], output["error"]) == (False, error)
        assert output["message"]
        assert files.result.control == "continue"
        assert files.result.effects == ()
    assert files.workspace is before


async def test_a_preview_is_no_failure_and_its_id_is_the_calls_own() -> None:
    files = Files()
    await files.call("workspace_write", path="a.md", content="Alpha.")
    operations = [{"type": "replace", "find": "nowhere", "replace": "x"}]
    first = await files.call("workspace_propose_patch", path="a.md", operations=operations)
    assert "ok" not in first
    assert files.result.effects[1] == PatchPreviewed("a.md", blocked=True)
    second = await files.call("workspace_propose_patch", path="a.md", operations=operations)
    assert first["patchId"] != second["patchId"]
    files.calls -= 1
    assert (await files.call("workspace_propose_patch", path="a.md", operations=operations)) == second
    assert (await files.call("workspace_list"))["pendingPatch"]["patchId"] == second["patchId"]


@pytest.mark.parametrize(
    "operation",
    [
        {"type": "replace", "content": "# New"},
        {"type": "replace", "find": "", "replace": "x"},
        {"type": "rewrite"},
        {},
        {"type": "normalize_headings", "headings": [{"lineNumber": 99, "text": "x"}]},
    ],
)
async def test_a_malformed_operation_is_a_blocked_preview_and_no_argument_fault(operation: dict[str, Any]) -> None:
    files = Files()
    await files.call("workspace_write", path="a.md", content="Alpha.")
    output = await files.call("workspace_propose_patch", path="a.md", operations=[operation])
    assert (output["status"], output["riskFlags"]) == ("preview_blocked", ["not_found"])


async def test_spellings_of_a_path_and_an_operation() -> None:
    files = Files()
    await files.call("workspace_write", path="cafe\u0301.md", content="a a")
    assert list(files.workspace.files) == ["caf\u00e9.md"]
    operation = {"type": "replace", "find": "a", "replace": "b", "replaceAll": True}
    output = await files.call("workspace_propose_patch", path="caf\u00e9.md", operations=[operation])
    assert output["status"] == "preview_ready"
