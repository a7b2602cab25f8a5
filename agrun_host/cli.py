"""The command `agrun`: a run in the terminal, and the built page served on this machine."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from agrun_wasm import AgrunError, RunResult

#: status -> exit code; 2 is a wrong command line or config
EXIT_CODES = {"completed": 0, "failed": 1, "blocked": 3, "continuation": 4, "aborted": 130}

app = typer.Typer(
    help="agrun: an agent runtime in the terminal, in the page and on a server.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@app.command()
def run(
    prompt: Annotated[str, typer.Argument(help="What you ask.")],
    provider: Annotated[
        str, typer.Option(help="NAME or NAME:MODEL, such as openai:gpt-5-mini; offline needs no key and no network.")
    ] = "offline",
    base_url: Annotated[str | None, typer.Option(help="Base URL, for openai-compatible and local servers.")] = None,
    system: Annotated[str | None, typer.Option(help="A persona for the run.")] = None,
    skills: Annotated[
        list[Path] | None, typer.Option("--skill", help="A skill folder, or a folder of them; repeatable.")
    ] = None,
    trust_skills: Annotated[bool, typer.Option(help="Let tools.py of the given skills run.")] = False,
    bundled: Annotated[bool, typer.Option(help="Offer the bundled skills.")] = True,
    planner_mode: Annotated[str, typer.Option(help="auto, native_tools or envelope.")] = "auto",
    max_steps: Annotated[int, typer.Option(min=1, help="Planner cycles at most.")] = 8,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print events and the result as JSON, a line each; asks nobody.")
    ] = False,
) -> None:
    """Run one request and print its answer.

    Keys come from the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY.
    Exit codes: 0 answered, 1 failed, 2 wrong command or config, 3 waits for a person, 4 out of budget, 130 stopped.

    [dim]agrun run "How many kilometres are 26.2 miles?"[/dim]
    """
    from agrun_host.keys import missing_key

    config: dict[str, Any] = {
        "plannerMode": planner_mode,
        "maxSteps": max_steps,
        "provider": _provider(provider, base_url),
    }
    request: dict[str, Any] = {"prompt": prompt, **({"system": system} if system else {})}
    try:
        runtime = _runtime(config, skills or [], trust=trust_skills, bundled=bundled)
        if problem := missing_key(runtime.provider_config):
            _refuse(problem)
        result = asyncio.run(_run_json(runtime, request) if as_json else _run_shown(runtime, request))
    except AgrunError as error:
        _refuse(error.message + (f"\n  {error.hint}" if error.hint else ""))
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_CODES["aborted"]) from None
    raise typer.Exit(EXIT_CODES[result.status])


@app.command()
def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 8000,
    directory: Annotated[Path | None, typer.Option(help="The built page; found by itself in a checkout.")] = None,
) -> None:
    """Serve the built page on this machine only."""
    import uvicorn

    from agrun_host.page import find_page, page_app

    page = directory or find_page()
    if page is None or not (page / "index.html").is_file():
        _refuse("there is no built page; run `python build.py web` first, or give --directory")
    config = uvicorn.Config(page_app(page), host="127.0.0.1", port=port, log_level="warning")
    server = uvicorn.Server(config)
    socket = config.bind_socket()
    Console().print(f"The page is at [bold]http://127.0.0.1:{socket.getsockname()[1]}/[/bold] (Ctrl+C ends)")
    server.run(sockets=[socket])


def main() -> None:
    """Entry point of the console script."""
    app()


def _provider(name: str, base_url: str | None) -> dict[str, Any]:
    word, _, model = name.partition(":")
    return {"name": word, "model": model, **({"baseUrl": base_url} if base_url else {})}


def _runtime(config: dict[str, Any], skill_paths: list[Path], *, trust: bool, bundled: bool) -> Any:
    from agrun_host.runtime import Runtime
    from agrun_host.skills import bundled_skills, load_skills

    skills = bundled_skills() if bundled else []
    for path in skill_paths:
        skills += load_skills(path, trust=trust)
    return Runtime(**config, skills=skills)


async def _run_json(runtime: Any, request: dict[str, Any]) -> RunResult:
    async with runtime, runtime.stream(request) as run:
        async for event in run:
            print(json.dumps(event.to_json(), ensure_ascii=False), flush=True)
        result: RunResult = await run.result()
    print(json.dumps({"type": "result", "result": result.to_json()}, ensure_ascii=False), flush=True)
    return result


async def _run_shown(runtime: Any, request: dict[str, Any]) -> RunResult:
    """The run, and its going on after approvals and questions where a person is there to answer."""
    from agrun_host.terminal import TerminalView, ask_approvals

    console = Console()
    someone_there = sys.stdin.isatty() and console.is_terminal
    async with runtime:
        session = runtime.session()
        view = TerminalView(console)
        async with session.stream(request) as run:
            result = await view.follow(run)
        while someone_there and result.status == "blocked":
            if (result.output or {}).get("kind") == "approval_required":
                answers = ask_approvals(console, result)
                async with runtime.stream_resume(result.state, answers) as run:
                    result = await view.follow(run)
            else:
                console.print(f"[yellow]?[/yellow] {result.text}")
                async with session.stream(console.input("[bold]> [/bold]")) as run:
                    result = await view.follow(run)
    _print_end(console, result, view.shown)
    return result


def _print_end(console: Console, result: RunResult, shown: str) -> None:
    if result.status == "completed":
        if result.text.strip() not in shown:
            console.print(result.text, markup=False, highlight=False)
        return
    if result.error is not None:
        console.print(f"[red]{result.error.code}[/red]: {result.error.message}", highlight=False)
        if result.error.hint:
            console.print(f"  [dim]{result.error.hint}[/dim]", highlight=False)
    elif result.text:
        console.print(result.text, markup=False, highlight=False)


def _refuse(problem: str) -> NoReturn:
    Console(stderr=True).print(f"[red]agrun:[/red] {problem}", highlight=False)
    raise typer.Exit(2)
