"""Runs of the command line that are kept in a database: they outlive this process, and `agrun resume RUN_ID` goes on.

Owned here: how such a run is followed and answered, and what Ctrl+C leaves of it: it stays as it is. Must not know:
options, how things look, how a database keeps a run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from agrun_host.answers import answer_of
from agrun_host.begun import Begun
from agrun_host.driving import print_json
from agrun_host.runs import NoSuchRun
from agrun_host.terminal import Screen
from agrun_wasm import RunEvent, RunResult
from agrun_wasm.contracts.errors import StateInvalid
from agrun_wasm.runtime.default_ports import RandomIds

if TYPE_CHECKING:
    from agrun_host.cassette import Cassette
    from agrun_host.durable.runs import DurableRuns

__all__ = ["Kept", "follow_kept"]

MakeRuntime = Callable[..., Any]


class Kept(NamedTuple):
    """Where runs are kept, and what drives them."""

    make_runtime: MakeRuntime
    database: str | None
    cassette: Cassette | None = None


def follow_kept(kept: Kept, begun: Begun, screen: Screen, *, as_json: bool) -> RunResult:
    """A kept run to where it ends or waits for somebody who is not here. Raises KeyboardInterrupt after Ctrl+C; the run
    is unfinished then, and can be gone on with. Raises NoSuchRun, and what the runs and the database raise."""
    with asyncio.Runner() as loop:
        opened = _opened(kept, begun.run_id)
        runs = loop.run(opened.__aenter__())
        try:
            result = _to_its_end(loop, runs, begun, screen, as_json=as_json)
        finally:
            screen.rest()
            loop.run(opened.__aexit__(None, None, None))
    if as_json:
        print_json({"type": "result", "result": result.to_json()})
    else:
        screen.end(result)
    return result


@asynccontextmanager
async def _opened(kept: Kept, run_id: str) -> AsyncIterator[DurableRuns]:
    from agrun_host.durable.runs import DurableRuns

    try:
        async with await DurableRuns.open(kept.make_runtime, kept.database, only=run_id) as runs:
            yield runs
    finally:
        if kept.cassette is not None:
            await kept.cassette.aclose()


def _to_its_end(loop: asyncio.Runner, runs: DurableRuns, begun: Begun, screen: Screen, *, as_json: bool) -> RunResult:
    run_id, seen = loop.run(_set_in_motion(runs, begun, screen))
    show = _shown(screen, as_json=as_json)
    while True:
        if not as_json:
            screen.note(f"run {run_id}")
        result = loop.run(_followed(runs, run_id, seen, show))
        how = f"agrun resume {run_id} (--help names what it takes)"
        if as_json or (answer := answer_of(screen, result, how)) is None:
            return result
        if answer.said is not None:
            run_id, seen = loop.run(_next_turn(runs, run_id, answer.said)), 0
        else:
            seen = result.steps[-1].seq
            loop.run(runs.decide(run_id, answer.decisions, extend=answer.extend))


async def _set_in_motion(runs: DurableRuns, begun: Begun, screen: Screen) -> tuple[str, int]:
    """The run that is followed, and the last of its events that is not shown again: a run that was cut off is shown
    from its beginning, one that waited from there on."""
    run_id = begun.run_id
    if begun.asked is not None:
        await runs.start(begun.asked, session=RandomIds().new("session"), run_id=run_id)
        return run_id, 0
    view = await runs.view(run_id)
    if begun.said is not None:
        return await _next_turn(runs, run_id, begun.said), 0
    if view.result is None:
        if not await runs.go_on(run_id):
            screen.note("another process drives this run; it is shown here")
        return run_id, 0
    decisions = dict(begun.decisions)
    if begun.every is not None:
        pending = (view.result.get("output") or {}).get("approvals") or []
        decisions = {**dict.fromkeys((str(each["approvalId"]) for each in pending), begun.every), **decisions}
    failed_once = bool((view.result.get("error") or {}).get("retryable"))
    if decisions or begun.extend or failed_once or view.status not in ("blocked", "continuation"):
        await runs.decide(run_id, decisions, extend=begun.extend)
    steps = view.result.get("steps") or []
    return run_id, steps[-1]["seq"] if steps else 0


async def _next_turn(runs: DurableRuns, run_id: str, said: str) -> str:
    """The answer to a question is the next run of its session."""
    view = await runs.view(run_id)
    output = (view.result or {}).get("output") or {}
    if view.status != "blocked" or output.get("kind") != "clarification":
        raise StateInvalid(f"resume: run {run_id!r} ({view.status}) asks no question that could be answered")
    system = (await runs.asked(run_id)).get("system")
    asked = {"prompt": said, **({"system": system} if system else {})}
    return (await runs.start(asked, session=view.session_id, run_id=RandomIds().new("run"))).run_id


def _shown(screen: Screen, *, as_json: bool) -> Callable[[Mapping[str, Any]], None]:
    if as_json:
        return print_json
    return lambda event: screen.show(RunEvent.model_validate(event))


async def _followed(runs: DurableRuns, run_id: str, after: int, show: Callable[[Mapping[str, Any]], None]) -> RunResult:
    async for event in runs.events(run_id, after):
        show(event)
    view = await runs.view(run_id)
    if view.result is None:
        raise NoSuchRun(run_id)
    return RunResult.model_validate({**view.result, "state": {}})
