"""LocalRuns: runs in the memory of this process, for a server that keeps nothing, and for tests.

Implements agrun_host.runs.Runs: a run outlives whoever asked for it, and ends with the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Literal, Self

from agrun_host.runs import NoSuchRun, RunView
from agrun_wasm.contracts.errors import StateInvalid
from agrun_wasm.contracts.result import RunResult
from agrun_wasm.runtime.host_input import read_input
from agrun_wasm.runtime.run import Run
from agrun_wasm.runtime.runtime import Runtime
from agrun_wasm.runtime.starting import RunStart

__all__ = ["LocalRuns"]

#: runs that are over and still known
KEPT = 1_000
OVER = ("completed", "failed", "aborted")


class LocalRuns:
    """`async with LocalRuns(runtime) as runs:`; leaving it stops what still runs, and closes the runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._runs: dict[str, _Known] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks = [known.task for known in self._runs.values() if known.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._runtime.aclose()

    async def start(
        self, asked: Mapping[str, Any], *, session: str | None = None, run_id: str | None = None
    ) -> RunView:
        if run_id is not None and run_id in self._runs:
            return await self.view(run_id)
        stream = self._runtime.stream(read_input(asked), session=session, run_id=run_id)
        known = _Known(session)
        if run_id is not None:
            self._runs[run_id] = known
        try:
            await known.begin(stream, self._register)
        except BaseException:
            if run_id is not None:
                del self._runs[run_id]
            raise
        return known.view()

    def _register(self, known: _Known) -> None:
        self._runs[known.run_id] = known
        over = [run_id for run_id, one in self._runs.items() if one.result is not None and one.result.status in OVER]
        for run_id in over[: max(0, len(over) - KEPT)]:
            del self._runs[run_id]

    async def view(self, run_id: str) -> RunView:
        return self._known(run_id).view()

    async def events(self, run_id: str, after: int = 0) -> AsyncIterator[Mapping[str, Any]]:
        known = self._known(run_id)
        await known.moves.wait()
        if known.run is not None:
            async for event in known.run.events(after):
                yield event.to_json()
        if known.task is not None:
            await asyncio.wait([known.task])

    async def decide(
        self, run_id: str, decisions: Mapping[str, Any], *, extend: Mapping[str, Any] | None = None
    ) -> RunView:
        known = self._known(run_id)
        if known.result is None:
            raise StateInvalid(f"run {run_id!r} is in progress; it waits for no decision")
        stream = self._runtime.stream_resume(known.result, decisions, extend=extend)
        await known.begin(stream, self._register)
        return known.view()

    async def stop(self, run_id: str, how: Literal["now", "after_step"] = "now") -> RunView:
        known = self._known(run_id)
        if known.result is None:
            known.stop(how)
        elif known.result.approvals:
            await known.begin(self._runtime.stream_abort(known.result.state), self._register)
        return known.view()

    def _known(self, run_id: str) -> _Known:
        known = self._runs.get(run_id)
        if known is None:
            raise NoSuchRun(run_id)
        return known


class _Known:
    """A run that was asked for."""

    def __init__(self, session: str | None) -> None:
        self.run_id = ""
        self.run: Run | None = None
        self.result: RunResult | None = None
        self.task: asyncio.Task[None] | None = None
        self.moves = asyncio.Event()
        self._session = session
        self._stop: Literal["now", "after_step"] | None = None

    async def begin(self, stream: RunStart, register: Any) -> None:
        """Returns once the run moves; raises what keeps it from moving."""
        moving: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._drive(stream, register, moving))
        await moving
        self.task = task

    async def _drive(self, stream: RunStart, register: Any, moving: asyncio.Future[None]) -> None:
        try:
            async with stream as run:
                self.run, self.run_id, self.result = run, run.id, None
                register(self)
                self.moves.set()
                moving.set_result(None)
                if self._stop is not None:
                    run.stop(self._stop)
                self.result = await run.result()
        except BaseException as error:
            self.moves.set()
            if moving.done():
                raise
            moving.set_exception(error)

    def stop(self, how: Literal["now", "after_step"]) -> None:
        self._stop = how
        if self.run is not None:
            self.run.stop(how)

    def view(self) -> RunView:
        if self.result is None:
            return RunView(self.run_id, self._session, "running", None)
        shown = self.result.to_json()
        del shown["state"]
        return RunView(self.run_id, self._session, self.result.status, shown)
