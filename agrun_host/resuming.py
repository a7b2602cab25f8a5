"""The command `resume`: a run that waits, or that did not come to its end, from a database or from a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agrun_host.begun import Begun, decisions_of, pending_in
from agrun_host.drive_command import AsJson, DriveOptions, Otel, Record, Replay, SaveState, drive, drive_kept
from agrun_host.options import (
    BaseUrl,
    Bundled,
    DatabaseUrl,
    OfferedSkills,
    PlannerMode,
    Profile,
    Provider,
    Skills,
    TrustSkills,
    config_of,
    refuse,
)
from agrun_wasm.contracts.config import RuntimeConfig

if TYPE_CHECKING:
    from agrun_host.terminal import Screen
    from agrun_wasm import Runtime
    from agrun_wasm.runtime.starting import RunStart

__all__ = ["resume"]


def resume(
    state: Annotated[
        str,
        typer.Argument(
            help="The id of a kept run, or a saved state or the output of --json; - reads it.", metavar="RUN_ID|FILE"
        ),
    ],
    approve: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Approve this pending call; repeatable.")
    ] = None,
    deny: Annotated[list[str] | None, typer.Option(metavar="ID", help="Deny this pending call; repeatable.")] = None,
    approve_all: Annotated[bool, typer.Option("--approve-all", help="Approve every other pending call.")] = False,
    deny_all: Annotated[bool, typer.Option("--deny-all", help="Deny every other pending call.")] = False,
    note: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why: kept with the decisions, and told to the model if denied.")
    ] = None,
    answer: Annotated[str | None, typer.Option(metavar="TEXT", help="Answer the question of the run.")] = None,
    extend: Annotated[int | None, typer.Option(min=1, metavar="N", help="Allow N planner cycles more.")] = None,
    extend_seconds: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Give a run whose time is over N seconds more.")
    ] = None,
    database: DatabaseUrl = None,
    provider: Provider = "offline",
    base_url: BaseUrl = None,
    skills: Skills = None,
    trust_skills: TrustSkills = False,
    bundled: Bundled = True,
    planner_mode: PlannerMode = "auto",
    profile: Profile = "legacy",
    record: Record = None,
    replay: Replay = None,
    save_state: SaveState = None,
    otel: Otel = False,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that waits, ran out of steps, failed on the way or was interrupted.

    Give the provider and the skills that it ran with. Where nothing is decided, you are asked in a terminal.

    \b
    A run that is kept in the database, by its id (`agrun runs` lists them):
      agrun resume run-0123456789abcdef --approve-all
      agrun resume run-0123456789abcdef --deny-all --note "not that site"
      agrun resume run-0123456789abcdef --answer "the second one"

    \b
    A run from its state in a file:
      agrun run "Read https://example.org" -p openai:gpt-5-mini \\
                --save-state waits.json
      agrun resume waits.json -p openai:gpt-5-mini --approve run-1:approval:1
      agrun resume spent.json -p openai:gpt-5-mini --extend 4

    \b
    Exit codes: as those of `agrun run`.
    """
    from agrun_host.terminal import Screen

    screen = Screen()
    if both := set(approve or []) & set(deny or []):
        refuse(screen, f"approved and denied at once: {', '.join(sorted(both))}")
    if approve_all and deny_all:
        refuse(screen, "--approve-all and --deny-all exclude each other")
    decisions = decisions_of(approve or [], deny or [], note)
    every = next(iter(decisions_of(["every"] * approve_all, ["every"] * deny_all, note).values()), None)
    if answer is not None and (decisions or every):
        refuse(screen, "--answer is for a question, --approve and --deny are for calls: a run waits for one of them")
    more = {"maxSteps": extend, "runDeadlineMs": extend_seconds and extend_seconds * 1000}
    extension = {budget: amount for budget, amount in more.items() if amount}
    options = DriveOptions(record=record, replay=replay, save_state=save_state, otel=otel, as_json=as_json)

    def config() -> RuntimeConfig:
        offered = OfferedSkills(skills, trust_skills, bundled)
        return config_of(screen, provider, base_url, offered, plannerMode=planner_mode, profile=profile)

    if database is not None or _is_run_id(state):
        begun = Begun(state, decisions=decisions, extend=extension, every=every, said=answer)
        drive_kept(screen, config, begun, database, options)
    saved = _saved_state(screen, Path(state))
    if every is not None:
        decisions = {**dict.fromkeys(pending_in(saved), every), **decisions}

    def start(runtime: Runtime) -> RunStart:
        if answer is not None:
            return _next_turn(runtime, saved, answer)
        return runtime.stream_resume(saved, decisions, extend=extension)

    drive(screen, config, start, {}, options)


def _is_run_id(text: str) -> bool:
    """Is it the id of a run rather than a file? A file of that name counts as one."""
    return text != "-" and not Path(text).exists() and "/" not in text and not text.endswith((".json", ".jsonl"))


def _next_turn(runtime: Runtime, saved: Mapping[str, Any], said: str) -> RunStart:
    """The answer to a question: the next run of its conversation, which stands in the state."""
    from agrun_wasm.contracts.errors import StateInvalid
    from agrun_wasm.session.history import turns_of
    from agrun_wasm.session.saved import load_state

    state = load_state(saved)
    if state.status != "blocked" or state.approvals.pending:
        raise StateInvalid(f"resume: run {state.run_id!r} ({state.status}) asks no question that could be answered")
    turns = [turn.to_json() for turn in (*state.history, *turns_of(state))]
    conversation = [{"role": turn["role"], "parts": turn["parts"]} for turn in turns]
    system = {"system": state.request.system} if state.request.system else {}
    return runtime.session(state.session_id).stream({"prompt": said, "conversation": conversation, **system})


def _saved_state(screen: Screen, path: Path) -> dict[str, Any]:
    """The state in a file: as it was saved, or as the last line of what `--json` printed."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except OSError as fault:
        refuse(screen, f"{path} cannot be read: {fault.strerror}")
    except UnicodeDecodeError:
        refuse(screen, f"{path} is not UTF-8 text")
    found = _state_in(text) or _state_in((text.strip().splitlines() or [""])[-1])
    if found is None:
        refuse(screen, f"{path} holds no saved state", "Make one with --save-state FILE, or keep what --json prints.")
    return found


def _state_in(text: str) -> dict[str, Any] | None:
    """The state in a JSON text: that itself, a result's, or that of the line in which `--json` gives a result."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for key in ("result", "state"):
        if isinstance(value, dict):
            value = value.get(key, value)
    return value if isinstance(value, dict) else None
