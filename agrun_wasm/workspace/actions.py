"""The eight workspace actions as the planner and the policy see them. Rules: 2.11, and the tables of 2.4.

Owned here: names, arguments, guidance, permissions. Must not know what a call does (`calls`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from agrun_wasm.actions.context import BuiltInContext
from agrun_wasm.actions.definition import Action, BuiltIn, Execute
from agrun_wasm.contracts.config import WorkspaceConfig
from agrun_wasm.workspace import calls
from agrun_wasm.workspace.files import Refusal
from agrun_wasm.workspace.patch_operations import SHAPES

CAPABILITY = "workspace"

#: these read only and may stand beside other calls (2.4); all others are standalone (2.7)
_READERS = frozenset({"workspace_list", "workspace_read"})

_PATH = {"type": "string", "required": True, "description": "Relative, like notes/draft.md."}
_CONTENT = {"type": "string", "required": True}
_HEADING = {"type": "string", "required": True, "description": "The text of one heading of the file."}
_SEPARATOR = {"type": "string", "description": "Between the old and the new text; one blank line when left out."}
_OPERATION = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "description": "; ".join(SHAPES.values())},
        "find": {"type": "string", "description": "The exact current text, literally; it must fit once."},
        "replace": {"type": "string"},
        "replace_all": {"type": "boolean", "aliases": ["replaceAll"]},
        "content": {"type": "string"},
        "heading": {"type": "string"},
        "separator": {"type": "string"},
        "headings": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "lineNumber": {"type": "integer", "description": "From 1."},
                    "text": {"type": "string", "description": "With #s to change the level, without to keep it."},
                },
            },
        },
    },
}

Do = Callable[[calls.Call], dict[str, Any] | Refusal]


def workspace_actions(config: WorkspaceConfig) -> list[Action]:
    """The built-in actions of the capability workspace."""
    example = {"path": "report.md"}
    return [
        _action(
            "workspace_list",
            "List the workspace files with their versions, sizes and structure.",
            "To see what has been written in this run.",
            {},
            {},
            calls.list_files,
            config,
        ),
        _action(
            "workspace_read",
            "Read a workspace file, or a window of its lines.",
            "Before changing text that you do not have at hand word for word.",
            {
                "path": _PATH,
                "startLine": {"type": "integer", "description": "From 1."},
                "maxLines": {"type": "integer"},
            },
            example | {"startLine": 1, "maxLines": 200},
            calls.read_file,
            config,
        ),
        _action(
            "workspace_write",
            "Create a workspace file, or replace its whole content.",
            "To begin a long answer that is built up in parts; publish it with workspace_publish_candidate.",
            {"path": _PATH, "content": _CONTENT},
            example | {"content": "# Report\n\nFirst part."},
            calls.write_file,
            config,
        ),
        _action(
            "workspace_append",
            "Add text at the end of a workspace file; a missing file is created.",
            "To add the next part.",
            {"path": _PATH, "content": _CONTENT, "separator": _SEPARATOR},
            example | {"content": "## Next part\n\nIts text."},
            calls.append_text,
            config,
        ),
        _action(
            "workspace_insert_after_section",
            "Add text at the end of the section under a heading, its subsections included.",
            "To add to a part that is not the last one.",
            {"path": _PATH, "heading": _HEADING, "content": _CONTENT, "separator": _SEPARATOR},
            example | {"heading": "Results", "content": "One more result."},
            calls.insert_text,
            config,
        ),
        _action(
            "workspace_propose_patch",
            "Preview exact changes of a workspace file; nothing changes until workspace_apply_patch.",
            "To change text that stands in a file. When the preview is blocked, follow its suggestion.",
            {
                "path": _PATH,
                "operations": {"type": "array", "required": True, "items": _OPERATION},
                "summary": {"type": "string", "description": "What the patch is for."},
            },
            example | {"operations": [{"type": "replace", "find": "old words", "replace": "new words"}]},
            calls.propose_patch,
            config,
        ),
        _action(
            "workspace_apply_patch",
            "Apply the pending patch of workspace_propose_patch.",
            "After a preview with the status preview_ready.",
            {"patchId": {"type": "string", "required": True}},
            {"patchId": "patch-id"},
            calls.apply_patch,
            config,
        ),
        _action(
            "workspace_publish_candidate",
            "Publish a workspace file as the final answer, word for word.",
            "When the file is the answer; say in limited what is missing if it is not complete.",
            {
                "path": _PATH,
                "limited": {"type": "string", "description": "Why it is published though it is not complete."},
            },
            example,
            calls.publish_file,
            config,
        ),
    ]


def _action(
    name: str,
    description: str,
    guidance: str,
    schema: Mapping[str, Any],
    example: Mapping[str, Any],
    do: Do,
    config: WorkspaceConfig,
) -> Action:
    async def execute(context: BuiltInContext, args: dict[str, Any]) -> dict[str, Any]:
        return calls.run(calls.Call(context.state.virtual_workspace, config, args, context.idempotency_key), do)

    reads = name in _READERS
    return Action(
        name,
        description,
        0,
        planner={
            "argsSchema": dict(schema),
            "argsExample": dict(example),
            "guidance": guidance,
            "standalone": not reads,
        },
        permission={
            "effect": "virtual_workspace",
            "interruptBehavior": "abort_safe",
            "isConcurrencySafe": reads,
            "isDestructive": False,
            "isReadOnly": reads,
            "needsApproval": False,
        },
        execute=cast("Execute", execute),
        origin="built-in",
        built_in=BuiltIn(capability=CAPABILITY),
    )
