"""Several calls at once: bounded, those that are not concurrency-safe alone, outcomes recorded in call order.

Serves single calls, batches and plan items alike. Rules: document 2, 2.3 batches, 2.7 Execution.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from agrun_wasm.contracts.decision import Call
from agrun_wasm.contracts.effects import EffectOnState
from agrun_wasm.contracts.policy import PolicyDecision
from agrun_wasm.contracts.state import CallOutcome, CallState, RunState
from agrun_wasm.loop.asking import ask
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.dispatch import Ready, Rejected, authorise, check_call, deny, guard_call, where_of
from agrun_wasm.loop.execute import execute, record
from agrun_wasm.loop.waiting import Interrupted, Stopped

Effects = dict[str, tuple[EffectOnState, ...]]


def new_call(state: RunState, call: Call, index: int | None) -> CallState:
    """A call with its stable id, which is also its idempotency key."""
    state.calls_made += 1
    return CallState(call=call, sequence_id=f"{state.run_id}:call:{state.calls_made}", index=index)


async def run_calls(ctx: RunContext, calls: list[CallState], key: str | None, *, may_ask: bool = True) -> Effects:
    """Takes every call without an outcome through the whole pipeline; gives the effects by sequence id.

    Calls that need approval are left without an outcome, with their approval pending. What has finished is recorded
    in call order, also when the run is stopped in between. Without `may_ask` such a call is answered as not run.
    """
    effects: Effects = {}
    asked: list[tuple[CallState, Ready, PolicyDecision]] = []

    async def one(call: CallState) -> None:
        ready = check_call(ctx, call, key)
        if isinstance(ready, Rejected):
            call.outcome = ready.outcome
            return
        call.args = ready.args
        where = where_of(call, key)
        if blocked := guard_call(ctx, ready, where):
            call.outcome = blocked
            return
        decision = await authorise(ctx, ready, where)
        if decision.action == "deny":
            call.outcome = deny(ctx, decision, where)
        elif decision.action == "ask" and not may_ask:
            call.outcome = not_run("not run: it needs an approval")
        elif decision.action == "ask":
            asked.append((call, ready, decision))
        else:
            effects[call.sequence_id] = await execute(ctx, call, ready, key)

    waiting = [call for call in calls if call.outcome is None and call.same_as is None and not call.approval_id]
    try:
        await in_parallel(ctx, waiting, one)
    finally:
        record_all(ctx, calls, key, effects)
    asked_for = {call.sequence_id for call, _, _ in asked}
    not_started(ctx, [call for call in waiting if call.sequence_id not in asked_for])
    if asked and ctx.stopped:  # nobody is asked for a run that ends
        raise Stopped
    if asked:
        await ask(ctx, sorted(asked, key=lambda item: item[0].index or 0), key)
    return effects


async def in_parallel(
    ctx: RunContext,
    calls: list[CallState],
    work: Callable[[CallState], Awaitable[None]],
) -> None:
    """Runs `work` for each call in order, at most maxPlanParallel at once; what is not concurrency-safe runs alone.

    After a stop or the deadline nothing more starts. Where the run is interrupted in one call, the others end by the
    same interruption and have their own outcome; any other exception is a fault of ours and cancels what runs.
    """
    running: set[asyncio.Future[None]] = set()
    interruptions: list[Interrupted] = []

    async def wait_until(room: Callable[[], bool]) -> None:
        while running and not room():
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            running.difference_update(done)
            for task in done:
                try:
                    task.result()
                except Interrupted as interruption:
                    interruptions.append(interruption)

    def empty() -> bool:
        return not running

    def room() -> bool:
        return len(running) < ctx.config.max_plan_parallel

    try:
        for call in calls:
            alone = not is_concurrency_safe(ctx, call)
            await wait_until(empty if alone else room)
            if interruptions or ctx.stopped or ctx.deadline_passed():
                break
            running.add(asyncio.ensure_future(work(call)))
            if alone:
                await wait_until(empty)
        await wait_until(empty)
    finally:
        for task in running:
            task.cancel()
        if running:
            await asyncio.gather(*running, return_exceptions=True)
    if interruptions:
        raise interruptions[0]


def is_concurrency_safe(ctx: RunContext, call: CallState) -> bool:
    action = ctx.surface.registry.get(call.call.action_name or "")
    return action is None or action.permission.is_concurrency_safe


def record_all(ctx: RunContext, calls: list[CallState], key: str | None, effects: Effects) -> None:
    for call in calls:
        record(ctx, call, key, effects.get(call.sequence_id, ()))


def copy_outcomes(calls: list[CallState]) -> None:
    """Identical calls of a batch ran once; both are answered."""
    for call in calls:
        if call.same_as is not None and call.outcome is None and (original := calls[call.same_as].outcome):
            call.outcome = original.model_copy()
            call.recorded = True


def not_started(ctx: RunContext, calls: list[CallState]) -> None:
    """Calls that the deadline kept from starting are answered; the runtime does not take them up again (2.8)."""
    for call in calls:
        if call.outcome is None and ctx.deadline_passed():
            call.outcome = not_run("not run: the run's deadline passed before it could start")


def not_run(text: str) -> CallOutcome:
    return CallOutcome(kind="not_run", ok=False, summary="not run", error=text, observation=text)
