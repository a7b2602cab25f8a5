"""The eight workspace actions as the planner and the policy see them. Rules: 2.11, and the tables of 2.4.

Owned here: names, arguments, guidance, permissions. Must not know what a call does (`calls`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agrun_wasm.actions.context import BuiltInContext
from agrun_wasm.actions.definition import Action, BuiltIn, Execute
from agrun_wasm.contracts.config import WorkspaceConfig
from agrun_wasm.workspace.patch_forms import OPERATION

CAPABILITY = "workspace"

#: these read only and may stand beside other calls (2.4); all others are standalone (2.7)
_READERS = frozenset({"workspace_list", "workspace_read"})

_PATH = {"type": "string", "required": True}
#: said once, where a file is made; the tools of a request are paid for with every call
_NEW_PATH = {**_PATH, "description": "Relative, like notes/draft.md."}
_CONTENT = {"type": "string", "required": True}
_HEADING = {"type": "string", "required": True, "description": "The text of one heading of the file."}
_SEPARATOR = {"type": "string", "description": "Between the old and the new text; one blank line when left out."}


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
            config,
        ),
        _action(
            "workspace_write",
            "Create a workspace file, or replace its whole content.",
            "To begin a long answer that is built up in parts and published at its end.",
            {"path": _NEW_PATH, "content": _CONTENT},
            example | {"content": "# Report\n\nFirst part."},
            config,
        ),
        _action(
            "workspace_append",
            "Add text at the end of a workspace file; a missing file is created.",
            "To add the next part.",
            {"path": _PATH, "content": _CONTENT, "separator": _SEPARATOR},
            example | {"content": "## Next part\n\nIts text."},
            config,
        ),
        _action(
            "workspace_insert_after_section",
            "Add text at the end of the section under a heading, its subsections included.",
            "To add to a part that is not the last one.",
            {"path": _PATH, "heading": _HEADING, "content": _CONTENT, "separator": _SEPARATOR},
            example | {"heading": "Results", "content": "One more result."},
            config,
        ),
        _action(
            "workspace_propose_patch",
            "Preview exact changes of a workspace file; nothing changes until the patch is applied.",
            "To change text that stands in a file. When the preview is blocked, follow its suggestion.",
            {
                "path": _PATH,
                "operations": {"type": "array", "required": True, "items": OPERATION},
                "summary": {"type": "string", "description": "What the patch is for."},
            },
            example | {"operations": [{"type": "replace", "find": "old words", "replace": "new words"}]},
            config,
        ),
        _action(
            "workspace_apply_patch",
            "Apply the patch that was previewed last.",
            "After a preview with the status preview_ready.",
            {"patchId": {"type": "string", "required": True}},
            {"patchId": "patch-id"},
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
            config,
        ),
    ]


def _action(
    name: str,
    description: str,
    guidance: str,
    schema: Mapping[str, Any],
    example: Mapping[str, Any],
    config: WorkspaceConfig,
) -> Action:
    async def execute(context: BuiltInContext, args: dict[str, Any]) -> dict[str, Any]:
        from agrun_wasm.workspace.calls import Call, run

        return run(name, Call(context.state.virtual_workspace, config, args, context.idempotency_key))

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
        built_in=BuiltIn(capability=CAPABILITY, judges=frozenset({"operations["})),
    )
