"""Checkpoints: from where a run goes on after its process has ended, and the calls that finished since.

A checkpoint is the state saved whole, at points between which the loop is deterministic but for the calls it makes.
Until the next one every finished call is recorded beside it, before its step is announced, and so are the steps that
were announced. Whoever goes on from there is given the results instead of calling again, and announces nothing twice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Generic, NamedTuple, TypeVar

from agrun_wasm.contracts.errors import StateInvalid
from agrun_wasm.contracts.events import DELTA_TYPES, RunEvent
from agrun_wasm.contracts.ports import Journal
from agrun_wasm.contracts.state import JournalState, RunState
from agrun_wasm.session.saved import Saver
from agrun_wasm.text.digest import canonical_json

T = TypeVar("T")
_TEXT_DELTAS = DELTA_TYPES - {"answer-superseded"}
_Announced = tuple[str, int, str]


class Codec(NamedTuple, Generic[T]):
    """A call's result as JSON and back; `read` raises KeyError, TypeError or ValueError for what is no such result."""

    write: Callable[[T], Any]
    read: Callable[[Any], T]


class Checkpoints:
    """The saved form of one run while it is driven.

    `write` saves a document; None where nobody keeps one. Made from a state that was saved between two checkpoints,
    it takes the recorded calls and steps over and leaves the state as it was at the checkpoint, with those steps.
    """

    def __init__(
        self,
        state: RunState,
        *,
        write: Callable[[dict[str, Any]], Awaitable[None]] | None,
        journal: Journal | None,
        settle: Callable[[], None],
    ) -> None:
        self._state = state
        self._write = write
        self._settle = settle
        self._journal = journal
        self._saver = Saver()
        self._saved = asyncio.Lock()
        self._changes = 0
        self._written = 0
        before = state.journal
        state.journal = None
        self._base = self._saver.save(state) if write is not None else {}
        self._finished: dict[str, Any] = {} if before is None else before.finished
        self._since: list[RunEvent] = [] if before is None else before.steps
        self._announced: Counter[_Announced] = Counter(_key(e.type, e.cycle, e.detail) for e in self._since)
        if before is not None:
            state.seq = before.seq
            state.steps += [event for event in self._since if event.type not in DELTA_TYPES]

    def was_announced(self, type_: str, cycle: int, detail: dict[str, Any]) -> bool:
        """Was this very event announced before the process ended? Each one counts once."""
        if not self._announced or type_ in _TEXT_DELTAS:
            return False
        key = _key(type_, cycle, detail)
        if not self._announced[key]:
            return False
        self._announced[key] -= 1
        return True

    def add(self, event: RunEvent) -> None:
        """An event that is being announced."""
        if self._write is not None and event.type not in _TEXT_DELTAS:
            self._since.append(event)

    async def once(self, key: str, call: Callable[[], Awaitable[T]], codec: Codec[T]) -> T:
        """What the call with this key gave, now or before the process ended; it is kept before this returns.

        An exception passes through and is not kept.
        """
        if key in self._finished:
            return _read(codec, self._finished[key], key)
        if self._journal is not None:

            async def recorded() -> Any:
                return codec.write(await call())

            return _read(codec, await self._journal.once(key, recorded), key)
        value = await call()
        if self._write is not None:
            self._finished[key] = codec.write(value)
            await self._save()
        return value

    async def save(self) -> None:
        """Makes a checkpoint: from here on nothing before it is needed."""
        if self._write is None:
            return
        self._settle()
        self._base = self._saver.save(self._state)
        self._finished = {}
        self._since = []
        self._announced.clear()
        await self._save()

    async def begin(self) -> None:
        """Saves what the drive begins with, so that a run whose process ends at once is not lost."""
        if self._write is not None:
            await self._save()

    async def _save(self) -> None:
        """Writes the document with all changes so far. Calls that finish at once share a write; none overtakes."""
        if self._write is None:
            return
        self._changes += 1
        mine = self._changes
        async with self._saved:
            if self._written < mine:
                covered = self._changes
                await self._write(self._document())
                self._written = covered

    def _document(self) -> dict[str, Any]:
        if not self._since and not self._finished:
            return self._base
        self._settle()
        journal = JournalState(seq=self._state.seq, steps=self._since, finished=self._finished)
        budgets = {**self._base["budgets"], "deadlineLeftMs": self._state.budgets.deadline_left_ms}
        return {**self._base, "budgets": budgets, "journal": journal.to_json()}


def _key(type_: str, cycle: int, detail: dict[str, Any]) -> _Announced:
    return type_, cycle, canonical_json(detail)


def _read(codec: Codec[T], recorded: Any, key: str) -> T:
    try:
        return codec.read(recorded)
    except (KeyError, TypeError, ValueError) as error:
        raise StateInvalid(f"journal: what is recorded for {key!r} is no result of that call ({error})") from None
