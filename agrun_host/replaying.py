"""The command `replay`: a finished run shown again from what `--json` printed, or what a cassette holds.

Nothing is asked of anybody. Must not know: how a run works, how a cassette answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agrun_host.options import refuse
from agrun_wasm import AgrunError, RunEvent, RunResult

if TYPE_CHECKING:
    from agrun_host.terminal import Screen

__all__ = ["replay"]

#: how a recorded call ended
_ENDS = {"complete": "to its end", "left": "read as far as it was needed"}


def replay(
    file: Annotated[Path, typer.Argument(help="The output of `agrun run --json`, or a cassette.", metavar="FILE")],
    step: Annotated[bool, typer.Option("--step", help="Wait for the Enter key before each step.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON, a line each.")] = False,
) -> None:
    """Show a finished run or a cassette again.

    \b
      agrun run "..." --json > run.jsonl && agrun replay run.jsonl
      agrun replay run.jsonl --step
      agrun replay asked.jsonl

    \b
    To run something against a cassette: agrun run "..." --replay FILE
    """
    from agrun_host.terminal import Screen

    screen = Screen()
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as fault:
        refuse(screen, f"{file} cannot be read: {fault.strerror}")
    except UnicodeDecodeError:
        refuse(screen, f"{file} is not UTF-8 text")
    try:
        if '"cassette"' in text.partition("\n")[0]:
            _show_cassette(screen, text, str(file), step=step, as_json=as_json)
        else:
            _show_run(screen, text, str(file), step=step, as_json=as_json)
    except AgrunError as error:
        refuse(screen, error.message, error.hint)
    except (EOFError, KeyboardInterrupt):
        screen.note("stopped")
        raise typer.Exit(130) from None


def _show_run(screen: Screen, text: str, where: str, *, step: bool, as_json: bool) -> None:
    events, result = _run_in(screen, text, where)
    for event in events:
        if as_json:
            print(json.dumps(event.to_json()))
            continue
        if step and not event.type.endswith("-delta"):
            screen.note(f"{event.seq} {event.type}")
            screen.ask("", lambda said: said)
        screen.show(event)
    if result is None:
        screen.note("the run had not ended when this was written")
    elif as_json:
        print(json.dumps({"type": "result", "result": result.to_json()}))
    else:
        screen.end(result)


def _run_in(screen: Screen, text: str, where: str) -> tuple[list[RunEvent], RunResult | None]:
    """The events and the result of a file; a result alone has its steps."""
    from agrun_wasm.contracts.errors import StateInvalid
    from agrun_wasm.contracts.validation import parse

    events: list[RunEvent] = []
    result: RunResult | None = None
    for number, value in _values(screen, text, where):
        saved = value.get("result") if value.get("type") == "result" else value if "terminalizedBy" in value else None
        place = f"{where}: line {number}"
        if saved is not None:
            result = parse(RunResult, saved, place, StateInvalid)
        else:
            events.append(parse(RunEvent, value, place, StateInvalid))
    if not events and result is not None:
        events = list(result.steps)
    if not events:
        refuse(screen, f"{where} holds no run", "Make one with `agrun run ... --json > FILE`.")
    return events, result


def _values(screen: Screen, text: str, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a text: a line each, or one alone."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict):
        yield 1, whole
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            refuse(screen, f"{where}: line {number} is no JSON object")
        yield number, value


def _show_cassette(screen: Screen, text: str, where: str, *, step: bool, as_json: bool) -> None:
    from agrun_host.terminal import printable
    from agrun_wasm.providers.cassette_text import read_text

    for number, exchange in enumerate(read_text(text, where), start=1):
        body = b"".join(chunk for chunk, _ in exchange.chunks).decode("utf-8", "replace")
        if as_json:
            shown = {"number": number, "request": exchange.request, "response": exchange.head, "body": body}
            print(json.dumps({**shown, "chunks": len(exchange.chunks), "end": exchange.end}))
            continue
        request = exchange.request
        screen.question(f"{number} {request['method']} {request['url']} ({request.get('purpose', 'model')})")
        if step:
            screen.ask("", lambda said: said)
        head = exchange.head
        answered = "no answer" if head is None else f"{head['status']} {head['statusText']}".strip()
        end = exchange.end
        ended = _ENDS[end] if isinstance(end, str) else f"{end['kind']}: {end['message']}"
        count = len(exchange.chunks)
        screen.note(f"{answered}, {count} chunk{'s' * (count != 1)}, {ended}")
        print(printable(body))
