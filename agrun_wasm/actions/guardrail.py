"""The guardrail: mechanical guards against repetition. Rules: document 2, 2.4 Guardrail.

Owns counting and deciding; the counts live in the run's state. It never chooses what to do instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agrun_wasm.contracts.config import GuardrailConfig
from agrun_wasm.contracts.state import ActionCounts, GuardrailFact, GuardrailState, Repeats
from agrun_wasm.text.digest import digest


def check(config: GuardrailConfig, state: GuardrailState, name: str, args: Mapping[str, Any]) -> GuardrailFact | None:
    """The block that keeps this call from running, or None."""
    counts = state.counts.get(name)
    if not config.enabled or counts is None:
        return None
    signature = digest(args)
    failures = counts.failures.get(signature, 0)
    if failures >= config.exact_failure_block_after:
        return _note(state, GuardrailFact(action_name=name, kind="exact_failure", action="block", count=failures))
    repeats = counts.repeats.get(signature)
    if repeats is not None and repeats.count >= config.no_progress_block_after:
        return _note(state, GuardrailFact(action_name=name, kind="no_progress", action="block", count=repeats.count))
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
    """Counts a call that ran; the warning that follows, or None.

    A success resets the failures of its action, a failure its repeats.
    """
    if not config.enabled:
        return None
    counts = state.counts.setdefault(name, ActionCounts())
    signature = digest(args)
    if not ok:
        counts.failures[signature] = counts.failures.get(signature, 0) + 1
        counts.in_a_row += 1
        counts.repeats.clear()
        if counts.in_a_row < config.same_action_failure_warn_after:
            return None
        fact = GuardrailFact(action_name=name, kind="same_action_failure", action="warn", count=counts.in_a_row)
        return _note(state, fact)
    counts.failures.clear()
    counts.in_a_row = 0
    same = digest(output)
    last = counts.repeats.get(signature)
    count = last.count + 1 if last is not None and last.output == same else 0
    counts.repeats[signature] = Repeats(output=same, count=count)
    if count < config.no_progress_warn_after:
        return None
    return _note(state, GuardrailFact(action_name=name, kind="no_progress", action="warn", count=count))


def _note(state: GuardrailState, fact: GuardrailFact) -> GuardrailFact:
    state.latest = fact
    return fact
