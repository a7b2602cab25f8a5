"""The offline planner's choice: which tool, action or unread skill fits a request best, and how well.

Scores shared words, rarer ones more, and the arguments that a request would fill. Must not know any tool by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agrun_wasm.providers.offline_fill import Filled, fill
from agrun_wasm.providers.offline_request import Asked
from agrun_wasm.providers.offline_view import Tool
from agrun_wasm.providers.offline_words import best_match, stems_of

#: what a shared word is worth by where it stands
_NAME, _DESCRIPTION, _PARAMETER, _VALUE = 2.0, 1.0, 0.5, 1.5
#: least score of a tool that is called
ENOUGH = 1.2
#: least match of a tool whose missing argument is asked for, and of its skill: a word that no other skill shares
WORTH_ASKING, WORTH_ASKING_OF_SKILL = 1.5, 1.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tool with the arguments found for it. `match` counts words only, `score` arguments too.

    `named`: the request shares a word with its name or description, not only with what its parameters may hold.
    """

    tool: Tool
    filled: Filled
    match: float
    score: float
    named: bool

    @property
    def is_ready(self) -> bool:
        """Sure enough to be called: nothing is missing, and either it is meant by name or it takes what was given."""
        given = len(self.filled.args)
        return self.score >= ENOUGH and not self.filled.missing and (self.named or given > 1)


Fields = list[tuple[float, set[str]]]


def match_words(asked: Asked, candidates: Mapping[str, Fields]) -> dict[str, float]:
    """Candidate -> worth of the words it shares with the request; a word that many share is worth less.

    What a question form only implies adds to words that were said, and is worth nothing alone.
    """
    scores, said = dict.fromkeys(candidates, 0.0), set[str]()
    for word, weight in asked.wanted.items():
        hits = {
            name: max((worth * best_match(word, stems) for worth, stems in fields), default=0.0)
            for name, fields in candidates.items()
        }
        sharing = sum(hit > 0 for hit in hits.values())
        for name, hit in hits.items():
            if hit:
                scores[name] += weight * hit / sharing**0.5
                said |= {name} if weight == 1 else set()
    return {name: score if name in said else 0.0 for name, score in scores.items()}


def skill_scores(asked: Asked, skills: Mapping[str, str]) -> dict[str, float]:
    return match_words(
        asked, {name: [(_NAME, stems_of(name)), (_DESCRIPTION, stems_of(text))] for name, text in skills.items()}
    )


def rank_tools(asked: Asked, tools: list[Tool], skills: Mapping[str, float]) -> list[Candidate]:
    """The tools, best first. A tool's skill counts a little, a missing argument against it."""
    words = match_words(asked, {str(n): _fields(tool) for n, tool in enumerate(tools)})
    ranked: list[Candidate] = []
    for n, tool in enumerate(tools):
        used = frozenset(stems_of(tool.name) | stems_of(tool.skill or ""))
        filled = fill(tool.parameters, asked, used)
        match = words[str(n)] + 0.25 * skills.get(tool.skill or "", 0.0)
        told = stems_of(tool.name) | stems_of(tool.description)
        named = any(weight == 1 and best_match(word, told) for word, weight in asked.wanted.items())
        ranked.append(Candidate(tool, filled, match, match + filled.evidence - len(filled.missing), named))
    return sorted(ranked, key=lambda candidate: -candidate.score)


def _fields(tool: Tool) -> Fields:
    properties: dict[str, Any] = tool.parameters.get("properties") or {}
    parts = [part for part in properties.values() if isinstance(part, Mapping)]
    values = [str(v) for part in parts for v in (*(part.get("enum") or []), *(part.get("examples") or []))]
    told = " ".join([*properties, *(str(part.get("description", "")) for part in parts)])
    return [
        (_NAME, stems_of(tool.name)),
        (_DESCRIPTION, stems_of(tool.description)),
        (_PARAMETER, stems_of(told)),
        (_VALUE, {found for value in values for found in stems_of(value)}),
    ]
