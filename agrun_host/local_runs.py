"""LocalRuns: runs in the memory of this process, for a server that keeps nothing, and for tests.

Implements agrun_host.runs.Runs: a run outlives whoever asked for it, and ends with the process. Must not know: HTTP.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self

from agrun_host.runs import BROKEN, NoSuchRun, RunIdTaken, RunView, digest_of, failed_result
from agrun_wasm.contracts.errors import AgrunError, ApprovalInvalid, ErrorInfo, StateInvalid
from agrun_wasm.contracts.result import RunResult
from agrun_wasm.loop.waiting import StopHow
from agrun_wasm.runtime.host_input import mapping, read_input
from agrun_wasm.runtime.run import Run
from agrun_wasm.runtime.runtime import Runtime
from agrun_wasm.runtime.starting import RunStart

__all__ = ["LocalRuns"]

_log = logging.getLogger(__name__)

#: runs that are known at most, those in progress aside; the oldest are forgotten, those that wait for a person last
KEPT = 1_000
_ENDED = ErrorInfo(code="INTERNAL", message="the server ended before the run began")


class LocalRuns:
    """`async with LocalRuns(runtime) as runs:`; leaving it stops what still runs, and closes the runtime."""

    def __init__(self, runtime: Runtime, *, kept: int = KEPT) -> None:
        self._runtime = runtime
        self._kept = kept
        self._runs: dict[str, _Known] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        drives = [known.drive for known in self._runs.values() if known.drive is not None]
        for drive in drives:
            if drive.run is None:  # it waits for its session's turn, which it must not get any more
                drive.task.cancel()
        await self._runtime.aclose()
        await asyncio.gather(*(drive.task for drive in drives), return_exceptions=True)

    async def start(
        self, asked: Mapping[str, Any], *, session: str | None = None, run_id: str | None = None
    ) -> RunView:
        """As Runs.start says. A run whose session has another one in progress is "queued"."""
        given = read_input(asked)
        digest = digest_of(given, session)
        if run_id is not None and (found := self._runs.get(run_id)) is not None:
            if found.digest != digest:
                raise RunIdTaken(run_id)
            return found.view()
        run_id = self._runtime.first_state(given, session, run_id).run_id
        known = _Known(run_id, session, digest)
        stream = self._runtime.stream(given, session=session, run_id=run_id)
        waits = self._is_busy(session)
        self._runs[run_id] = known
        await self._begin(known, stream, waits=waits)
        return known.view()

    async def view(self, run_id: str) -> RunView:
        return self._known(run_id).view()

    async def events(self, run_id: str, after: int = 0) -> AsyncIterator[Mapping[str, Any]]:
        """As Runs.events says."""
        known = self._known(run_id)
        while (drive := known.drive) is not None:
            await drive.moves.wait()
            if drive.run is not None:
                async with aclosing(_read(drive.run, after)) as events:
                    async for event in events:
                        after = event["seq"]
                        yield event
            await drive.over.wait()
            if known.drive is drive:
                return

    async def decide(
        self, run_id: str, decisions: Mapping[str, Any], *, extend: Mapping[str, Any] | None = None
    ) -> RunView:
        """As Runs.decide says."""
        known = self._known(run_id)
        for approval_id in mapping(decisions, "decisions"):
            if approval_id in self._runtime.used_approvals:
                raise ApprovalInvalid(f"approval {approval_id!r} was already used", reason="used")
        if known.result is None:
            raise StateInvalid(f"run {run_id!r} is in progress; it waits for no decision")
        stream = self._runtime.stream_resume(known.result, decisions, extend=extend)
        await self._begin(known, stream, waits=self._is_busy(known.session_id))
        return known.view()

    async def stop(self, run_id: str, how: StopHow = "now") -> RunView:
        """As Runs.stop says. A run that waits for an approval ends as aborted too."""
        known = self._known(run_id)
        if known.drive is not None and known.result is None:
            known.drive.stop(how)
        elif known.result is not None and known.result.approvals:
            await self._begin(known, self._runtime.stream_abort(known.result.state), waits=False)
        return known.view()

    async def _begin(self, known: _Known, stream: RunStart, *, waits: bool) -> None:
        """Sets a drive in motion. From here to its end nobody else can. Where it cannot begin, all is as before and
        what kept it is raised; one that waits for its session's turn is not waited for, and fails by itself."""
        drive = _Drive()
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        before = known.drive, known.result
        known.drive, known.result = drive, None
        drive.task = asyncio.create_task(self._drive(known, drive, stream, begun, None if waits else before))
        self._forget_old()
        if not waits:
            await asyncio.wait([begun])  # whoever asked may leave; the drive goes on
            begun.result()

    async def _drive(
        self,
        known: _Known,
        drive: _Drive,
        stream: RunStart,
        begun: asyncio.Future[None],
        before: tuple[_Drive | None, RunResult | None] | None,
    ) -> None:
        try:
            async with stream as run:
                known.session_id = run.session_id
                drive.begin(run)
                begun.set_result(None)
                known.result = await run.result()
        except asyncio.CancelledError:
            known.result = failed_result(known.run_id, known.session_id, _ENDED)
            begun.cancel()
            raise
        except Exception as error:
            if not begun.done():
                begun.set_exception(error)
                begun.exception()  # looked at: where the drive is not waited for, nobody else does
                if before is not None:
                    known.drive, known.result = before
                    if known.drive is None:
                        del self._runs[known.run_id]
                    return
            if not isinstance(error, AgrunError):
                _log.error("run %s failed", known.run_id, exc_info=error)
            known.result = failed_result(known.run_id, known.session_id, _told(error))
        finally:
            drive.moves.set()
            drive.over.set()

    def _is_busy(self, session: str | None) -> bool:
        return session is not None and any(
            known.session_id == session and known.result is None for known in self._runs.values()
        )

    def _forget_old(self) -> None:
        over = [known for known in self._runs.values() if known.result is not None]
        surplus = len(over) - self._kept
        if surplus > 0:
            over.sort(key=lambda known: known.waits)  # stable: the oldest first among equals
            for known in over[:surplus]:
                del self._runs[known.run_id]

    def _known(self, run_id: str) -> _Known:
        known = self._runs.get(run_id)
        if known is None:
            raise NoSuchRun(run_id)
        return known


class _Drive:
    """One drive of a run: from its start, or from a resume, to its next end."""

    def __init__(self) -> None:
        self.run: Run | None = None
        self.task: asyncio.Task[None]
        #: it has begun, or will not
        self.moves = asyncio.Event()
        #: and its result is there
        self.over = asyncio.Event()
        self._stop: StopHow | None = None

    def begin(self, run: Run) -> None:
        self.run = run
        self.moves.set()
        if self._stop is not None:
            run.stop(self._stop)

    def stop(self, how: StopHow) -> None:
        self._stop = how
        if self.run is not None:
            self.run.stop(how)


class _Known:
    """A run that was asked for. `result` is None while a drive has it."""

    def __init__(self, run_id: str, session_id: str | None, digest: str) -> None:
        self.run_id = run_id
        self.digest = digest
        self.session_id = session_id
        self.drive: _Drive | None = None
        self.result: RunResult | None = None

    @property
    def waits(self) -> bool:
        """Can it be gone on with?"""
        return self.result is not None and (bool(self.result.approvals) or self.result.status == "continuation")

    def view(self) -> RunView:
        if self.result is None:
            moves = self.drive is not None and self.drive.run is not None
            return RunView(self.run_id, self.session_id, "running" if moves else "queued", None)
        shown = self.result.to_json()
        del shown["state"]
        return RunView(self.run_id, self.session_id, self.result.status, shown)


async def _read(run: Run, after: int) -> AsyncGenerator[dict[str, Any], None]:
    async for event in run.events(after):
        yield event.to_json()


def _told(error: Exception) -> ErrorInfo:
    """What is told of what kept a run from its end."""
    if isinstance(error, AgrunError):
        return error.info()
    return BROKEN
