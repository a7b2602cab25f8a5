"""Effects: what a built-in action asks the runtime to change in the run's state. Actions never write state (2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from agrun_wasm.contracts.workspace import VirtualWorkspace


class SearchDone(NamedTuple):
    """A search's results, `[{title, url, snippet}]`; they become sources in state found and autoRead's candidates."""

    results: list[dict[str, Any]]


class SourceRead(NamedTuple):
    """A read_url_result, success or failure."""

    result: dict[str, Any]


class SkillRead(NamedTuple):
    name: str


class SkillActivated(NamedTuple):
    name: str


class SkillHandoff(NamedTuple):
    """`keep_last` maps actionHistory, toolHistory, readSources, searchResults to how many of the latest stay shown."""

    name: str
    context: str | None = None
    keep_last: Mapping[str, int] = MappingProxyType({})


class HandoffCycle(NamedTuple):
    """The target already stands in the chain: the run halts (2.9)."""

    chain: list[str]


class WorkspaceChanged(NamedTuple):
    workspace: VirtualWorkspace


class PatchPreviewed(NamedTuple):
    """A preview's outcome, counted for narrowing (2.11)."""

    path: str
    blocked: bool


class WorkspaceGrown(NamedTuple):
    """A growth action or a publication has run; narrowing ends."""

    path: str


class QuestionAsked(NamedTuple):
    """The run stops until the user answers."""

    question: str


class Published(NamedTuple):
    """A workspace file is the answer; `limited` is the reason the model gave for publishing it unfinished."""

    text: str
    limited: str | None = None


#: effects of actions that reach out of the run; they alone are recorded with their call (Journal), the others are made
#: again from the same state
_RECORDED: dict[str, type[SearchDone | SourceRead]] = {"SearchDone": SearchDone, "SourceRead": SourceRead}


def effects_to_json(effects: tuple[EffectOnState, ...]) -> list[dict[str, Any]]:
    return [{"type": type(effect).__name__, **effect._asdict()} for effect in effects]


def effects_from_json(saved: list[dict[str, Any]]) -> tuple[EffectOnState, ...]:
    """Raises KeyError or TypeError for what is no recorded effect."""
    return tuple(_RECORDED[entry["type"]](**{k: v for k, v in entry.items() if k != "type"}) for entry in saved)


EffectOnState = (
    SearchDone
    | SourceRead
    | SkillRead
    | SkillActivated
    | SkillHandoff
    | HandoffCycle
    | WorkspaceChanged
    | PatchPreviewed
    | WorkspaceGrown
    | QuestionAsked
    | Published
)
