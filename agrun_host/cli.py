"""The command `agrun`: a run in the terminal, the built page served on this machine, and what a runtime is made of."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from agrun_host import inspecting, keyring_store
from agrun_host.chat import chat
from agrun_host.drive_command import EXIT_CODES
from agrun_host.listing import runs
from agrun_host.options import PROVIDERS
from agrun_host.replaying import replay
from agrun_host.resuming import resume
from agrun_host.running import run
from agrun_host.schema_command import schema
from agrun_host.serve_command import serve

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
app.command("runs")(runs)

app.command("serve")(serve)
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
