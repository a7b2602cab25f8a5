"""The commands that drive a run: `run` and `resume`. What they share is how a run ends and what is kept of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agrun_host.options import (
    BaseUrl,
    Bundled,
    PlannerMode,
    Profile,
    Provider,
    Skills,
    TrustSkills,
    config_of,
    refuse,
    skills_of,
)
from agrun_wasm import AgrunError, RunResult
from agrun_wasm.contracts.config import RuntimeConfig

if TYPE_CHECKING:
    from agrun_host.cassette import Cassette
    from agrun_host.terminal import Screen
    from agrun_wasm import Runtime
    from agrun_wasm.runtime.starting import RunStart

__all__ = ["EXIT_CODES", "resume", "run", "runtime_of"]

#: status -> exit code; 2 is a wrong command line or config
EXIT_CODES = {"completed": 0, "failed": 1, "blocked": 3, "continuation": 4, "aborted": 130}

AsJson = Annotated[bool, typer.Option("--json", help="Print events and the result as JSON, a line each; ask nobody.")]
Record = Annotated[Path | None, typer.Option(metavar="FILE", help="Keep all traffic in a cassette, without keys.")]
Replay = Annotated[Path | None, typer.Option(metavar="FILE", help="Answer from a cassette alone: no network, no key.")]
SaveState = Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the state at the end, for `agrun resume`.")]

Otel = Annotated[bool, typer.Option("--otel", help="Make OpenTelemetry spans of it (extra telemetry).")]


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
    record: Record = None,
    replay: Replay = None,
    save_state: SaveState = None,
    otel: Otel = False,
    as_json: AsJson = False,
) -> None:
    """Run one request and print its answer.

    The answer goes to standard output, what happens on the way to standard error. Ctrl+C stops the run.

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
    Exit codes: 0 answered, 1 failed, 2 wrong command or config,
    3 waits for a person, 4 out of steps, 130 stopped.
    """
    from agrun_host.terminal import Screen

    screen = Screen()
    request = {"prompt": prompt, **({"system": system} if system else {})}
    keys = {"plannerMode": planner_mode, "maxSteps": max_steps, "profile": profile}

    def config() -> RuntimeConfig:
        made = config_of(screen, provider, base_url, **keys)
        return made.model_copy(update={"skills": skills_of(screen, skills, trust=trust_skills, bundled=bundled)})

    def start(runtime: Runtime) -> RunStart:
        return runtime.session().stream(request)

    if record is not None and replay is not None:
        refuse(screen, "--record and --replay exclude each other")
    _driven(
        screen, config, start, request, record=record, replay=replay, save_state=save_state, otel=otel, as_json=as_json
    )


def resume(
    state: Annotated[Path, typer.Argument(help="A saved state, or the output of --json; - reads it.", metavar="STATE")],
    approve: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Approve this pending call; repeatable.")
    ] = None,
    deny: Annotated[list[str] | None, typer.Option(metavar="ID", help="Deny this pending call; repeatable.")] = None,
    extend: Annotated[int | None, typer.Option(min=1, metavar="N", help="Allow N planner cycles more.")] = None,
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
    """Go on with a run that waits, ran out of steps or was interrupted.

    Give the provider and the skills that it ran with. Without --approve and --deny you are asked in a terminal.

    \b
      agrun run "Read https://example.org" -p openai:gpt-5-mini --save-state waits.json
      agrun resume waits.json -p openai:gpt-5-mini --approve approval-1
      agrun resume spent.json -p openai:gpt-5-mini --extend 4

    \b
    Exit codes: as those of `agrun run`.
    """
    from agrun_host.terminal import Screen

    screen = Screen()
    saved = _saved_state(screen, state)
    decisions = {**dict.fromkeys(approve or [], "approve"), **dict.fromkeys(deny or [], "deny")}
    if both := set(approve or []) & set(deny or []):
        refuse(screen, f"approved and denied at once: {', '.join(sorted(both))}")

    def config() -> RuntimeConfig:
        made = config_of(screen, provider, base_url, plannerMode=planner_mode, profile=profile)
        return made.model_copy(update={"skills": skills_of(screen, skills, trust=trust_skills, bundled=bundled)})

    def start(runtime: Runtime) -> RunStart:
        return runtime.stream_resume(saved, decisions, extend={"maxSteps": extend} if extend else None)

    _driven(screen, config, start, {}, record=record, replay=replay, save_state=save_state, otel=otel, as_json=as_json)


def _driven(
    screen: Screen,
    config: Callable[[], RuntimeConfig],
    start: Callable[[Runtime], RunStart],
    request: Mapping[str, Any],
    *,
    record: Path | None,
    replay: Path | None,
    save_state: Path | None,
    otel: bool,
    as_json: bool,
) -> None:
    """A run from its options to the command's exit code."""
    from agrun_host.driving import run_as_json, run_shown

    try:
        cassette = _cassette(record, replay)
        runtime = runtime_of(screen, config(), cassette)
        if otel:
            _instrument(screen, runtime)

        def next_turn(session: str, said: str) -> RunStart:
            return runtime.session(session).stream({**request, "prompt": said})

        if as_json:
            result = run_as_json(runtime, start(runtime), cassette)
        else:
            result = run_shown(runtime, start(runtime), screen, next_turn, cassette)
        if save_state is not None:
            _save(screen, save_state, result)
    except AgrunError as error:
        refuse(screen, error.message, error.hint)
    except KeyboardInterrupt:
        screen.note("stopped")
        raise typer.Exit(EXIT_CODES["aborted"]) from None
    for miss in cassette.misses if cassette else []:
        screen.problem(miss.message, miss.hint)
    missed = cassette is not None and bool(cassette.misses)
    raise typer.Exit(EXIT_CODES["failed"] if missed else EXIT_CODES[result.status])


def _cassette(record: Path | None, replay: Path | None) -> Cassette | None:
    path = record or replay
    if path is None:
        return None
    from agrun_host.cassette import Cassette

    cassette = Cassette(path, "record" if record else "replay")
    cassette.open()
    return cassette


def runtime_of(screen: Screen, config: RuntimeConfig, cassette: Cassette | None) -> Runtime:
    from pydantic import SecretStr

    from agrun_host.keyring_store import key_in_keyring
    from agrun_host.keys import missing_key, with_key
    from agrun_host.runtime import Runtime

    config = with_key(config, stored=None if cassette and cassette.mode == "replay" else key_in_keyring)
    if problem := missing_key(config):
        if cassette is None or cassette.mode == "record":
            refuse(screen, problem)
        # Nobody is asked, so nobody looks at it; the dialects want one before they make a request.
        signed = config.provider_config().model_copy(update={"api_key": SecretStr("from-a-cassette")})
        config = config.model_copy(update={"provider": signed})
    return Runtime(config, fetch=cassette.fetch if cassette else None)


def _instrument(screen: Screen, runtime: Runtime) -> None:
    """Spans for whoever takes them in this process; an exporter is configured by OpenTelemetry's own launcher."""
    try:
        from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

        from agrun_host.telemetry import instrument
    except ImportError:
        refuse(screen, "--otel needs OpenTelemetry", "pip install 'agrun-host[telemetry]' opentelemetry-distro")
    if isinstance(get_tracer_provider(), ProxyTracerProvider):
        refuse(
            screen,
            "--otel: nobody takes the spans of this process",
            "Start it as `opentelemetry-instrument agrun run ... --otel`, with OTEL_* set for the exporter.",
        )
    instrument(runtime)


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


def _save(screen: Screen, path: Path, result: RunResult) -> None:
    try:
        path.write_text(json.dumps(result.state, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as fault:
        screen.problem(f"the state cannot be kept in {path}: {fault.strerror}")
