"""Effects: what a built-in action asks the runtime to change in the run's state. Actions never write state (2.4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agrun_wasm.contracts.workspace import VirtualWorkspace


@dataclass(frozen=True, slots=True)
class SearchDone:
    """A search's results, `[{title, url, snippet}]`; they become sources in state found and autoRead's candidates."""

    results: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class SourceRead:
    """A read_url_result, success or failure."""

    result: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SkillRead:
    name: str


@dataclass(frozen=True, slots=True)
class SkillActivated:
    name: str


@dataclass(frozen=True, slots=True)
class SkillHandoff:
    """`keep_last` maps actionHistory, toolHistory, readSources, searchResults to how many of the latest stay shown."""

    name: str
    context: str | None = None
    keep_last: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HandoffCycle:
    """The target already stands in the chain: the run halts (2.9)."""

    chain: list[str]


@dataclass(frozen=True, slots=True)
class WorkspaceChanged:
    workspace: VirtualWorkspace


@dataclass(frozen=True, slots=True)
class PatchPreviewed:
    """A preview's outcome, counted for narrowing (2.11)."""

    path: str
    blocked: bool


@dataclass(frozen=True, slots=True)
class WorkspaceGrown:
    """A growth action or a publication has run; narrowing ends."""

    path: str


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The run stops until the user answers."""

    question: str


@dataclass(frozen=True, slots=True)
class Published:
    """A workspace file is the answer; `limited` is the reason the model gave for publishing it unfinished."""

    text: str
    limited: str | None = None


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
