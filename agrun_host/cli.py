"""The command `agrun`: which commands there are, and the entry point of the console script."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from agrun_host import keyring_store
from agrun_host.chat import chat
from agrun_host.drive_command import EXIT_CODES
from agrun_host.inspecting import describe, inspect_prompt, surface
from agrun_host.listing import runs
from agrun_host.options import PROVIDERS
from agrun_host.replaying import replay
from agrun_host.resuming import resume
from agrun_host.running import run
from agrun_host.schema_command import schema
from agrun_host.serve_command import serve

__all__ = ["EXIT_CODES", "PROVIDERS", "app", "main"]

app = typer.Typer(
    help="An agent runtime in the terminal.\n\n"
    "\b\n"
    'Without a key and a network:  agrun run "How many kilometres are 26.2 miles?"\n'
    "With a model:                 agrun chat -p openai:gpt-5-mini\n"
    "Over HTTP, with a page:       agrun serve\n\n"
    "`agrun COMMAND --help` has examples of each.",
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


#: command -> what it is called, and what it does in a line that the list of commands has room for
_COMMANDS: dict[Callable[..., None], tuple[str, str]] = {
    run: ("run", "Run one request and print its answer."),
    chat: ("chat", "Talk with an agent in the terminal."),
    resume: ("resume", "Go on with a run that waits or was cut off."),
    runs: ("runs", "List the runs that a database keeps."),
    serve: ("serve", "Serve runs over HTTP, and the page."),
    describe: ("describe", "Show what a runtime is made of."),
    inspect_prompt: ("inspect-prompt", "Show the request that would be sent."),
    surface: ("surface", "Print every definition as Markdown."),
    schema: ("schema", "Print the JSON Schema of a contract."),
    replay: ("replay", "Show a finished run or a cassette again."),
}
for _command, (_name, _does) in _COMMANDS.items():
    app.command(_name, short_help=_does)(_command)
app.add_typer(keyring_store.app, name="keys")


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # what a terminal cannot show must not end a run
    app()
