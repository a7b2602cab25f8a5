"""A request of several parts for one tool, as a plan: "5 miles to km, 3 pounds to kg and 350 °F to °C".

Owned here: where such a request is cut, and the plan with a section for each part. A cut counts only if every part
gives the tool all it needs, so nothing is guessed. Must not know how the tool was chosen, nor any tool by name.
"""

from __future__ import annotations

import re
from typing import Any

from agrun_wasm.providers.offline_fill import fill
from agrun_wasm.providers.offline_request import Asked, read_request
from agrun_wasm.providers.offline_view import RUN, Tool
from agrun_wasm.providers.offline_words import stem, stems_of

__all__ = ["plan_of_parts"]

_CUT = re.compile(r"\s*(?:;|,(?=\s))\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)
#: the smallest that is worth a plan, and the most that a plan takes by default
_FEWEST, _MOST = 2, 10
#: arguments that a part must fill to stand for a call of its own
_LEAST_ARGS = 2


def plan_of_parts(asked: Asked, tool: Tool) -> dict[str, Any] | None:
    """Arguments of `plan`, one call and one section for each part; None where the request is one part."""
    parts = [part.strip(" .?!") for part in _CUT.split(asked.prompt)]
    if asked.payload or not _FEWEST <= len(parts) <= _MOST:
        return None
    used = frozenset(stems_of(tool.name) | stems_of(tool.skill or ""))
    filled = [fill(tool.parameters, read_request(part), used) for part in parts]
    calls = [part.args for part in filled]
    if any(part.missing or len(part.args) < _LEAST_ARGS for part in filled):
        return None  # "3, 4 and 5" is a list for one call, not three requests
    if any(args in calls[:n] for n, args in enumerate(calls)):
        return None
    return {
        "actions": [
            {"type": "action", **_call(tool, args), "section": {"title": _title(part, used), "prompt": part}}
            for part, args in zip(parts, calls, strict=True)
        ],
        "synthesize_per_action": True,
    }


def _call(tool: Tool, args: dict[str, Any]) -> dict[str, Any]:
    if tool.skill is None:
        return {"name": tool.name, "args": args}
    return {"name": RUN, "args": {"toolName": tool.name, "args": args}}


def _title(part: str, used: frozenset[str]) -> str:
    """The part without the words that only chose the tool: "Convert 5 miles to km" has the heading "5 miles to km"."""
    words = part.split()
    while len(words) > 1 and stem(words[0]) in used:
        words.pop(0)
    title = " ".join(words)
    return f"## {title[:1].upper()}{title[1:]}"
