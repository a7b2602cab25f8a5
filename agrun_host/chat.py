"""The command `chat`: one session in the terminal, a turn a line.

Owned here: what a line means, and how the conversation ends. Must not know: how an answer is drawn, how a run is
driven or gone on with.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agrun_host.drive_command import runtime_of
from agrun_host.options import (
    BaseUrl,
    Bundled,
    OfferedSkills,
    PlannerMode,
    Profile,
    Provider,
    Skills,
    TrustSkills,
    config_of,
    refuse,
)
from agrun_host.telemetry_export import telemetry
from agrun_wasm import AgrunError
from agrun_wasm.contracts.naming import did_you_mean

if TYPE_CHECKING:
    from agrun_host.markdown_screen import MarkdownScreen
    from agrun_wasm import Runtime

__all__ = ["chat"]

#: command -> what it does
COMMANDS = {"/help": "show these commands", "/new": "begin a new conversation", "/quit": "end (as Ctrl+D does)"}


def chat(
    provider: Provider = "offline",
    base_url: BaseUrl = None,
    skills: Skills = None,
    trust_skills: TrustSkills = False,
    bundled: Bundled = True,
    planner_mode: PlannerMode = "auto",
    profile: Profile = "legacy",
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="A persona for the conversation.")] = None,
) -> None:
    """Talk with an agent; each turn knows those before it.

    Ctrl+C stops an answer, a second one ends, as Ctrl+D does. Approvals are asked for in between. /help names the
    commands.

    \b
      agrun chat
      agrun chat -p openai:gpt-5-mini
      agrun chat < questions.txt

    \b
    Exit codes: 0 ended, 2 wrong command or config, 130 left with Ctrl+C.
    """
    from agrun_host.markdown_screen import MarkdownScreen

    screen = MarkdownScreen()
    try:
        offered = OfferedSkills(skills, trust_skills, bundled)
        config = config_of(screen, provider, base_url, offered, plannerMode=planner_mode, profile=profile)
        runtime = runtime_of(screen, config, None)
    except AgrunError as error:
        refuse(screen, error.message, error.hint)
    try:
        with telemetry(screen) as instrument:
            _converse(screen, instrument(runtime), {"system": system} if system else {})
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _converse(screen: MarkdownScreen, runtime: Runtime, more: dict[str, str]) -> None:
    """Raises KeyboardInterrupt for a second Ctrl+C, with nothing said in between."""
    from agrun_host.driving import turn_shown

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  earlier lines come back with the arrow keys
    session = runtime.session()
    if sys.stdin.isatty():
        provider = runtime.provider_config
        screen.note(f"{provider.name}{':' * bool(provider.model)}{provider.model}; /help names the commands")
    was_stopped = False
    with asyncio.Runner() as loop:
        try:
            while (said := _line(screen, leaves=was_stopped)) is not None:
                was_stopped = False
                if said == "/quit":
                    break
                if said == "/new":
                    session = runtime.session()
                    screen.note("a new conversation")
                elif said.startswith("/"):
                    _help(screen, said)
                elif said:
                    was_stopped = turn_shown(loop, runtime, session, {**more, "prompt": said}, screen)
        finally:
            screen.rest()
            loop.run(runtime.aclose())


def _line(screen: MarkdownScreen, *, leaves: bool) -> str | None:
    """What was typed; None at the end. Ctrl+C drops the line, a second one leaves (KeyboardInterrupt)."""
    while True:
        try:
            return screen.ask("> " if sys.stdin.isatty() else "", lambda said: said)
        except EOFError:
            return None
        except KeyboardInterrupt:
            if leaves:
                raise
            leaves = True
            screen.note("Ctrl+C again, or Ctrl+D, ends")


def _help(screen: MarkdownScreen, said: str) -> None:
    if said != "/help":
        screen.note(f"unknown command {said!r:.60}{did_you_mean(said, COMMANDS)}")
    for command, does in COMMANDS.items():
        screen.note(f"{command}  {does}")
