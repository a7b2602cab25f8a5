"""Results that are the answer: a tool's final result ends the run as direct_final. Rules: document 2, 2.9 Tool results.

Pure. When a result is looked at, and what follows, is the loop's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from agrun_wasm.skills.tool_action import RESULT_KIND, tool_result_ok
from agrun_wasm.skills.tools import SkillTool
from agrun_wasm.text.blocks import DRILL_HINTS, FOLLOWUPS, fenced_json, join, with_lf

SkipReason = Literal["missing_markdown", "not_ok", "may_not_finalize"]


class DirectFinal(NamedTuple):
    """What is rendered, and `problems`: `{field, problem}` for each part that was left out."""

    markdown: str
    provenance: str | None
    followups: list[str]
    drill_hints: list[dict[str, Any]]
    problems: list[dict[str, str]]


class Skipped(NamedTuple):
    """A final result that may not end the run."""

    reason: SkipReason


def result_kind_of(output: Any) -> str | None:
    """The kind of a skill tool's result, None where it has none or is no such result."""
    if not isinstance(output, Mapping) or output.get("kind") != RESULT_KIND:
        return None
    kind = output.get("resultKind")
    return kind if isinstance(kind, str) else None


def direct_final(output: Any, tool: SkillTool | None) -> DirectFinal | Skipped | None:
    """What to do with an output of execute_skill_tool; None where it is not of kind final. `tool` made it."""
    if result_kind_of(output) != "final":
        return None
    if tool is None or not tool.may_finalize:
        return Skipped("may_not_finalize")
    if not tool_result_ok(output):
        return Skipped("not_ok")
    result = output["result"]
    markdown = result.get("markdown") if isinstance(result, Mapping) else None
    if not isinstance(markdown, str) or not markdown.strip():
        return Skipped("missing_markdown")
    problems: list[dict[str, str]] = []
    return DirectFinal(
        markdown=markdown,
        provenance=_part(result, "provenance", _is_text, "must be a non-empty string", problems),
        followups=_part(result, "followups", _are_texts, "must be a list of strings", problems) or [],
        drill_hints=_part(
            result, "drill_hints", _are_hints, "must be a list of {match_header, label, prompt}", problems
        )
        or [],
        problems=problems,
    )


def _part(
    result: Mapping[str, Any], name: str, fits: Callable[[Any], bool], rule: str, problems: list[dict[str, str]]
) -> Any:
    value = result.get(name)
    if value is None or fits(value):
        return value
    problems.append({"field": name, "problem": f"{rule}; it was left out"})
    return None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def _are_hints(value: Any) -> bool:
    keys = ("match_header", "label", "prompt")
    return isinstance(value, list | tuple) and all(
        isinstance(hint, Mapping) and all(_is_text(hint.get(key)) for key in keys) for hint in value
    )


def direct_final_text(final: DirectFinal) -> str:
    """Markdown, provenance, follow-ups and drill hints, joined by one blank line; nothing is stripped but outer blank
    lines."""
    parts = [
        with_lf(final.markdown),
        with_lf(final.provenance or ""),
        fenced_json(FOLLOWUPS, final.followups),
        fenced_json(DRILL_HINTS, final.drill_hints),
    ]
    return join(parts)
