"""Saved states: JSON to RunState and back, with the version checked first. Rules: document 2, 2.5 State."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agrun_wasm.contracts.errors import StateInvalid, StateVersionUnsupported
from agrun_wasm.contracts.state import SCHEMA_VERSION, RunState
from agrun_wasm.contracts.validation import parse


def load_state(saved: Mapping[str, Any] | str) -> RunState:
    """A RunState of its own from exported JSON or its text; raises STATE_INVALID or STATE_VERSION_UNSUPPORTED."""
    try:
        copy = json.loads(saved if isinstance(saved, str) else json.dumps(saved))
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
    return parse(RunState, copy, "state", StateInvalid)


def save_state(state: RunState) -> dict[str, Any]:
    """The state as JSON; it shares nothing with the run."""
    return state.to_json()
