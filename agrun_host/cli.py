"""The command `agrun`: a run in the terminal, the built page served on this machine, and what a runtime is made of."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from agrun_host import inspecting, keyring_store
from agrun_host.chat import chat
from agrun_host.options import PROVIDERS, refuse
from agrun_host.replaying import replay
from agrun_host.running import EXIT_CODES, resume, run
from agrun_host.schema_command import schema

__all__ = ["EXIT_CODES", "PROVIDERS", "app", "main"]

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


app.command("run")(run)
app.command("chat")(chat)
app.command("resume")(resume)


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
app.command("schema")(schema)
app.command("replay")(replay)
app.add_typer(keyring_store.app, name="keys")


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # what a terminal cannot show must not end a run
    app()
