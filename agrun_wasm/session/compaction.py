"""Compaction: the transcript brought back within the context budget. Rules: document 2, 2.12.

Changes the run's transcript for good, so that its cost and size stay bounded however long the run is: what was taken
out is not shown again, and the evidence itself stays in toolContext and researchContext. Each time more is taken than
needed (to `_LOW`), so that the prefix that a provider may cache stays the same for many cycles.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from agrun_wasm.contracts.config import ContextBudget
from agrun_wasm.contracts.model import Message
from agrun_wasm.contracts.state import FoldedCycle, RunState
from agrun_wasm.text.shorten import one_line

#: where compaction stops, as a part of the budget
_LOW = 0.75
#: the part of the budget that the lines of folded cycles may take
_LINES = 0.25
_LINE_CHARS = 200


def compact(state: RunState, budget: ContextBudget, *, size: int) -> int:
    """Shortens the transcript of a run whose model calls hold `size` characters; gives how many pieces it shortened.

    Over the budget the oldest results shrink to their summaries first, then old cycles become one line each. The latest
    `keep_last_cycles` are spared as long as that suffices; the latest one is always shown whole. A call and its result
    are never parted.
    """
    if size <= budget.max_chars:
        return 0
    latest = state.transcript[-1].cycle if state.transcript else 0
    # The cycle in progress has no result yet: the latest ones are those before it.
    spared = state.cycles_started - budget.keep_last_cycles
    target = int(budget.max_chars * _LOW)
    work = _Work(state, size, target)
    for before in (min(spared, latest), latest):
        for shorten in (work.shrink, work.fold):
            if work.size > budget.max_chars:
                shorten(before)
        work.bound_lines(int(budget.max_chars * _LINES))
    return work.done


class _Work:
    """One compaction. `size` falls as it goes on; each step ends at `target`."""

    def __init__(self, state: RunState, size: int, target: int) -> None:
        self._state = state
        self._target = target
        self.size = size
        self.done = 0

    def shrink(self, before: int) -> None:
        """Results of the cycles before this one to their summaries, the oldest first."""
        for place, message in enumerate(self._state.transcript):
            if self.size <= self._target or message.cycle >= before:
                return
            if message.kind == "result" and 0 < len(message.summary) < len(message.text):
                self._state.transcript[place] = message.model_copy(
                    update={"text": message.summary, "summary": "", "parts": []}
                )
                self.size -= len(message.text) - len(message.summary)
                self.done += 1

    def fold(self, before: int) -> None:
        """The cycles before this one to a line each, the oldest first."""
        gone = 0
        for cycle, messages in _by_cycle(self._state.transcript):
            if self.size <= self._target or cycle >= before:
                break
            line = _line(cycle, messages)
            self._state.compaction.folded.append(FoldedCycle(cycle=cycle, text=line))
            self.size += len(line) + 1 - sum(message.size() for message in messages)
            gone += len(messages)
            self.done += 1
        del self._state.transcript[:gone]

    def bound_lines(self, limit: int) -> None:
        """The oldest lines go where there are too many of them."""
        compaction = self._state.compaction
        room, kept = limit, 0
        for folded in reversed(compaction.folded):
            room -= len(folded.text) + 1
            if room < 0:
                break
            kept += 1
        if gone := compaction.folded[: len(compaction.folded) - kept]:
            compaction.left_out += len(gone)
            self.size -= sum(len(folded.text) + 1 for folded in gone)
            del compaction.folded[: len(gone)]


def _by_cycle(messages: list[Message]) -> Iterator[tuple[int, list[Message]]]:
    for cycle, own in groupby(messages, key=lambda message: message.cycle):
        yield cycle, list(own)


def _line(cycle: int, messages: list[Message]) -> str:
    parts = [", ".join(c.name for c in m.tool_calls) or m.summary or one_line(m.text, 80) for m in messages]
    return one_line(f"cycle {cycle}: {' -> '.join(parts)}", _LINE_CHARS)


def folded_message(state: RunState, *, hidden_before: int) -> Message | None:
    """The folded cycles after `hidden_before` as one message; None where there is none."""
    compaction = state.compaction
    shown = [folded.text for folded in compaction.folded if folded.cycle > hidden_before]
    if not shown and (not compaction.left_out or hidden_before):
        return None
    left_out = f" ({compaction.left_out} older ones left out)" if compaction.left_out and not hidden_before else ""
    text = "\n".join([f"Earlier cycles, shortened{left_out}:", *shown])
    return Message(role="user", kind="observation", text=text)
