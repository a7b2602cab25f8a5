"""What a person answers to a run that waits: to approvals, to its question, to a budget that is spent.

Owned here: what is asked, in which order, and what an answer means. Must not know: how a run goes on with it, where its
state is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agrun_host.terminal import Screen
from agrun_wasm import RunResult

__all__ = ["Answer", "answer_of"]

_WORDS = {"y": "approve", "yes": "approve", "n": "deny", "no": "deny"}
#: these decide every approval that is left, too
_ALL = {"a": "approve", "all": "approve", "d": "deny"}
#: reason of a continuation -> what it lacks, the budget that is extended, how much of it one unit is
_SPENT = {"steps": ("planner cycles", "maxSteps", 1), "deadline": ("seconds", "runDeadlineMs", 1000)}


class Answer(NamedTuple):
    """How a run goes on: with decisions, with more of a budget, or with what was said to its question."""

    decisions: Mapping[str, Any] = {}
    extend: Mapping[str, Any] = {}
    said: str | None = None


def answer_of(screen: Screen, result: RunResult, how: str) -> Answer | None:
    """What the person at the terminal answers to this end of a run; None where it waits for nothing, or nobody answers.

    `how` says what to do later, or elsewhere. Raises KeyboardInterrupt.
    """
    if result.status not in ("blocked", "continuation"):
        return None
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        _tell(screen, result, how)
        return None
    try:
        return _asked(screen, result)
    except EOFError:
        screen.note("not answered")
        return None


def _asked(screen: Screen, result: RunResult) -> Answer | None:
    if result.approvals:
        return Answer(_decided(screen, result.approvals))
    if result.status == "blocked":
        screen.question(result.text)
        return Answer(said=screen.ask("> ", lambda said: said or None))
    lacks = _SPENT.get(str((result.output or {}).get("reason")))
    if lacks is None:  # money is extended by whoever knows its price
        return None
    what, budget, unit = lacks
    screen.question(result.text)
    more = screen.ask(f"How many {what} more? [Enter: none] ", _count)
    return Answer(extend={budget: int(more) * unit}) if int(more) else None


def _decided(screen: Screen, approvals: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    decisions: dict[str, Any] = {}
    for place, approval in enumerate(approvals):
        left = len(approvals) - place
        screen.approval(approval)
        choices = "[y/n]" if left == 1 else f"[y/n, a: all {left}, d: none of them]"
        said = screen.ask(f"Approve it? {choices} ", lambda words, left=left: _understood(words, left))  # type: ignore[misc]
        word, _, note = said.partition(" ")
        if word.lower() in _ALL:
            answer = _decision(_ALL[word.lower()], note)
            return {**decisions, **{str(each["approvalId"]): answer for each in approvals[place:]}}
        decisions[str(approval["approvalId"])] = _decision(_WORDS[word.lower()], note)
    return decisions


def _understood(said: str, left: int) -> str | None:
    """The answer, where it is one. What stands after its first word is a note that the model is told."""
    word = said.partition(" ")[0].lower()
    return said if word in _WORDS or (left > 1 and word in _ALL) else None


def _decision(word: str, note: str) -> Any:
    return {"decision": word, "note": note.strip()} if note.strip() else word


def _count(said: str) -> str | None:
    if not said:
        return "0"
    return said if said.isascii() and said.isdigit() and len(said) < 7 else None


def _tell(screen: Screen, result: RunResult, how: str) -> None:
    """What waits, where nobody is there to answer."""
    if result.status == "continuation":  # the screen says that with the end of the run
        screen.note(how)
        return
    for approval in result.approvals:
        screen.approval(approval)
        screen.note(f"  {approval['approvalId']}")
    if not result.approvals:
        screen.question(result.text)
    screen.note(f"Nobody is here to answer: {how}")
