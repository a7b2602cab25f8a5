"""Starting and resuming: everything that is checked before a run moves, and what is done when it has ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from agrun_wasm.contracts.errors import ApprovalInvalid, StateInvalid
from agrun_wasm.contracts.result import RunResult
from agrun_wasm.contracts.state import RunState
from agrun_wasm.loop import drive
from agrun_wasm.loop.budget import extend_budgets
from agrun_wasm.loop.context import RunContext
from agrun_wasm.runtime.results import result_of
from agrun_wasm.runtime.run import EventLog, Run
from agrun_wasm.runtime.sessions import Busy
from agrun_wasm.session.approvals import Resolution, check_answers
from agrun_wasm.session.saved import load_state

if TYPE_CHECKING:
    from agrun_wasm.runtime.runtime import Runtime


class RunStart:
    """What `runtime.stream(...)` gives: entering it starts the run, leaving it stops the run and frees its session."""

    def __init__(
        self,
        runtime: Runtime,
        session_id: str | None,
        busy: Busy,
        new_state: Callable[[str], RunState],
    ) -> None:
        self._runtime = runtime
        self._session_id = session_id
        self._busy = busy
        self._new_state = new_state
        self._resume: tuple[Mapping[str, Any] | str, Mapping[str, Any], Mapping[str, Any]] | None = None
        self._run: Run | None = None

    @classmethod
    def resuming(
        cls,
        runtime: Runtime,
        state: Mapping[str, Any] | str,
        decisions: Mapping[str, Any],
        extend: Mapping[str, Any],
    ) -> Self:
        def never(_session_id: str) -> RunState:
            raise RuntimeError("a resumed run brings its own state")

        start = cls(runtime, None, "wait", never)
        start._resume = (state, decisions, extend)
        return start

    async def __aenter__(self) -> Run:
        if self._run is not None:
            raise RuntimeError("this stream was entered already; call stream() again")
        runtime = self._runtime
        saved = await self._saved_state()
        session_id = await runtime.sessions.enter(saved.session_id if saved else self._session_id, self._busy)
        try:
            if saved is not None:  # whoever had the session until now may have moved this very run on
                saved = await self._saved_state()
            surface = await runtime.surface_for_run()
            resolutions: list[Resolution] | None = None
            if saved is None:
                state = self._new_state(session_id)
                state.history = list(await runtime.sessions.history(session_id))
            else:
                state = saved
                resolutions = await self._check_resume(state)
            log = EventLog()
            context = RunContext(state, surface, runtime.ports_for_run(), log.publish)
        except BaseException:
            runtime.sessions.leave(session_id)
            raise
        self._run = Run(context, log, self._drive(context, resolutions), self._finish, self._leave)
        runtime.sessions.add(self._run)
        return self._run

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._run is not None:
            await self._run.close()

    def _drive(self, context: RunContext, resolutions: list[Resolution] | None) -> Callable[[], Any]:
        if self._resume is None:
            return lambda: drive.start(context)
        return lambda: drive.resume(context, resolutions or [])

    async def _finish(self, context: RunContext) -> RunResult:
        """After the end, before anyone has the result: the session's history and the store."""
        await context.keep("session", lambda: self._runtime.sessions.close_turn(context.state))
        await context.save()
        return result_of(context.state)

    def _leave(self, run: Run) -> None:
        """However the drive ended, the session's turn is given on."""
        self._runtime.sessions.leave(run.session_id)
        self._runtime.sessions.remove(run)

    async def _saved_state(self) -> RunState | None:
        if self._resume is None:
            return None
        given = self._resume[0]
        if isinstance(given, str) and not given.lstrip().startswith("{"):
            store = self._runtime.store
            if store is None:
                raise StateInvalid(f"resume: run id {given!r} needs a runtime with a store; give result.state instead")
            saved = await store.load_run(given)
            if saved is None:
                raise StateInvalid(f"resume: the store knows no run {given!r}")
            given = saved
        return load_state(given)

    async def _check_resume(self, state: RunState) -> list[Resolution]:
        """Answers and extension checked before anything moves; raises and leaves the state as it was."""
        if self._resume is None:
            return []
        _, decisions, extend = self._resume
        for approval_id in decisions:
            if approval_id in self._runtime.used_approvals:
                raise ApprovalInvalid(f"approval {approval_id!r} was already used", reason="used")
        resolutions = check_answers(state, decisions, self._runtime.clock.now())
        _check_resumable(state)
        priced = self._runtime.provider_config.model in (self._runtime.config.pricing or {})
        extend_budgets(state, extend, priced=priced)
        for resolution in resolutions:
            await self._use(resolution.approval.approval_id)
        return resolutions

    async def _use(self, approval_id: str) -> None:
        store = self._runtime.store
        if store is not None and not await store.use_approval(approval_id):
            raise ApprovalInvalid(f"approval {approval_id!r} was already used", reason="used")
        self._runtime.used_approvals.add(approval_id)


def _check_resumable(state: RunState) -> None:
    if state.status in ("running", "continuation"):
        return
    if state.status == "blocked" and state.approvals.pending:
        return
    if state.status == "failed" and state.error is not None and state.error.retryable:
        return
    if state.status == "blocked":
        raise StateInvalid(
            f"resume: run {state.run_id!r} waits for an answer to its question, not for an approval",
            hint="Send the answer as the next run of the same session.",
        )
    raise StateInvalid(f"resume: run {state.run_id!r} is over ({state.status})", hint="Start a new run.")
