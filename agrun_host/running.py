"""The command `run`: one request, from its options to its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agrun_host.begun import Begun
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
)
from agrun_wasm.contracts.config import RuntimeConfig
from agrun_wasm.runtime.default_ports import RandomIds

if TYPE_CHECKING:
    from agrun_wasm import Runtime
    from agrun_wasm.runtime.starting import RunStart

__all__ = ["run"]


def run(
    prompt: Annotated[str, typer.Argument(help="What you ask.", metavar="PROMPT")],
    provider: Provider = "offline",
    base_url: BaseUrl = None,
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="A persona for the run.")] = None,
    skills: Skills = None,
    trust_skills: TrustSkills = False,
    bundled: Bundled = True,
    planner_mode: PlannerMode = "auto",
    profile: Profile = "legacy",
    max_steps: Annotated[int, typer.Option(min=1, metavar="N", help="Planner cycles at most.")] = 8,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the run in the database, so that it outlives this process.")
    ] = False,
    database: DatabaseUrl = None,
    record: Record = None,
    replay: Replay = None,
    save_state: SaveState = None,
    otel: Otel = False,
    as_json: AsJson = False,
) -> None:
    """Run one request and print its answer.

    The answer goes to standard output, what happens on the way to standard error. Ctrl+C stops the run; one that is
    kept goes on with `agrun resume RUN_ID`, also after a crash.

    \b
    Without a key and without a network (no language model, but the same loop):
      agrun run "How many kilometres are 26.2 miles?"

    \b
    With the key in the environment variable named beside:
      agrun run "..." -p openai:gpt-5-mini             OPENAI_API_KEY
      agrun run "..." -p openai-responses:gpt-5-mini   OPENAI_API_KEY
      agrun run "..." -p anthropic:claude-sonnet-5     ANTHROPIC_API_KEY
      agrun run "..." -p gemini:gemini-2.5-flash       GEMINI_API_KEY

    \b
    With a server of your own (Ollama, llama.cpp, LM Studio, a gateway); where it
    asks for a key, AGRUN_API_KEY holds it:
      agrun run "..." -p openai-compatible:qwen3 \\
                --base-url http://127.0.0.1:11434/v1

    \b
    Recorded once, played again without network and key:
      agrun run "..." -p openai:gpt-5-mini --record asked.jsonl
      agrun run "..." -p openai:gpt-5-mini --replay asked.jsonl

    \b
    Kept in a database, and gone on with in another process:
      agrun run "Read https://example.org" -p openai:gpt-5-mini --keep
      agrun resume run-0123456789abcdef -p openai:gpt-5-mini --approve-all

    \b
    Exit codes: 0 answered, 1 failed, 2 wrong command or config,
    3 waits for a person, 4 out of steps, 130 stopped.
    """
    from agrun_host.terminal import Screen

    screen = Screen()
    request = {"prompt": prompt, **({"system": system} if system else {})}

    def config() -> RuntimeConfig:
        offered = OfferedSkills(skills, trust_skills, bundled)
        return config_of(
            screen, provider, base_url, offered, plannerMode=planner_mode, maxSteps=max_steps, profile=profile
        )

    def start(runtime: Runtime) -> RunStart:
        return runtime.session().stream(request)

    options = DriveOptions(record=record, replay=replay, save_state=save_state, otel=otel, as_json=as_json)
    if keep or database is not None:
        asked = Begun(RandomIds().new("run"), asked=request)
        drive_kept(screen, config, asked, database, options)
    drive(screen, config, start, request, options)
