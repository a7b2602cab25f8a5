"""f-patch: a text and one operation through the workspace actions of a real run: write, propose, apply (2.11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.cases.expect import Actual, equal
from tests.conformance.scenario import perform
from tests.conformance.world import World

_PATH = "case.md"


async def actual(item: Mapping[str, Any]) -> Actual:
    """The text after the patch, or the first blocking flag of its preview with what the model is told."""
    propose = {"path": _PATH, "operations": item["ops"] if "ops" in item else [item["op"]]}
    scenario = {
        "model": [
            {"toolCalls": [{"name": "workspace_write", "args": {"path": _PATH, "content": item["text"]}}]},
            {"toolCalls": [{"name": "workspace_propose_patch", "args": propose}]},
            {"toolCalls": [{"name": "workspace_apply_patch", "args": {"patchId": "{{patchId}}"}}]},
            {"text": "Done."},
        ],
        "run": {"prompt": "Change the file."},
    }
    (record,) = await perform(scenario, World(scenario))
    if record["raised"]:
        return Actual(error=record["raised"]["code"] or record["raised"]["type"], message=record["raised"]["message"])
    history = record["runState"]["toolContext"]["history"]
    outputs = {entry["actionName"]: entry["output"] for entry in history}
    preview = outputs.get("workspace_propose_patch") or {}
    if preview.get("status") == "preview_ready" and outputs.get("workspace_apply_patch", {}).get("ok") is not False:
        return Actual({"text": record["runState"]["virtualWorkspace"]["files"][_PATH]["content"]})
    flags = [flag for flag in preview.get("riskFlags", []) if flag != "shrinks_candidate"]
    error = flags[0] if flags else preview.get("error") or "nothing was proposed"
    told = " ".join(str(preview.get(key) or "") for key in ("previewSummary", "suggestion", "message"))
    return Actual(error=error, message=told, facts={"flags": flags})


def compare(expected: Any, actual: Any) -> list[str]:
    """The text, or its non-blank lines. Content is LF (2.11), so a case's line ends are read as such."""
    faults: list[str] = []
    if "text" in expected:
        faults += equal(_lf(expected["text"]), _lf(actual["text"]), "text")
    if "nonblank_lines" in expected:
        lines = [line for line in actual["text"].split("\n") if line.strip()]
        faults += equal([_lf(line) for line in expected["nonblank_lines"]], lines, "nonblank_lines")
    return faults


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
