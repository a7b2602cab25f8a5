"""The commands that show a composition without asking a model: `describe`, `inspect-prompt` and `surface`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

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
from agrun_wasm import AgrunError, Runtime

__all__ = ["describe", "inspect_prompt", "surface"]

AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


def describe(
    provider: Provider = "offline",
    base_url: BaseUrl = None,
    skills: Skills = None,
    trust_skills: TrustSkills = False,
    bundled: Bundled = True,
    planner_mode: PlannerMode = "auto",
    profile: Profile = "legacy",
    as_json: AsJson = False,
) -> None:
    """Show what a runtime is made of: actions with their policy and origin, capabilities, skills, sections, sizes.

    No model is asked, and no key is needed.

    \b
      agrun describe
      agrun describe --profile minimal --skill skills/unit-convert --no-bundled
      agrun describe --json | jq .totals
    """
    runtime = _runtime(provider, base_url, skills, trust_skills, bundled, planner_mode, profile)
    described = runtime.describe_composition()
    if as_json:
        print(json.dumps(described, ensure_ascii=False, indent=2))
        return
    from agrun_host.tables import show_composition

    show_composition(described)


def inspect_prompt(
    prompt: Annotated[str, typer.Argument(help="What would be asked.", metavar="PROMPT")],
    provider: Provider = "offline",
    base_url: BaseUrl = None,
    skills: Skills = None,
    trust_skills: TrustSkills = False,
    bundled: Bundled = True,
    planner_mode: PlannerMode = "auto",
    profile: Profile = "legacy",
    full: Annotated[bool, typer.Option("--full", help="Print the system text, messages and tools whole.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the very first request of a run, from the loop's own builder: its parts, where they come from, their sizes.

    No model is asked, and no key is needed.

    \b
      agrun inspect-prompt "26.2 miles in km?"
      agrun inspect-prompt "hi" --planner-mode envelope --full
      agrun inspect-prompt "hi" --json > request.json
    """
    runtime = _runtime(provider, base_url, skills, trust_skills, bundled, planner_mode, profile)
    inspected = runtime.inspect_prompt(prompt)
    if as_json:
        print(json.dumps(inspected, ensure_ascii=False, indent=2))
        return
    from agrun_host.tables import show_request

    origins = {action["name"]: action["origin"] for action in runtime.describe_composition()["actions"]}
    show_request(inspected, origins, full=full)


def surface(as_json: AsJson = False) -> None:
    """Print every static definition as Markdown: actions, decision tools, capabilities, prompt sections.

    \b
      agrun surface > surface.md
      agrun surface --json
    """
    from agrun_host.surface import surface_markdown

    index = Runtime(provider="offline").surface_index()
    print(json.dumps(index, ensure_ascii=False, indent=2) if as_json else surface_markdown(index), end="")


def _runtime(
    provider: str,
    base_url: str | None,
    skills: list[Path] | None,
    trust_skills: bool,
    bundled: bool,
    planner_mode: str,
    profile: str,
) -> Runtime:
    from agrun_host.terminal import Screen

    screen = Screen()
    try:
        offered = OfferedSkills(skills, trust_skills, bundled)
        config = config_of(screen, provider, base_url, offered, plannerMode=planner_mode, profile=profile)
        return Runtime(config)
    except AgrunError as error:
        refuse(screen, error.message, error.hint)
