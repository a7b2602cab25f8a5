"""DurableRuns: runs that outlive whoever asked for them, and the process that drives them.

Implements agrun_host.runs.Runs. A run is driven where it was asked for while there is room, else by the first process
of the fleet that has some. Must not know: HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Literal, Self

from agrun_host.durable.driver import Driver
from agrun_host.durable.engine import Engine
from agrun_host.durable.fleet import Fleet
from agrun_host.durable.journal import DbosJournal
from agrun_host.durable.places import Places
from agrun_host.runs import NoSuchRun, RunIdTaken, RunView, digest_of
from agrun_host.store.database import Database
from agrun_host.store.run_table import RunRow
from agrun_wasm.contracts.errors import ApprovalInvalid, StateConflict, StateInvalid
from agrun_wasm.loop.budget import extend_budgets
from agrun_wasm.runtime.host_input import mapping, read_input
from agrun_wasm.runtime.runtime import Runtime
from agrun_wasm.runtime.starting import check_resumable
from agrun_wasm.session.approvals import check_answers
from agrun_wasm.session.saved import load_state, save_state

__all__ = ["DurableRuns"]

_log = logging.getLogger(__name__)

#: drives of this process at once; what comes beyond waits in the queue that the fleet shares
LIMIT = 1_000
#: how often a process looks for dead ones, and for stops that another process was asked for
LOOK_S = 1.0
#: how often a reader looks whether a run that another process drives has gone on
FOLLOW_S = 0.25
#: how long a run may be queued before it is thought that whoever was to start it has died
ORPHANED_S = 10.0


class DurableRuns:
    """`async with await DurableRuns.open(make_runtime, url) as runs:`; closing leaves unfinished runs to be resumed.

    `make_runtime` is given the `journal` keyword, and must give a runtime of the same composition in every process and
    after every restart: a run that goes on is driven by whichever has it.
    """

    def __init__(
        self, runtime: Runtime, places: Places, engine: Engine, fleet: Fleet, limit: int, *, is_guest: bool = False
    ) -> None:
        self.runtime = runtime
        self._is_guest = is_guest
        self._places = places
        self._engine = engine
        self._fleet = fleet
        self._driver = Driver(runtime, places, engine, limit)
        self._watch: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        make_runtime: Any,
        database_url: str | None = None,
        *,
        executor_id: str | None = None,
        limit: int = LIMIT,
        only: str | None = None,
    ) -> Self:
        """Opens the database and goes on with the runs that this process (or, on SQLite, the last one) left unfinished.
        With `only`, the id of a run, it is a guest: it drives that run, and what is started here, and leaves all
        others to whoever serves them; `go_on` takes that run up. Raises ConfigInvalid and DatabaseUnavailable."""
        database = await Database.open(database_url)
        runs = None
        try:
            shared = database.is_shared
            made = f"{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"
            name = executor_id or (made if shared or only is not None else "agrun")
            runs = cls(
                make_runtime(journal=DbosJournal()),
                Places.of(database),
                Engine(database, name, limit, only),
                Fleet(database, name),
                limit,
                is_guest=only is not None,
            )
            await runs._fleet.join()
            await runs._engine.open(runs._driver.execute)
            if not runs._is_guest:
                await runs._look(since=0.0 if not shared else ORPHANED_S)
            runs._watch = asyncio.create_task(runs._look_again())
            return runs
        except BaseException:
            await (database if runs is None else runs).close()
            raise

    async def close(self) -> None:
        """Ends what is being driven here; it stays unfinished, and goes on with the next process."""
        self._driver.close()
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        await self._driver.end()
        await self._engine.close()
        await self.runtime.aclose()
        await self._fleet.leave()
        await self._places.database.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def start(
        self, asked: Mapping[str, Any], *, session: str | None = None, run_id: str | None = None
    ) -> RunView:
        """As Runs.start says."""
        given = read_input(asked)
        state, digest = self.runtime.first_state(given, session, run_id), digest_of(given, session)
        if await self._places.runs.add(state.run_id, session, save_state(state), digest):
            await self._driver.set_in_motion(state.run_id, 1)
        row = await self._row(state.run_id)
        if row.asked not in (None, digest):  # None: from before digests were kept
            raise RunIdTaken(row.id)
        return _view(row)

    async def view(self, run_id: str) -> RunView:
        return _view(await self._row(run_id))

    async def events(self, run_id: str, after: int = 0) -> AsyncIterator[Mapping[str, Any]]:
        """As Runs.events says. Of a run that another process drives the steps are told, not the deltas."""
        while True:
            row = await self._row(run_id)
            if (drive := self._driver.get(run_id)) is not None:
                await drive.moves.wait()
                if drive.live is not None:
                    async for event in drive.live.read(after):
                        after = event["seq"]
                        yield event
                if self._driver.is_closing:
                    return
                continue
            # The row was read first: what is in the table now is all of a run that is over.
            while page := await self._places.events.read(run_id, after):
                for event in page:
                    after = event["seq"]
                    yield event
            if row.is_over:
                return
            await asyncio.sleep(FOLLOW_S)

    async def decide(
        self, run_id: str, decisions: Mapping[str, Any], *, extend: Mapping[str, Any] | None = None
    ) -> RunView:
        """As Runs.decide says."""
        row = await self._row(run_id)
        answers, added = mapping(decisions, "decisions"), mapping({} if extend is None else extend, "extend")
        for approval_id in answers:
            if await self._places.runs.is_used(approval_id):
                raise ApprovalInvalid(f"approval {approval_id!r} was already used", reason="used")
        if not row.is_over:
            raise StateInvalid(f"run {run_id!r} is in progress ({row.status}); it waits for no decision")
        state = load_state(await self._places.runs.state(run_id))
        resolutions = check_answers(state, answers, self.runtime.clock.now())
        if not _goes_on(row) or state.status == "running":
            raise StateInvalid(f"resume: run {run_id!r} is over ({row.status})", hint="Start a new run.")
        check_resumable(state)
        extend_budgets(state, added, priced=self.runtime.has_price)
        given = {"decisions": dict(answers), "extend": dict(added)}
        ids = [resolution.approval.approval_id for resolution in resolutions]
        row = await self._places.runs.decide(row, ids, given)
        await self._driver.set_in_motion(run_id, row.drive)
        return _view(row)

    async def go_on(self, run_id: str) -> bool:
        """Takes up a run whose process has ended in the middle of it. False: a living one drives it, and its events can
        be read. Raises NoSuchRun."""
        row = await self._row(run_id)
        if row.is_over or self._driver.get(run_id) is not None:
            return True
        executor = await self._engine.executor_of(run_id, row.drive)
        if executor is None:  # it died before it had set it in motion
            await self._driver.set_in_motion(run_id, row.drive)
            return True
        if not executor and self._places.database.is_shared:  # the fleet has room for it soon
            return False
        async with self._fleet.if_dead(executor) as dead:
            # Looked at again under the lock: somebody else may have taken it up meanwhile.
            if not dead or await self._engine.executor_of(run_id, row.drive) != executor:
                return False
            self._driver.expect(run_id, row.drive)
            await self._engine.adopt(run_id, row.drive)
        return True

    async def asked(self, run_id: str) -> dict[str, Any]:
        """The input of a run that goes on or waits, as JSON."""
        request: dict[str, Any] = (await self._places.runs.state(run_id))["request"]
        return request

    async def stop(self, run_id: str, how: Literal["now", "after_step"] = "now") -> RunView:
        """As Runs.stop says. A run that waits for an approval ends as aborted too."""
        row = await self._row(run_id)
        if row.status == "blocked" and (row.result or {}).get("output", {}).get("kind") != "clarification":
            with contextlib.suppress(StateConflict):  # somebody has answered meanwhile
                row = await self._places.runs.decide(row, [], {"abort": True})
                await self._driver.set_in_motion(run_id, row.drive)
        elif not row.is_over:
            await self._places.runs.ask_stop(run_id, how)
            if (drive := self._driver.get(run_id)) is not None:
                drive.stop(how)
        return await self.view(run_id)

    async def delete(self, run_id: str) -> None:
        """Deletes a run that is over, or that waits for somebody, and all that is recorded of it; its answered
        approvals stay used. Raises NoSuchRun, and StateInvalid for one in progress."""
        row = await self._row(run_id)
        if not row.is_over:
            raise StateInvalid(f"run {run_id!r} is in progress ({row.status})", hint="Stop it first.")
        await self._engine.forget(run_id, row.drive)
        await self._places.runs.delete(row)

    async def _row(self, run_id: str) -> RunRow:
        row = await self._places.runs.get(run_id)
        if row is None:
            raise NoSuchRun(run_id)
        return row

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self._fleet.rejoin()
                for run_id, how in (await self._places.runs.stops(self._driver.run_ids())).items():
                    if (drive := self._driver.get(run_id)) is not None:
                        drive.stop(how)
                if not self._is_guest:
                    await self._look(ORPHANED_S)
            except Exception:  # whatever it was, the next look may go well, and nobody else looks
                _log.warning("looking after the other processes failed; it is tried again", exc_info=True)

    async def _look(self, since: float) -> None:
        """Takes over from the dead, and starts what was asked for by a process that died before it had started it."""
        await self._fleet.bury(self._engine.take_over)
        queued = [drive for drive in await self._places.runs.queued(since) if self._driver.get(drive[0]) is None]
        if not queued:
            return
        started = await self._engine.started(queued)
        for run_id, number in queued:
            if (run_id, number) not in started:
                await self._driver.set_in_motion(run_id, number)


def _goes_on(row: RunRow) -> bool:
    """May anybody go on with it? Of a failure that is for good, the state before its last drive is still there."""
    if row.status == "failed":
        return bool(((row.result or {}).get("error") or {}).get("retryable"))
    return row.status in ("blocked", "continuation")


def _view(row: RunRow) -> RunView:
    return RunView(row.id, row.session_id, row.status, row.result)
