"""Checkpoints: from where a run goes on after its process has ended, and the calls that finished since.

A checkpoint is the state saved whole, at points between which the loop is deterministic but for the calls it makes.
Until the next one every finished call is added to its journal, before its step is announced, and so are the steps that
were announced. Whoever goes on from there is given the results instead of calling again, and announces nothing twice.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Generic, NamedTuple, TypeVar

from agrun_wasm.contracts.errors import StateInvalid
from agrun_wasm.contracts.events import DELTA_TYPES, RunEvent
from agrun_wasm.contracts.ports import Journal
from agrun_wasm.contracts.state import JournalEntry, RunState
from agrun_wasm.session.saved import Saver
from agrun_wasm.text.digest import canonical_json

T = TypeVar("T")
_TEXT_DELTAS = DELTA_TYPES - {"answer-superseded"}
#: characters that a checkpoint may cost for each cycle: a larger state is saved whole every few cycles only, so that
#: saving costs the same however long the run is
CHARS_PER_CYCLE = 64_000

#: notes a call's result, and gives it back
Keep = Callable[[T], T]


class Codec(NamedTuple, Generic[T]):
    """A call's result as JSON and back; `read` raises KeyError, TypeError or ValueError for what is no such result."""

    write: Callable[[T], Any]
    read: Callable[[Any], T]


class Saves(NamedTuple):
    """Where a run is saved: whole, or one more entry of its journal. Both tell whether that worked."""

    whole: Callable[[dict[str, Any]], Awaitable[bool]]
    entry: Callable[[dict[str, Any]], Awaitable[bool]]


class Checkpoints:
    """The saved form of one run while it is driven; `saves` is None where nobody keeps one.

    Made from a state with a journal, it takes the recorded calls over, and leaves the state as it was at its
    checkpoint, but with the steps that were announced since.
    """

    def __init__(
        self, state: RunState, *, saves: Saves | None, journal: Journal | None, settle: Callable[[], None]
    ) -> None:
        self._state = state
        self._saves = saves
        self._journal = journal
        self._settle = settle
        self._saver = Saver()
        self._size = 0
        self._cycles = 0
        #: what is to be written, in order
        self._queue: list[tuple[Callable[[dict[str, Any]], Awaitable[bool]], dict[str, Any]]] = []
        self._writing = asyncio.Lock()
        self._changes = 0
        self._written = 0
        #: announced and finished since the last entry
        self._steps: list[RunEvent] = []
        self._finished: dict[str, Any] = {}
        if saves is not None:
            self._enqueue_whole(saves)
        #: told before each call that is not recorded
        self.before_new_call: Callable[[], None] = _nothing
        self._recorded: dict[str, Any] = {}
        self._announced: Counter[tuple[str, int, str]] = Counter()
        self._take_over()

    def _take_over(self) -> None:
        state = self._state
        for entry in state.journal:
            self._recorded |= entry.finished
            self._announced.update(_mark(step.type, step.cycle, step.detail) for step in entry.steps)
            state.steps += [step for step in entry.steps if step.type not in DELTA_TYPES]
            state.seq = entry.seq
        state.journal = []

    def was_announced(self, type_: str, cycle: int, detail: dict[str, Any]) -> bool:
        """Was this very event announced before the process ended? Each one counts once."""
        if not self._announced or type_ in _TEXT_DELTAS:
            return False
        mark = _mark(type_, cycle, detail)
        if not self._announced[mark]:
            return False
        self._announced[mark] -= 1
        return True

    def announce(self, event: RunEvent) -> None:
        """An event that is being announced."""
        if self._saves is not None and event.type not in _TEXT_DELTAS:
            self._steps.append(event)

    async def once(self, key: str, call: Callable[[Keep[T]], Awaitable[T]], codec: Codec[T]) -> T:
        """What the call with this key gave, now or before the process ended; it is saved before this returns.

        `call` is given `keep`, which it calls with its result in the very step in which its work ends: what ends beside
        another call is then saved with that one. An exception passes through and is not kept.
        """
        if key in self._recorded:
            return _read(codec, self._recorded[key], key)
        self.before_new_call()
        if self._journal is not None:

            async def recorded() -> Any:
                return codec.write(await call(lambda value: value))

            return _read(codec, await self._journal.once(key, recorded), key)

        def keep(value: T) -> T:
            if self._saves is not None:
                self._finished[key] = codec.write(value)
                self._changes += 1
            return value

        value = keep(await call(keep))
        await self._flush()
        return value

    async def begin(self) -> None:
        """Saves what the drive begins with, so that a run whose process ends at once is not lost."""
        self._changes += 1
        await self._flush()

    async def cycle_ended(self) -> None:
        """A point for a checkpoint, where it is worth its cost."""
        self._cycles += 1
        if self._cycles * CHARS_PER_CYCLE >= self._size:
            await self.save()

    async def save(self) -> None:
        """Makes a checkpoint: nothing before it is needed any more."""
        if self._saves is not None:
            self._settle()
            self._enqueue_whole(self._saves)
            self._changes += 1
            await self._flush()

    def _enqueue_whole(self, saves: Saves) -> None:
        whole = self._saver.save(self._state)
        self._size = len(json.dumps(whole))
        self._cycles = 0
        self._queue = [(saves.whole, whole)]
        self._steps, self._finished = [], {}
        self._recorded, self._announced = {}, Counter()

    def _enqueue_entry(self, saves: Saves) -> None:
        if self._finished:
            self._settle()
            state = self._state
            left = state.budgets.deadline_left_ms
            entry = JournalEntry(seq=state.seq, deadline_left_ms=left, steps=self._steps, finished=self._finished)
            self._queue.append((saves.entry, entry.to_json()))
            self._steps, self._finished = [], {}

    async def _flush(self) -> None:
        """Writes until everything kept so far is saved: calls that end at once share a write, and none overtakes.

        What could not be written stays first in the queue.
        """
        if self._saves is None:
            return
        async with self._writing:
            while self._written < self._changes:
                covered = self._changes
                self._enqueue_entry(self._saves)
                while self._queue:
                    write, document = item = self._queue[0]
                    if not await write(document):
                        break
                    if self._queue and self._queue[0] is item:  # a checkpoint made meanwhile has replaced the queue
                        del self._queue[0]
                self._written = covered


def _nothing() -> None:
    pass


def _mark(type_: str, cycle: int, detail: dict[str, Any]) -> tuple[str, int, str]:
    return type_, cycle, canonical_json(detail)


def _read(codec: Codec[T], recorded: Any, key: str) -> T:
    try:
        return codec.read(recorded)
    except (KeyError, TypeError, ValueError) as error:
        raise StateInvalid(f"journal: what is recorded for {key!r} is no result of that call ({error})") from None
