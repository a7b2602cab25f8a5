"""g-host: the border between JS and Python, saved sessions, and runs that are stopped or meet in one session.

Owns which of these an input is, and how outcomes in words are compared. What needs a page's JS is `border`'s; where
there is none, such a case needs a browser.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agrun_wasm.contracts.errors import AgrunError
from agrun_wasm.contracts.state import SCHEMA_VERSION
from tests.cases import read_url
from tests.cases.expect import Actual, NeedsBrowser, equal
from tests.cases.steps import SESSION, Gate, Play, runtime_over

#: keys of an outcome whose value is a sentence; ours must be a part of it
_SENTENCES = {"next_request", "missing_fields", "unknown_steps"}
#: keys of an outcome that read_url's comparison knows
_OF_READING = {"never", "error_any_of", "message_mentions"}
#: words for a record that a refusal leaves as it was
_UNTOUCHED = ("unchanged", "untouched", "kept", "intact", "preserved", "not overwritten", "not modified")


class Outcome(dict[str, Any]):
    """An outcome as facts: a case names those it is about. Any other value is compared whole."""


async def actual(item: Mapping[str, Any]) -> Actual:
    if "saved" in item:
        return await _older_session(item)
    if "steps" in item and (play := Play(item["steps"])).known:
        try:
            return Actual(Outcome(await play.outcome()))
        except AgrunError as error:
            return Actual(error=error.code, message=error.message)
    if not _in_page():
        raise NeedsBrowser
    from tests.cases.border import crossed

    crossing = await crossed(item)
    value = crossing.value
    return replace(crossing, value=Outcome(value)) if _is_outcome(item) and isinstance(value, dict) else crossing


def _is_outcome(item: Mapping[str, Any]) -> bool:
    """A case about what happens; the others are about one value."""
    return "direction" not in item


def _in_page() -> bool:
    return sys.platform == "emscripten"


def compare(expected: Any, actual: Any) -> list[str]:
    if not isinstance(expected, dict) or not isinstance(actual, Outcome):
        return equal(expected, actual)
    faults: list[str] = []
    for key, value in expected.items():
        if key in _SENTENCES:
            had = str(actual.get(key))
            faults += [] if had in value else [f"{key}: {had}, not {value!r}"]
        elif key in _OF_READING:
            faults += read_url.compare({key: value}, actual)
        elif key != "also":
            faults += equal(value, actual.get(key), key)
    return faults


async def _older_session(item: Mapping[str, Any]) -> Actual:
    """The case's record in the form of ours, which has had one version so far.

    An older one is one that lacks fields and holds a step of an unknown kind; a newer one says its number.
    """
    runtime = runtime_over(Gate())
    async with runtime.session(SESSION).stream("one") as run:
        state = (await run.result()).to_json()["state"]
    saved = item["saved"]
    unknown = [step["type"] for step in saved.get("steps", []) if "type" in step]
    kept = ("runId", "sessionId", "status", "request", "budgets", "output", "finalAnswerSource")
    older = {key: state[key] for key in kept} | {
        "schemaVersion": saved["version"] if saved["version"] > item["current_version"] else SCHEMA_VERSION,
        "history": [
            {"role": message["role"], "parts": [{"type": "text", "text": message["content"]}]}
            for message in saved.get("messages", [])
        ],
        "steps": [{**state["steps"][0], "type": kind} for kind in unknown],
    }
    before = json.dumps(older)
    try:
        again = runtime.load(older).to_json()["state"]
    except AgrunError as error:
        facts = {"stored_data": _UNTOUCHED if json.dumps(older) == before else ()}
        return Actual(error=error.code, message=error.message, facts=facts)
    kinds = [step["type"] for step in again["steps"]]
    return Actual(
        Outcome(
            loads=True,
            messages=len(again["history"]),
            missing_fields="defaults" if again["loopState"]["invalidDecisions"] == 0 else "missing",
            unknown_steps="kept" if kinds == unknown else "lost",
            resaved_version=item["current_version"] if again["schemaVersion"] == SCHEMA_VERSION else None,
        )
    )
