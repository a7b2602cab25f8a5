"""Options that several commands share, and the config that they make. What is wrong with them ends the command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

import typer

from agrun_wasm import RuntimeConfig, Skill
from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.naming import did_you_mean

if TYPE_CHECKING:  # what a command needs is imported when it runs: help comes at once
    from agrun_host.terminal import Screen

#: the providers that a command line can name: the others are made of Python objects or live in a page
PROVIDERS = ("offline", "openai", "openai-responses", "anthropic", "gemini", "openai-compatible")

Provider = Annotated[
    str, typer.Option("--provider", "-p", metavar="NAME:MODEL", help="Who answers; `agrun run --help` has examples.")
]
BaseUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="Where the provider's API is, if not at its usual place.")
]
Skills = Annotated[
    list[Path] | None,
    typer.Option("--skill", metavar="DIR", help="A skill folder, or a folder of them; repeatable."),
]
TrustSkills = Annotated[bool, typer.Option("--trust-skills", help="Let tools.py of these skills run.")]
Bundled = Annotated[bool, typer.Option("--bundled/--no-bundled", help="Offer the skills that come with agrun.")]
PlannerMode = Annotated[
    str, typer.Option(metavar="MODE", help="auto, native_tools or envelope (for models without tool calls).")
]
Profile = Annotated[str, typer.Option(metavar="NAME", help="legacy (everything) or minimal (skills and own actions).")]

DATABASE_VARIABLE = "AGRUN_DATABASE"
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        help=f"Where runs are kept: sqlite:///FILE or postgresql://...; one with a password stands in "
        f"{DATABASE_VARIABLE}. Without: a file in your data folder.",
    ),
]


def database_url(given: str | None) -> str | None:
    """The URL of --database, else of the environment; None is the file in the data folder."""
    return given or os.environ.get(DATABASE_VARIABLE)


class OfferedSkills(NamedTuple):
    """What the options say of skills: folders to load, whether their tools.py may run, and the bundled ones."""

    paths: list[Path] | None
    trust: bool
    bundled: bool


def config_of(
    screen: Screen, provider: str, base_url: str | None, offered: OfferedSkills, **keys: Any
) -> RuntimeConfig:
    """The config that the options make, skills included; `keys` are its other keys, as document 2 names them.

    Raises CONFIG_INVALID and what a skill raises, and ends the command for a provider that it cannot name.
    """
    from agrun_wasm.runtime.host_input import read_config

    config = read_config(None, {"provider": provider, **keys})
    if base_url is not None:
        placed = config.provider_config().model_copy(update={"base_url": base_url})
        config = config.model_copy(update={"provider": placed})
    _check_provider(screen, config.provider_config())
    return config.model_copy(update={"skills": _skills_of(screen, offered)})


def _check_provider(screen: Screen, provider: ProviderConfig) -> None:
    name = provider.name
    if name not in PROVIDERS:
        hint = f"Known here are {', '.join(PROVIDERS)}; `agrun run --help` shows an example of each."
        refuse(screen, f"unknown provider {name!r}{did_you_mean(name, PROVIDERS)}", hint)
    if name == "openai-compatible" and not provider.base_url:
        refuse(screen, f"provider {name!r} needs --base-url", "For example --base-url http://127.0.0.1:11434/v1")


def _skills_of(screen: Screen, offered: OfferedSkills) -> list[Skill]:
    """The skills to offer, those that were asked for before bundled ones of their name; their faults are told."""
    from agrun_host.skills import bundled_skills, load_skills

    asked = [skill for path in offered.paths or [] for skill in load_skills(path, trust=offered.trust)]
    for skill in asked:
        for found in skill.diagnostics:
            screen.note(f"skill {skill.name}: {found['message']}")
        if skill.has_tools_file and not skill.trusted:
            screen.note(f"skill {skill.name}: its tools.py is not run; --trust-skills lets it")
    names = {skill.name for skill in asked}
    return [*(skill for skill in (bundled_skills() if offered.bundled else []) if skill.name not in names), *asked]


def refuse(screen: Screen, problem: str, hint: str = "") -> NoReturn:
    """Ends the command as a wrong one."""
    screen.problem(problem, hint)
    raise typer.Exit(2)
