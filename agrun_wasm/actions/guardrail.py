"""The guardrail: mechanical guards against repetition. Rules: document 2, 2.4 Guardrail.

Owns counting and deciding; the counts live in the run's state. It never chooses what to do instead.
Counts: `failures` by signature, `inARow` by action (failures), `repeats` by signature (`{output, count}`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from agrun_wasm.contracts.config import GuardrailConfig
from agrun_wasm.contracts.state import GuardrailFact, GuardrailState


def canonical_json(value: Any) -> str:
    """The same text for equal JSON, whatever the order of keys."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def digest(value: Any) -> str:
    return sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def signature(name: str, args: Mapping[str, Any]) -> str:
    """Name and canonical args after rewriting, short enough to be a key."""
    return f"{name}:{digest(args)[:24]}"


def check(config: GuardrailConfig, state: GuardrailState, name: str, args: Mapping[str, Any]) -> GuardrailFact | None:
    """The block that keeps this call from running, or None."""
    if not config.enabled:
        return None
    sig = signature(name, args)
    failures = int(state.counts.get("failures", {}).get(sig, 0))
    if failures >= config.exact_failure_block_after:
        return _note(state, GuardrailFact(action_name=name, kind="exact_failure", action="block", count=failures))
    repeats = int(state.counts.get("repeats", {}).get(sig, {}).get("count", 0))
    if repeats >= config.no_progress_block_after:
        return _note(state, GuardrailFact(action_name=name, kind="no_progress", action="block", count=repeats))
    return None


def record(
    config: GuardrailConfig,
    state: GuardrailState,
    name: str,
    args: Mapping[str, Any],
    *,
    ok: bool,
    output: Any,
) -> GuardrailFact | None:
    """Counts a call that ran; the warning that follows, or None."""
    if not config.enabled:
        return None
    sig = signature(name, args)
    failures = state.counts.setdefault("failures", {})
    in_a_row = state.counts.setdefault("inARow", {})
    repeats = state.counts.setdefault("repeats", {})
    if not ok:
        failures[sig] = failures.get(sig, 0) + 1
        in_a_row[name] = in_a_row.get(name, 0) + 1
        _forget(repeats, name)
        if in_a_row[name] < config.same_action_failure_warn_after:
            return None
        fact = GuardrailFact(action_name=name, kind="same_action_failure", action="warn", count=in_a_row[name])
        return _note(state, fact)
    _forget(failures, name)
    in_a_row.pop(name, None)
    same = digest(output)
    last = repeats.get(sig)
    count = last["count"] + 1 if last and last["output"] == same else 0
    repeats[sig] = {"output": same, "count": count}
    if count < config.no_progress_warn_after:
        return None
    return _note(state, GuardrailFact(action_name=name, kind="no_progress", action="warn", count=count))


def _forget(counts: dict[str, Any], name: str) -> None:
    for sig in [sig for sig in counts if sig.rpartition(":")[0] == name]:
        del counts[sig]


def _note(state: GuardrailState, fact: GuardrailFact) -> GuardrailFact:
    state.latest = fact
    return fact
