"""One drive of a run: from its state in the database to its next end, as often as it takes.

Executed again after a crash, it takes the same path: calls that had finished are given from the journal, and steps that
were announced are not announced again. Must not know: DBOS's queues, who asked for the run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from agrun_host.durable.backoff import Backoff
from agrun_host.durable.live import LiveRun
from agrun_host.durable.places import Places
from agrun_host.runs import failed_result
from agrun_host.store.run_table import RunRow
from agrun_wasm.contracts.errors import AgrunError
from agrun_wasm.contracts.result import RunResult
from agrun_wasm.contracts.state import JournalEntry
from agrun_wasm.runtime.run import Run
from agrun_wasm.runtime.runtime import Runtime
from agrun_wasm.session.history import turns_of
from agrun_wasm.session.saved import load_state

__all__ = ["Drive"]

_TURN_FIRST_S, _TURN_MOST_S = 0.02, 1.0
#: an answer counts from when it was given, however long it takes until the run goes on
_ANSWERED_MS = 3_600_000


class Drive:
    """A run that is being driven in this process."""

    def __init__(self, runtime: Runtime, places: Places, run_id: str, number: int) -> None:
        self._runtime = runtime
        self._places = places
        self._run_id = run_id
        self._number = number
        self._run: Run | None = None
        self._stop: str | None = None
        #: there once the run moves
        self.live: LiveRun | None = None
        self.moves = asyncio.Event()

    def stop(self, how: str) -> None:
        self._stop = "now" if self._stop == "now" else how
        if self._run is not None:
            self._run.stop("now" if self._stop == "now" else "after_step")

    async def __call__(self) -> None:
        begun = await self._places.runs.begin(self._run_id, self._number)
        if begun is None:  # ended before, by an execution that died between that and its own end
            return
        row, state = begun
        if row.stop:
            self.stop(row.stop)
        session = row.session_id
        if session is not None:
            if not await self._take_turn(session):
                state["sessionId"] = self._run_id  # it does not wait for the runtime's turn of that session either
            elif self._number == 1 and not state["steps"]:
                state["history"] = await self._places.sessions.history(session)
        await self._take_over(row, state)
        live = self.live = LiveRun(self._run_id, self._places.events, row.reserved)
        self.moves.set()
        try:
            result = await self._to_the_end(row, state, live)
            await live.finish()
            await self._close(row, result)
        except BaseException:
            live.abandon()
            raise
        live.end_readers()

    async def _take_turn(self, session: str) -> bool:
        """Runs of one session never overlap. The turn is the run's, whichever process drives it.

        False: it was stopped meanwhile; it ends without having begun, and leaves nothing in the session.
        """
        backoff = Backoff(_TURN_FIRST_S, _TURN_MOST_S, factor=1.5)
        while not await self._places.sessions.take_turn(session, self._run_id):
            if self._stop:
                return False
            await backoff.wait()
        return True

    async def _take_over(self, row: RunRow, state: dict[str, Any]) -> None:
        """What was announced of this drive before its process died is part of the state it begins with."""
        after, steps = state["seq"], []
        while page := await self._places.events.read(self._run_id, after):
            steps += page
            after = page[-1]["seq"]
        if not steps and row.reserved <= state["seq"]:
            return
        spent = steps[-1]["at"] - steps[0]["at"] if steps else 0.0
        seq = max(row.reserved, after)
        state["journal"] = [JournalEntry.model_validate({"seq": seq, "spentMs": spent, "steps": steps}).to_json()]

    async def _to_the_end(self, row: RunRow, state: dict[str, Any], live: LiveRun) -> RunResult:
        try:
            async with self._opened(row, state) as run:
                self._run = run
                if self._stop:
                    self.stop(self._stop)
                async for event in run:
                    live.add(event)
                return await run.result()
        except AgrunError as error:  # nothing has moved: a skill could not be loaded, the state is of another version
            return failed_result(row.id, row.session_id, error.info())

    def _opened(self, row: RunRow, state: dict[str, Any]) -> AbstractAsyncContextManager[Run]:
        given = row.decisions or {}
        if given.get("abort"):
            return self._runtime.stream_abort(state)
        decisions: Mapping[str, Any] = given.get("decisions", {})
        for approval in state["approvals"]["pending"]:
            if approval["approvalId"] in decisions:
                approval["expiresAt"] = self._runtime.clock.now() + _ANSWERED_MS
        self._runtime.used_approvals.difference_update(decisions)  # the table says which ones were used
        return self._runtime.stream_resume(state, decisions, extend=given.get("extend"))

    async def _close(self, row: RunRow, result: RunResult) -> None:
        shown = {**result.to_json(), "sessionId": row.session_id or result.session_id}
        state = shown.pop("state", None)
        seq = row.reserved if not state else state["seq"]
        if row.session_id is not None:
            turns = [turn.to_json() for turn in turns_of(load_state(state))] if state else []
            await self._places.sessions.give_turn(row.session_id, self._run_id, turns)
        goes_on = result.status in ("blocked", "continuation") or (result.error is not None and result.error.retryable)
        await self._places.runs.end(self._run_id, self._number, result.status, shown, state if goes_on else None, seq)
