"""The command `agrun`: a run in the terminal, the built page served on this machine, and what a runtime is made of."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from agrun_host import inspecting
from agrun_host.options import (
    PROVIDERS,
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
from agrun_wasm import AgrunError

__all__ = ["EXIT_CODES", "PROVIDERS", "app", "main"]

#: status -> exit code; 2 is a wrong command line or config
EXIT_CODES = {"completed": 0, "failed": 1, "blocked": 3, "continuation": 4, "aborted": 130}

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
    provider: Provider = "offline",
    base_url: BaseUrl = None,
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="A persona for the run.")] = None,
    skills: Skills = None,
    trust_skills: TrustSkills = False,
    bundled: Bundled = True,
    planner_mode: PlannerMode = "auto",
    profile: Profile = "legacy",
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
        keys = {"plannerMode": planner_mode, "maxSteps": max_steps, "profile": profile}
        config = config_of(screen, provider, base_url, **keys)
        offered = skills_of(screen, skills, trust=trust_skills, bundled=bundled)
        runtime = Runtime(config.model_copy(update={"skills": offered}))
        if problem := missing_key(runtime.config):
            refuse(screen, problem)
        result = run_as_json(runtime, request) if as_json else run_shown(runtime, request, screen)
    except AgrunError as error:
        refuse(screen, error.message, error.hint)
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
        refuse(screen, f"there is no built page{f' in {page}' if page else ''}", "Run `python build.py web` first.")
    try:
        serve_page(page, port, lambda address: print(f"The page is at {address} (Ctrl+C ends)", flush=True))
    except OSError as fault:
        refuse(
            screen, f"port {port} cannot be used: {fault.strerror}", "Give another one with --port; 0 takes a free one."
        )


app.command("describe")(inspecting.describe)
app.command("inspect-prompt")(inspecting.inspect_prompt)
app.command("surface")(inspecting.surface)


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # what a terminal cannot show must not end a run
    app()
