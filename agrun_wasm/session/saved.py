"""Saved states: RunState to JSON and back, with the version checked first. Rules: document 2, 2.5 State."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agrun_wasm.contracts.base import Contract
from agrun_wasm.contracts.errors import StateInvalid, StateVersionUnsupported
from agrun_wasm.contracts.model import Message
from agrun_wasm.contracts.state import SCHEMA_VERSION, RunState
from agrun_wasm.contracts.validation import parse
from agrun_wasm.session.archive import HALVED, LISTS, archive_of, entry_json, open_entries, put, unarchive
from agrun_wasm.session.repair import repair


def load_state(saved: Mapping[str, Any] | str) -> RunState:
    """A RunState of its own from exported JSON or its text; raises STATE_INVALID or STATE_VERSION_UNSUPPORTED."""
    try:
        text = saved if isinstance(saved, str) else json.dumps(saved, default=_mapping)
        copy = json.loads(text, parse_constant=_no_number)
    except (TypeError, ValueError, RecursionError) as error:
        raise StateInvalid(f"state: not JSON ({error})") from None
    if not isinstance(copy, dict):
        raise StateInvalid("state: must be the JSON object of `result.state`")
    version = copy.get("schemaVersion")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise StateInvalid("state: 'schemaVersion' is missing or no version; give `result.state` as it was exported")
    if version > SCHEMA_VERSION:
        raise StateVersionUnsupported(
            f"state: schemaVersion {version} is newer than {SCHEMA_VERSION}, the newest this version reads",
            hint="Update agrun-wasm, or resume with the version that wrote the state.",
        )
    archive = unarchive(copy)
    state = parse(RunState, copy, "state", StateInvalid)
    state.archived.extend(archive)
    _check_references(state)
    repair(state)
    return state


def _mapping(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _check_references(state: RunState) -> None:
    """Places that a state names must exist; raises STATE_INVALID."""
    calls = state.cycle.calls if state.cycle else []
    for place, call in enumerate(calls):
        if call.same_as is not None and not 0 <= call.same_as < place:
            raise StateInvalid(f"state: 'cycle.calls[{place}].sameAs' names no earlier call of the cycle")
    known = {call.sequence_id for call in calls}
    for place, approval in enumerate(state.approvals.pending):
        if approval.sequence_id not in known:
            raise StateInvalid(f"state: 'approvals.pending[{place}]' is for no call of the cycle in progress")


def save_state(state: RunState) -> dict[str, Any]:
    """The state as JSON; it shares nothing with the run. A long run's oldest entries stand in `archive`."""
    return Saver().save(state)


class Saver:
    """Saves one run's state again and again: an entry of its growing lists is turned into JSON once.

    What it gives shares nothing with the run, but entries with what it gave before: a store reads it, and changes
    nothing.
    """

    def __init__(self) -> None:
        self._made: dict[str, dict[int, tuple[Any, dict[str, Any]]]] = {}

    def save(self, state: RunState) -> dict[str, Any]:
        archive = archive_of(state)
        bare: Any = state.model_copy(update={"transcript": []})
        for path in (*LISTS.values(), *HALVED.values()):
            bare = _with(bare, path, [])
        saved: dict[str, Any] = bare.to_json()
        saved["transcript"] = self._listed("transcript", state.transcript)
        for name, entries in open_entries(state).items():
            put(saved, name, self._listed(name, entries))
        if archive:
            saved["archive"] = archive
        return saved

    def _listed(self, name: str, entries: list[Any]) -> list[dict[str, Any]]:
        before = self._made.get(name, {})
        made: dict[int, tuple[Any, dict[str, Any]]] = {}
        for entry in entries:
            known = before.get(id(entry))
            if known is None or known[0] is not entry:  # an id is used again once its object is gone
                known = (entry, entry.to_short_json() if isinstance(entry, Message) else entry_json(entry))
            made[id(entry)] = known
        self._made[name] = made
        return [made[id(entry)][1] for entry in entries]


def _with(model: Contract, path: tuple[str, ...], value: list[Any]) -> Contract:
    name, *rest = path
    changed = _with(getattr(model, name), tuple(rest), value) if rest else value
    return model.model_copy(update={name: changed})
