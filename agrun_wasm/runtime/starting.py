"""Starting and resuming: everything that is checked before a run moves, and what is done when it has ended.

The loop itself is imported with the first run: a program that only composes or inspects does not need it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from agrun_wasm.contracts.errors import ApprovalInvalid, ConfigInvalid, StateConflict, StateInvalid
from agrun_wasm.contracts.events import RunEvent
from agrun_wasm.contracts.request import RunInput
from agrun_wasm.contracts.result import RunResult
from agrun_wasm.contracts.state import RunState
from agrun_wasm.loop.budget import extend_budgets
from agrun_wasm.loop.context import RunContext
from agrun_wasm.runtime.results import result_of
from agrun_wasm.runtime.run import EventLog, Run
from agrun_wasm.runtime.sessions import Busy
from agrun_wasm.session.approvals import check_answers, resolve
from agrun_wasm.session.saved import load_state, save_state

if TYPE_CHECKING:
    from agrun_wasm.runtime.runtime import Runtime


class Beginning(Protocol):
    """How a drive begins: from an input, or from a saved state."""

    async def enter_session(self) -> str:
        """Takes the session's turn; gives its id."""
        ...

    async def state(self, session_id: str, /) -> RunState:
        """The state to drive, everything checked; raises before anything has moved."""
        ...

    async def drive(self, context: RunContext) -> None: ...


class NewRun:
    """A run from its input."""

    def __init__(
        self, runtime: Runtime, asked: RunInput, session_id: str | None, busy: Busy, run_id: str | None = None
    ) -> None:
        self._runtime = runtime
        self._asked = asked
        self._session_id = session_id
        self._busy = busy
        self._run_id = run_id

    async def enter_session(self) -> str:
        named = self._session_id is not None
        return await self._runtime.sessions.enter(self._session_id, self._busy, named=named)

    async def state(self, session_id: str, /) -> RunState:
        history = list(await self._runtime.sessions.history(session_id))
        return self._runtime.new_state(self._asked, session_id, history, self._run_id)

    async def drive(self, context: RunContext) -> None:
        from agrun_wasm.loop.drive import drive

        await drive(context)


class ResumedRun:
    """A run from its saved state (or its id, with a store), with answers to approvals and additions to budgets.

    `aborts`: it is only brought to where its finished calls lead, and ends there as stopped.
    """

    def __init__(
        self,
        runtime: Runtime,
        saved: Mapping[str, Any] | str,
        decisions: Mapping[str, Any],
        extend: Mapping[str, Any],
        *,
        aborts: bool = False,
    ) -> None:
        self._runtime = runtime
        self._aborts = aborts
        self._saved = saved
        self._decisions = decisions
        self._extend = extend
        self._interrupted = False

    async def enter_session(self) -> str:
        state = await self._load()
        return await self._runtime.sessions.enter(state.session_id, "wait", named=False)

    async def state(self, _session_id: str, /) -> RunState:
        # Loaded anew: whoever had the session until now may have moved this very run on.
        state = await self._load()
        runtime = self._runtime
        for approval_id in self._decisions:
            if approval_id in runtime.used_approvals:
                raise ApprovalInvalid(f"approval {approval_id!r} was already used", reason="used")
        resolutions = check_answers(state, self._decisions, runtime.clock.now())
        check_resumable(state)
        extend_budgets(state, self._extend, priced=runtime.has_price)
        # A state that has told nothing yet is a run's beginning, whoever begins it (Runtime.first_state).
        self._interrupted = bool(state.journal) or (state.status == "running" and bool(state.steps))
        _reopen(state)
        resolve(state, resolutions)
        await self._use([resolution.approval.approval_id for resolution in resolutions], state)
        return state

    async def drive(self, context: RunContext) -> None:
        from agrun_wasm.loop.drive import drive

        context.interrupted = self._interrupted
        if self._aborts:  # what had finished is taken in first (RunContext.stopped)
            context.stop.set("now")
        await drive(context)

    async def _load(self) -> RunState:
        saved = self._saved
        if isinstance(saved, str) and not saved.lstrip().startswith("{"):
            store = self._runtime.store
            if store is None:
                raise StateInvalid(f"resume: run id {saved!r} needs a runtime with a store; give result.state instead")
            found = await store.load_run(saved)
            if found is None:
                raise StateInvalid(f"resume: the store knows no run {saved!r}")
            saved = found
        return load_state(saved)

    async def _use(self, approval_ids: list[str], state: RunState) -> None:
        """From here on the answers count, whatever becomes of this process: they are used, and saved with the run."""
        store = self._runtime.store
        if store is not None and approval_ids:
            used = await store.use_approvals(approval_ids, state.run_id, save_state(state))
            if used is not None:
                raise ApprovalInvalid(f"approval {used!r} was already used", reason="used")
        self._runtime.used_approvals.update(approval_ids)


def _reopen(state: RunState) -> None:
    state.status = "running"
    state.output = None
    state.error = None
    state.final_answer_source = None


class RunStart:
    """What `runtime.stream(...)` gives: entering it starts the run, leaving it stops the run and frees its session."""

    def __init__(self, runtime: Runtime, beginning: Beginning) -> None:
        self._runtime = runtime
        self._beginning = beginning
        self._run: Run | None = None

    async def __aenter__(self) -> Run:
        if self._run is not None:
            raise RuntimeError("this stream was entered already; call stream() again")
        runtime, beginning = self._runtime, self._beginning
        session_id = await beginning.enter_session()
        try:
            surface = await runtime.surface_for_run()
            state = await beginning.state(session_id)
            log = EventLog()
            context = RunContext(state, surface, runtime.ports, log.publish)
        except BaseException:
            runtime.sessions.leave(session_id)
            raise
        self._run = Run(context, log, lambda: beginning.drive(context), self._finish, self._leave)
        runtime.sessions.add(self._run)
        return self._run

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._run is not None:
            await self._run.close()

    def __aiter__(self) -> AsyncIterator[RunEvent]:
        raise ConfigInvalid("stream: enter it first: `async with runtime.stream(...) as run: async for event in run`")

    def __await__(self) -> Any:
        raise ConfigInvalid("stream: use `async with runtime.stream(...) as run`, or `await runtime.run(...)`")

    async def _finish(self, context: RunContext) -> RunResult:
        """After the end, before anyone has the result: the session's history and the store."""
        try:
            await context.keep("session", lambda: self._runtime.sessions.close_turn(context.state))
        except StateConflict as error:  # others write to this session all the time; the answer is not theirs to lose
            notes = context.state.diagnostics.setdefault("store", [])
            notes.append({"what": "session", "error": context.words_of(error)})
        await context.checkpoints.save()
        return result_of(context.state)

    def _leave(self, run: Run) -> None:
        """However the drive ended, the session's turn is given on."""
        self._runtime.sessions.leave(run.session_id, waits=run.status in ("blocked", "continuation"))
        self._runtime.sessions.remove(run)


def check_resumable(state: RunState) -> None:
    """Raises STATE_INVALID for a run that is over, or that waits for something else than a resume."""
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
