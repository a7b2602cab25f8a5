"""Driving a run from the command line: shown to a person and gone on with by their answers, or as JSON, a line each.

Owned here: the event loop, Ctrl+C, and when a person is asked. Must not know: options, how things look.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from agrun_host.answers import answer_of
from agrun_host.terminal import Screen
from agrun_wasm import AgrunError, RunEvent, RunResult, Runtime
from agrun_wasm.runtime.sessions import Session
from agrun_wasm.runtime.starting import RunStart

if TYPE_CHECKING:
    from agrun_host.cassette import Cassette

__all__ = ["print_json", "run_as_json", "run_shown", "turn_shown"]

#: what to do about a run that waits, where nobody is there to answer
_LATER = "run it in a terminal, or keep it (--save-state FILE, --json or --keep) and go on with `agrun resume`."


def run_as_json(runtime: Runtime, start: RunStart, cassette: Cassette | None = None) -> RunResult:
    """Events and the result on standard output, as JSON lines; nobody is asked anything."""
    with asyncio.Runner() as loop:
        try:
            result = loop.run(_follow(start, lambda event: print_json(event.to_json())))
        finally:
            loop.run(_close(runtime, cassette))
    print_json({"type": "result", "result": result.to_json()})
    return result


def run_shown(
    runtime: Runtime,
    start: RunStart,
    screen: Screen,
    next_turn: Callable[[str, str], RunStart],
    cassette: Cassette | None = None,
) -> RunResult:
    """A run as a person sees it, going on with their answers while it asks for some and they are there to give them.

    `next_turn` makes the run that follows from a session's id and what the person said to a question.
    """
    # A person is asked between two runs of the loop: there Ctrl+C and Ctrl+D mean what they mean everywhere.
    with asyncio.Runner() as loop:
        try:
            result = _answered(loop, runtime, start, screen, next_turn)
        finally:
            screen.rest()
            loop.run(_close(runtime, cassette))
    screen.end(result)
    return result


def turn_shown(
    loop: asyncio.Runner, runtime: Runtime, session: Session, request: Mapping[str, Any], screen: Screen
) -> bool:
    """One turn of a conversation, to where it is another one's turn; was it stopped? What the host misuses is told and
    ends nothing."""

    def next_turn(_session: str, said: str) -> RunStart:
        return session.stream({**request, "prompt": said})

    try:
        result = _answered(loop, runtime, session.stream(request), screen, next_turn)
    except AgrunError as error:
        screen.problem(error.message, error.hint)
        return False
    except KeyboardInterrupt:
        screen.note("stopped")
        return True
    screen.end(result)
    return result.status == "aborted"


def _answered(
    loop: asyncio.Runner,
    runtime: Runtime,
    start: RunStart,
    screen: Screen,
    next_turn: Callable[[str, str], RunStart],
) -> RunResult:
    """A run, and what follows from a person's answers to it."""
    result = loop.run(_follow(start, screen.show))
    while (answer := answer_of(screen, result, _LATER)) is not None:
        if answer.said is not None:
            start = next_turn(result.session_id, answer.said)
        else:
            start = runtime.stream_resume(result.state, answer.decisions, extend=answer.extend)
        result = loop.run(_follow(start, screen.show))
    return result


async def _close(runtime: Runtime, cassette: Cassette | None) -> None:
    """The runtime first: what its runs still read belongs to the recording."""
    try:
        await runtime.aclose()
    finally:
        if cassette is not None:
            await cassette.aclose()


async def _follow(start: RunStart, show: Callable[[RunEvent], None]) -> RunResult:
    """A run to its end. Ctrl+C, which cancels this call, stops the run on the wire; its result says so then."""
    shown = 0
    async with start as run:
        try:
            async for event in run:
                show(event)
                shown = event.seq
        except asyncio.CancelledError:
            run.stop("now")
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
            async for event in run:
                if event.seq > shown:
                    show(event)
        return await run.result()


def print_json(value: Any) -> None:
    # ASCII: so that it is JSON in every encoding, and one line for everything that splits lines.
    print(json.dumps(value), flush=True)
