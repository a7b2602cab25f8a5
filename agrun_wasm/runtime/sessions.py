"""Sessions: one run at a time on each, and the turns that the next run sees. Rules: document 2, 2.1."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from agrun_wasm.contracts.errors import SessionBusy, StateInvalid
from agrun_wasm.contracts.ports import Ids, Store
from agrun_wasm.contracts.request import Turn
from agrun_wasm.contracts.result import RunResult
from agrun_wasm.contracts.state import RunState
from agrun_wasm.session.history import closes_turn, turns_of

if TYPE_CHECKING:
    from agrun_wasm.runtime.host_input import Input
    from agrun_wasm.runtime.run import Run
    from agrun_wasm.runtime.runtime import Runtime
    from agrun_wasm.runtime.starting import RunStart

Busy = Literal["wait", "refuse"]
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

    async def history(self) -> list[Turn]:
        """The turns so far."""
        return list(await self._runtime.sessions.history(self.id))


class Sessions:
    """Locks and histories by session id, and the runs in progress."""

    def __init__(self, store: Store | None, ids: Ids) -> None:
        self._store = store
        self._ids = ids
        self._locks: dict[str, asyncio.Lock] = {}
        self._histories: dict[str, list[Turn]] = {}
        self._runs: set[Run] = set()
        #: ids drawn for runs that named no session: nothing of them is kept in memory
        self._unnamed: set[str] = set()

    async def enter(self, session_id: str | None, busy: Busy) -> str:
        """Takes the session's turn before anything of it is read; gives its id. Raises SESSION_BUSY."""
        if session_id is None:
            session_id = self._ids.new("session")
            self._unnamed.add(session_id)
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        if busy == "refuse" and lock.locked():
            raise SessionBusy(
                f"session {session_id!r} already has a run in progress",
                hint='Wait for it, stop it, or open the session with busy="wait".',
            )
        await lock.acquire()
        return session_id

    def leave(self, session_id: str) -> None:
        lock = self._locks.get(session_id)
        if lock is not None and lock.locked():
            lock.release()
        if session_id in self._unnamed:
            self._unnamed.discard(session_id)
            self._locks.pop(session_id, None)
            self._histories.pop(session_id, None)

    async def history(self, session_id: str) -> list[Turn]:
        if session_id not in self._histories:
            saved = await self._store.load_session(session_id) if self._store else None
            try:
                turns = [Turn.model_validate(_as_mapping(turn)) for turn in saved or []]
            except (TypeError, ValueError) as error:
                raise StateInvalid(f"store: the saved history of session {session_id!r} is none of ours") from error
            self._histories[session_id] = turns
        return self._histories[session_id]

    async def close_turn(self, state: RunState) -> None:
        """Enters a run that is over into its session's history."""
        if not closes_turn(state):
            return
        # Another run of the session may have ended while this one waited for a person.
        before = await self.history(state.session_id) or state.history
        turns = [*before, *turns_of(state)]
        self._histories[state.session_id] = turns
        if self._store is not None:
            await self._store.save_session(state.session_id, [turn.to_json() for turn in turns])

    def add(self, run: Run) -> None:
        self._runs.add(run)

    def remove(self, run: Run) -> None:
        self._runs.discard(run)

    async def stop_all(self) -> None:
        for run in list(self._runs):
            await run.close()


def _as_mapping(turn: Any) -> Mapping[str, Any]:
    return turn.to_json() if isinstance(turn, Turn) else turn
