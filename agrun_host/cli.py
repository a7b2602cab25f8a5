"""The command `agrun`: a run in the terminal, and the built page served on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from agrun_wasm import AgrunError, RuntimeConfig, Skill
from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.naming import did_you_mean

if TYPE_CHECKING:  # what a command needs is imported when it runs: help comes at once
    from agrun_host.terminal import Screen

#: status -> exit code; 2 is a wrong command line or config
EXIT_CODES = {"completed": 0, "failed": 1, "blocked": 3, "continuation": 4, "aborted": 130}
#: the providers that a command line can name: the others are made of Python objects or live in a page
PROVIDERS = ("offline", "openai", "openai-responses", "anthropic", "gemini", "openai-compatible")

app = typer.Typer(
    help="An agent runtime in the terminal. Begin with: agrun run --help",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def about(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as version_of

        print(f"agrun {version_of('agrun-host')} (agrun_wasm {version_of('agrun-wasm')})")
        raise typer.Exit


@app.command()
def run(
    prompt: Annotated[str, typer.Argument(help="What you ask.", metavar="PROMPT")],
    provider: Annotated[
        str,
        typer.Option("--provider", "-p", metavar="NAME:MODEL", help="Who answers; see the examples above."),
    ] = "offline",
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the provider's API is, if not at its usual place.")
    ] = None,
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="A persona for the run.")] = None,
    skills: Annotated[
        list[Path] | None,
        typer.Option("--skill", metavar="DIR", help="A skill folder, or a folder of them; repeatable."),
    ] = None,
    trust_skills: Annotated[bool, typer.Option("--trust-skills", help="Let tools.py of these skills run.")] = False,
    bundled: Annotated[
        bool, typer.Option("--bundled/--no-bundled", help="Offer the skills that come with agrun.")
    ] = True,
    planner_mode: Annotated[
        str, typer.Option(metavar="MODE", help="auto, native_tools or envelope (for models without tool calls).")
    ] = "auto",
    max_steps: Annotated[int, typer.Option(min=1, metavar="N", help="Planner cycles at most.")] = 8,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print events and the result as JSON, a line each; ask nobody.")
    ] = False,
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
    Exit codes: 0 answered, 1 failed, 2 wrong command or config,
    3 waits for a person, 4 out of steps, 130 stopped.
    """
    from agrun_host.driving import run_as_json, run_shown
    from agrun_host.keys import missing_key
    from agrun_host.runtime import Runtime
    from agrun_host.terminal import Screen

    screen = Screen()
    request = {"prompt": prompt, **({"system": system} if system else {})}
    try:
        config = _config(provider, base_url, plannerMode=planner_mode, maxSteps=max_steps)
        _check_provider(screen, config.provider_config())
        offered = _skills(screen, skills or [], trust=trust_skills, bundled=bundled)
        runtime = Runtime(config.model_copy(update={"skills": offered}))
        if problem := missing_key(runtime.config):
            _refuse(screen, problem)
        result = run_as_json(runtime, request) if as_json else run_shown(runtime, request, screen)
    except AgrunError as error:
        _refuse(screen, error.message, error.hint)
    except KeyboardInterrupt:
        screen.note("stopped")
        raise typer.Exit(EXIT_CODES["aborted"]) from None
    raise typer.Exit(EXIT_CODES[result.status])


@app.command()
def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 8000,
    directory: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The built page; found by itself in a checkout.")
    ] = None,
) -> None:
    """Serve the built page on this machine only."""
    from agrun_host.page import find_page, serve_page
    from agrun_host.terminal import Screen

    screen = Screen()
    page = directory or find_page()
    if page is None or not (page / "index.html").is_file():
        _refuse(screen, f"there is no built page{f' in {page}' if page else ''}", "Run `python build.py web` first.")
    try:
        serve_page(page, port, lambda address: print(f"The page is at {address} (Ctrl+C ends)", flush=True))
    except OSError as fault:
        _refuse(
            screen, f"port {port} cannot be used: {fault.strerror}", "Give another one with --port; 0 takes a free one."
        )


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # what a terminal cannot show must not end a run
    app()


def _config(provider: str, base_url: str | None, **keys: Any) -> RuntimeConfig:
    from agrun_wasm.runtime.host_input import read_config

    config = read_config(None, {"provider": provider, **keys})
    if base_url is None:
        return config
    placed = config.provider_config().model_copy(update={"base_url": base_url})
    return config.model_copy(update={"provider": placed})


def _check_provider(screen: Screen, provider: ProviderConfig) -> None:
    name = provider.name
    if name not in PROVIDERS:
        hint = f"Known here are {', '.join(PROVIDERS)}; `agrun run --help` shows an example of each."
        _refuse(screen, f"unknown provider {name!r}{did_you_mean(name, PROVIDERS)}", hint)
    if name == "openai-compatible" and not provider.base_url:
        _refuse(screen, f"provider {name!r} needs --base-url", "For example --base-url http://127.0.0.1:11434/v1")


def _skills(screen: Screen, paths: list[Path], *, trust: bool, bundled: bool) -> list[Skill]:
    """The skills to offer, those that were asked for before bundled ones of their name; their faults are told."""
    from agrun_host.skills import bundled_skills, load_skills

    asked = [skill for path in paths for skill in load_skills(path, trust=trust)]
    for skill in asked:
        for found in skill.diagnostics:
            screen.note(f"skill {skill.name}: {found['message']}")
        if skill.has_tools_file and not skill.trusted:
            screen.note(f"skill {skill.name}: its tools.py is not run; --trust-skills lets it")
    names = {skill.name for skill in asked}
    return [*(skill for skill in (bundled_skills() if bundled else []) if skill.name not in names), *asked]


def _refuse(screen: Screen, problem: str, hint: str = "") -> NoReturn:
    screen.problem(problem, hint)
    raise typer.Exit(2)
