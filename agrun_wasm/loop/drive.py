"""The drive: cycles from a start or a resume to the run's next end. Inside, errors are values; none is lost.

Owns the order observe, orient, decide, act, evaluate, and which end each exception is.
"""

from __future__ import annotations

import logging

from agrun_wasm.contracts.errors import ErrorInfo, ProviderError, StateInvalid
from agrun_wasm.loop import finish
from agrun_wasm.loop.act import act
from agrun_wasm.loop.budget import out_of_budget
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.decide import decide
from agrun_wasm.loop.evaluate import before_door, close_cycle, evaluate, write
from agrun_wasm.loop.observe import observe
from agrun_wasm.loop.outcome import Answer, Blocked, Failed, GoOn, Outcome, OutOfBudget, WriteAnswer
from agrun_wasm.loop.telling import tell_interrupted
from agrun_wasm.loop.waiting import DeadlineReached, Stopped
from agrun_wasm.planner.mode import planner_mode
from agrun_wasm.text.shorten import head

_log = logging.getLogger("agrun_wasm")


async def drive(ctx: RunContext) -> None:
    """A run from its state to its next end: from its beginning, or from where it was blocked, paused or interrupted."""
    try:
        await ctx.checkpoints.begin()
        if not ctx.state.steps:
            _announce(ctx)
        outcome = await _go_on(ctx)
        if ctx.stopped:  # a stop wins over every other end, at any moment before it
            raise Stopped
    except Stopped:
        close_cycle_as(ctx, "aborted")
        finish.abort(ctx)
    except DeadlineReached:
        spent = OutOfBudget("deadline")
        close_cycle(ctx, spent, keep=True)
        finish.pause(ctx, spent)
    except ProviderError as error:
        close_cycle_as(ctx, "failed")
        finish.fail(ctx, Failed(error.info()))
    except StateInvalid:
        raise  # a journal that cannot be read, or somebody else drives this run: what is saved of it stays as it is
    except Exception as error:  # nothing that a host's code or our own does wrong may lose the run's state
        _log.exception("a run failed in the runtime")
        close_cycle_as(ctx, "failed")
        info = ErrorInfo(
            code="INTERNAL",
            message=f"{type(error).__name__}: {error}",
            hint="This is a fault of the runtime or of a host's part; the state is kept.",
        )
        finish.fail(ctx, Failed(info))
    else:
        _leave(ctx, outcome)


def _announce(ctx: RunContext) -> None:
    ctx.emit("run-started", prompt=head(ctx.state.request.prompt, 200), maxSteps=ctx.state.budgets.steps_left)
    mode, reason = planner_mode(ctx.config)
    ctx.emit("planner-mode-resolved", mode=mode, reason=reason)


async def _go_on(ctx: RunContext) -> Outcome:
    """Cycles until an outcome that ends the run."""
    while True:
        if ctx.stopped:
            raise Stopped
        if ctx.state.cycle is None:
            if spent := out_of_budget(ctx):
                return spent
            if ctx.state.budgets.steps_left < 1:
                return await _steps_spent(ctx)
            observe(ctx)
        outcome = await _cycle(ctx)
        if not isinstance(outcome, GoOn):
            return outcome
        await ctx.checkpoints.cycle_ended()


async def _cycle(ctx: RunContext) -> Outcome:
    """Decide, act, evaluate. A decision that overspends is kept for after an extension, unless it ends the run."""
    ended = await decide(ctx)
    if ended is not None:
        return ended
    cycle = ctx.cycle
    ends = cycle.decision is not None and cycle.decision.type in ("final", "clarify")
    if cycle.phase == "decided" and not ends and (spent := out_of_budget(ctx)):
        return close_cycle(ctx, spent, keep=True)
    return await _evaluated(ctx, await act(ctx))


async def _evaluated(ctx: RunContext, outcome: Outcome) -> Outcome:
    """A stop that came while it acted wins over everything the actions led to."""
    if ctx.stopped:
        raise Stopped
    return await evaluate(ctx, outcome)


async def _steps_spent(ctx: RunContext) -> Outcome:
    """The steps are out: one last finaliser call, or a continuation."""
    if not ctx.config.finalize_on_exhaustion:
        return OutOfBudget("steps")
    answer = await write(ctx, WriteAnswer())
    return await before_door(ctx, answer) if isinstance(answer, Answer) else answer


def _leave(ctx: RunContext, outcome: Outcome) -> None:
    if isinstance(outcome, Answer):
        finish.deliver(ctx, outcome)
    elif isinstance(outcome, Blocked):
        finish.block(ctx, outcome)
    elif isinstance(outcome, OutOfBudget):
        finish.pause(ctx, outcome)
    elif isinstance(outcome, Failed):
        finish.fail(ctx, outcome)
    else:
        raise RuntimeError(f"{type(outcome).__name__} ends no run")


def close_cycle_as(ctx: RunContext, label: str) -> None:
    """The record of a cycle that was cut; one that never got its decision has spent no step and leaves none.

    No call stays without a result, so that a provider accepts the history.
    """
    tell_interrupted(ctx)
    close_cycle(ctx, GoOn(), label=label)
    ctx.state.cycle = None
