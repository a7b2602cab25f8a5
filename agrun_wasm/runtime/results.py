"""RunState to RunResult: the same facts in the form that a host reads. Rules: document 2, 2.5."""

from __future__ import annotations

from agrun_wasm.contracts.errors import StateInvalid
from agrun_wasm.contracts.result import RunResult
from agrun_wasm.contracts.state import RunState
from agrun_wasm.session.saved import save_state


def result_of(state: RunState) -> RunResult:
    """The result of a run that has ended (or waits); raises STATE_INVALID for one that is still running."""
    if state.status == "running" or state.final_answer_source is None:
        raise StateInvalid(f"state: run {state.run_id!r} has not ended; resume it to go on")
    return RunResult(
        run_id=state.run_id,
        session_id=state.session_id,
        status=state.status,
        output=state.output,
        final_answer_source=state.final_answer_source,
        terminalized_by=state.final_answer_source,
        error=state.error,
        usage=state.usage.model_copy(),
        cycles=list(state.cycles),
        steps=list(state.steps),
        diagnostics=dict(state.diagnostics),
        state=save_state(state),
    )


def show_result(result: RunResult) -> dict[str, str]:
    """The result as a notebook shows it, by media type. The view is imported by whoever looks."""
    from agrun_wasm.runtime.rich_view import view_of_result

    return view_of_result(result).mimebundle()


RunResult.shown_by = staticmethod(show_result)
