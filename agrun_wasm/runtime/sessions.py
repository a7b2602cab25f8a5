"""Sessions: one run at a time on each, and the turns that the next run sees. Rules: document 2, 2.1."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, get_args

from agrun_wasm.contracts.errors import SessionBusy, StateConflict, StateInvalid
from agrun_wasm.contracts.ports import Ids, Store
from agrun_wasm.contracts.request import PastTurn
from agrun_wasm.contracts.result import RunResult
from agrun_wasm.contracts.state import RunState
from agrun_wasm.contracts.validation import parse
from agrun_wasm.session.history import closes_turn, turns_of

if TYPE_CHECKING:
    from agrun_wasm.runtime.host_input import Input
    from agrun_wasm.runtime.run import Run
    from agrun_wasm.runtime.runtime import Runtime
    from agrun_wasm.runtime.starting import RunStart

Busy = Literal["wait", "refuse"]
#: how often a turn is entered anew because others write to its session without taking turns
_TRIES = 5
BUSY: tuple[str, ...] = get_args(Busy)


class Session:
    """A conversation on a runtime, by id. Runs of one session never overlap."""

    def __init__(self, runtime: Runtime, id: str, busy: Busy) -> None:  # noqa: A002
        self._runtime = runtime
        self._busy = busy
        self.id = id

    def stream(self, input: Input) -> RunStart:  # noqa: A002
        return self._runtime.stream(input, session=self.id, busy=self._busy)

    async def run(self, input: Input) -> RunResult:  # noqa: A002
        return await self._runtime.run(input, session=self.id, busy=self._busy)

    async def history(self) -> list[PastTurn]:
        """The turns so far."""
        return [turn.clone() for turn in await self._runtime.sessions.history(self.id)]


class Sessions:
    """Locks and histories by session id, and the runs in progress."""

    def __init__(self, store: Store | None, ids: Ids) -> None:
        self._store = store
        self._ids = ids
        self._locks: dict[str, asyncio.Lock] = {}
        self._histories: dict[str, list[PastTurn]] = {}
        self._runs: set[Run] = set()
        #: ids drawn for runs that named no session: nothing of them is kept once they are over
        self._unnamed: set[str] = set()
        #: how many runs hold or wait for a session's turn
        self._wanted: dict[str, int] = {}
        #: gives a session's turn on to other processes
        self._release: dict[str, Callable[[], None]] = {}

    async def enter(self, session_id: str | None, busy: Busy, *, named: bool) -> str:
        """Takes the session's turn before anything of it is read; gives its id. Raises SESSION_BUSY.

        `named`: a host asked for this session, so that it is kept from now on.
        """
        if session_id is None:
            session_id = self._ids.new("session")
            self._unnamed.add(session_id)
        elif named:
            self._unnamed.discard(session_id)
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        if busy == "refuse" and lock.locked():
            raise _busy(session_id, "already has a run in progress")
        self._wanted[session_id] = self._wanted.get(session_id, 0) + 1
        try:
            await lock.acquire()
            try:
                await self._hold(session_id, busy)
            except BaseException:
                lock.release()
                raise
        except BaseException:
            self._forget_wish(session_id)
            raise
        return session_id

    async def _hold(self, session_id: str, busy: Busy) -> None:
        """The turn among processes, where they share the store."""
        hold = getattr(self._store, "hold_session", None)
        if hold is None:
            return
        release = await hold(session_id, busy == "wait")
        if release is None:
            raise _busy(session_id, "has a run in progress elsewhere")
        self._release[session_id] = release

    def leave(self, session_id: str, *, waits: bool = False) -> None:
        """Gives the turn on. A session that nobody named is forgotten, unless its run waits for somebody."""
        if release := self._release.pop(session_id, None):
            release()
        self._locks[session_id].release()
        self._forget_wish(session_id)
        if session_id in self._unnamed and not waits and session_id not in self._wanted:
            self._unnamed.discard(session_id)
            self._locks.pop(session_id, None)
            self._histories.pop(session_id, None)

    def _forget_wish(self, session_id: str) -> None:
        self._wanted[session_id] -= 1
        if self._wanted[session_id] == 0:
            del self._wanted[session_id]

    async def history(self, session_id: str) -> list[PastTurn]:
        """The session's turns; a store is asked each time, since others may write to it."""
        if self._store is None:
            return self._histories.setdefault(session_id, [])
        saved = await self._store.load_session(session_id)
        where = f"store: the saved history of session {session_id!r}"
        if not isinstance(saved, list | None):
            raise StateInvalid(f"{where} must be a list")
        return [parse(PastTurn, turn, where, StateInvalid) for turn in saved or []]

    async def close_turn(self, state: RunState) -> None:
        """Enters a run that is over into its session's history."""
        if not closes_turn(state):
            return
        for attempt in range(1, _TRIES + 1):
            # Another run of the session may have ended while this one waited for a person.
            before = await self.history(state.session_id) or state.history
            if any(turn.run_id == state.run_id for turn in before):
                return  # entered before the process ended, and the run has come to its end again
            try:
                await self._save(state.session_id, [*before, *turns_of(state)])
                return
            except StateConflict:  # another process has written since; its turn stays, ours comes after
                if attempt == _TRIES:
                    raise

    async def _save(self, session_id: str, turns: list[PastTurn]) -> None:
        if self._store is None:
            self._histories[session_id] = turns
        else:
            await self._store.save_session(session_id, [turn.to_json() for turn in turns])

    def add(self, run: Run) -> None:
        self._runs.add(run)

    def remove(self, run: Run) -> None:
        self._runs.discard(run)

    async def stop_all(self) -> None:
        for run in list(self._runs):
            await run.close()


def _busy(session_id: str, what: str) -> SessionBusy:
    return SessionBusy(
        f"session {session_id!r} {what}", hint='Wait for it, stop it, or open the session with busy="wait".'
    )
