"""Runs that a server keeps: the border between whoever speaks HTTP and whoever drives the runs.

`durable/` implements Runs over DBOS and a database, `serve/` is written against it. Everything is JSON of document 2.
Must not know: HTTP, SQL, DBOS.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol

from agrun_wasm.contracts.errors import AgrunError, ErrorInfo
from agrun_wasm.contracts.request import RunInput
from agrun_wasm.contracts.result import RunResult, Usage

__all__ = ["BROKEN", "NoSuchRun", "RunIdTaken", "RunView", "Runs", "digest_of", "failed_result"]

#: what is told of a fault of ours: its own words may hold anything
BROKEN = ErrorInfo(
    code="INTERNAL",
    message="the server failed to drive the run; its log says more",
    hint="What had finished stays done. Start a new run.",
)


class RunView(NamedTuple):
    """What is known of a run. `status` is "queued", "running" or a status of RunResult; `result` is the RunResult as
    JSON (without `state`, which stays on the server), and None while the run goes on."""

    run_id: str
    session_id: str | None
    status: str
    result: Mapping[str, Any] | None


class NoSuchRun(LookupError):
    """Nobody has started a run of this id, or it was deleted."""


class RunIdTaken(AgrunError):
    """A run of this id was started with another input, or in another session."""

    code = "RUN_ID_TAKEN"

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"run {run_id!r} was started with another input or session",
            hint="Take another Idempotency-Key (run id) for another run, or repeat the request as it was.",
        )


def digest_of(asked: RunInput, session: str | None) -> str:
    """What tells a request that is repeated from another one under the same id."""
    written = json.dumps([asked.to_json(), session], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(written.encode()).hexdigest()


def failed_result(run_id: str, session_id: str | None, error: ErrorInfo) -> RunResult:
    """The result of a run that could not come to one of its own: without steps, and without a state to go on from."""
    return RunResult(
        run_id=run_id,
        session_id=session_id or "",
        status="failed",
        final_answer_source="failed",
        terminalized_by="failed",
        error=error,
        usage=Usage(),
        cycles=[],
        steps=[],
        state={},
    )


class Runs(Protocol):
    """Runs that outlive whoever asked for them, and the process too where the implementation is durable."""

    async def start(
        self, asked: Mapping[str, Any], *, session: str | None = None, run_id: str | None = None
    ) -> RunView:
        """Starts a run of this input (document 2's RunInput); a `run_id` that was started before gives that run and
        starts nothing. Raises ConfigInvalid for an input that is none, RunIdTaken where that run was asked for with
        another one."""
        ...

    async def view(self, run_id: str) -> RunView:
        """Raises NoSuchRun."""
        ...

    def events(self, run_id: str, after: int = 0) -> AsyncIterator[Mapping[str, Any]]:
        """The run's events (RunEvent as JSON) whose seq is above `after`: the kept steps, the deltas of the step in
        progress, then what comes. `seq` rises over the whole life of the run, restarts and resumes included, so a
        client that names the last one it has seen misses none and gets none twice. Ends when the run is over or waits
        for a person. A reader that is slow holds up nobody. Raises NoSuchRun at its first step."""
        ...

    async def decide(
        self, run_id: str, decisions: Mapping[str, Any], *, extend: Mapping[str, Any] | None = None
    ) -> RunView:
        """Answers approvals by their ids ("approve", "deny" or `{decision, note}`) and goes on. Each answer counts
        once, whoever gives it. Raises NoSuchRun, ApprovalInvalid, StateInvalid, and has then changed nothing."""
        ...

    async def stop(self, run_id: str, how: Literal["now", "after_step"] = "now") -> RunView:
        """Stops a run wherever it is being driven; one that is over is left as it is. Raises NoSuchRun."""
        ...
