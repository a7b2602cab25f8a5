"""Arguments out of a request by a tool's JSON Schema, for the offline planner.

What a parameter takes is read from its type, enum, examples, name and description; the rules are the same for every
tool. Must not know which tool is filled, and never invents a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agrun_wasm.providers.offline_request import Asked, Phrase, numbers_in
from agrun_wasm.providers.offline_words import PREPOSITIONS, Token, similarity, stem, stems_of, tokens_of, word_set

#: parameter names that take the text a request is about, and those that take its subject
TEXT_NAMES = word_set("text content body message input paragraph sentence document string")
QUERY_NAMES = word_set("query question search topic keywords q term subject")
URL_NAMES = word_set("url uri link href")
#: what stands before a word that fills a parameter of that name
_LEADS: dict[str, frozenset[str]] = {
    "to": frozenset({"to", "into", "in", "as"}),
    "target": frozenset({"to", "into", "in", "as"}),
    "from": frozenset({"from"}),
    "source": frozenset({"from"}),
    **dict.fromkeys(
        ("city", "place", "port", "location", "country", "timezone", "region", "station", "town", "address"),
        frozenset({"in", "at", "for", "of", "from", "to"}),
    ),
    **dict.fromkeys(("date", "day", "time"), frozenset({"on", "at"})),
}
#: least score of a phrase for a parameter; a lone phrase for a lone parameter needs none
_ENOUGH = 2.0


@dataclass
class Filled:
    """What was found. `evidence` says how sure that is, `missing` names required parameters without a value."""

    args: dict[str, Any] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    evidence: float = 0.0
    #: where the numbers begin that were taken
    taken: set[int] = field(default_factory=set)


def fill(parameters: Mapping[str, Any], asked: Asked, used: frozenset[str]) -> Filled:
    """Arguments for `parameters`; `used` are the stems that chose the tool, so they are no values."""
    properties: dict[str, Mapping[str, Any]] = {
        name: part for name, part in (parameters.get("properties") or {}).items() if isinstance(part, Mapping)
    }
    required = [name for name in parameters.get("required") or [] if name in properties]
    filled = Filled()
    _from_answers(properties, asked, filled)
    _choices(properties, asked, filled)
    _numbers(properties, required, asked, filled)
    _texts(properties, required, asked, filled)
    _phrases(properties, required, asked, used, filled)
    filled.missing = [name for name in required if name not in filled.args]
    return filled


def kind_of(part: Mapping[str, Any]) -> str:
    kinds = part.get("type")
    if isinstance(kinds, list):
        kinds = next((kind for kind in kinds if kind != "null"), None)
    return str(kinds or "string")


def _open(properties: Mapping[str, Mapping[str, Any]], filled: Filled, *kinds: str) -> list[str]:
    return [name for name, part in properties.items() if name not in filled.args and kind_of(part) in kinds]


def _put(filled: Filled, name: str, value: Any, evidence: float) -> None:
    filled.args[name] = value
    filled.evidence += evidence


def _from_answers(properties: Mapping[str, Mapping[str, Any]], asked: Asked, filled: Filled) -> None:
    """What the person said when asked for a parameter by name."""
    for name, answer in asked.known.items():
        part = properties.get(name)
        if part is None:
            continue
        tokens = tokens_of(answer)
        if kind_of(part) in ("number", "integer"):
            numbers = [token for token in tokens if token.kind == "number"]
            if numbers:
                _put(filled, name, numbers[0].value, 1)
        elif is_text(name, part):
            _put(filled, name, tokens[0].text if len(tokens) == 1 and tokens[0].kind == "quoted" else answer, 1)
        else:
            while tokens and (tokens[0].folded in PREPOSITIONS or tokens[0].kind == "mark"):
                tokens.pop(0)
            if tokens:
                _put(filled, name, answer[tokens[0].start :].strip().strip(".!?\"'“”"), 1)


def _choices(properties: Mapping[str, Mapping[str, Any]], asked: Asked, filled: Filled) -> None:
    """Values of an enum that the request names, and truths whose whole name it says."""
    wanted = set(asked.wanted)
    for name, part in properties.items():
        if name in filled.args:
            continue
        for value in part.get("enum") or []:
            parts = stems_of(str(value)) or {stem(str(value))}
            if all(any(similarity(stem_, word) for word in wanted) for stem_ in parts):
                _put(filled, name, value, 1)
                break
        if kind_of(part) == "boolean" and stems_of(name) and stems_of(name) <= wanted:
            _put(filled, name, True, 0.5)


def _numbers(properties: Mapping[str, Mapping[str, Any]], required: list[str], asked: Asked, filled: Filled) -> None:
    about_text = any(is_text(name, part) for name, part in properties.items())
    tokens = tokens_of(asked.instruction) if about_text else asked.tokens
    left = numbers_in(tokens)
    for name in _open(properties, filled, "number", "integer"):  # "2 decimals", "limit 5"
        _take_beside(name, stems_of(name), 1, left, tokens, filled)
    for name in _open(properties, filled, "number", "integer"):
        fitting = [t for t in left if kind_of(properties[name]) == "number" or isinstance(t.value, int)]
        if name in required and fitting:
            _put(filled, name, fitting[0].value, 0.5)
            filled.taken.add(fitting[0].start)
            left.remove(fitting[0])
    for name in _open(properties, filled, "number", "integer"):  # "the 3 most frequent words"
        _take_beside(name, stems_of(str(properties[name].get("description", ""))), 3, left, tokens, filled)
    for name in _open(properties, filled, "array"):
        items = properties[name].get("items")
        if name in required and left and isinstance(items, Mapping) and kind_of(items) in ("number", "integer"):
            _put(filled, name, [token.value for token in left], 0.5)
            left.clear()


def _take_beside(
    name: str, stems: set[str], reach: int, left: list[Token], tokens: list[Token], filled: Filled
) -> None:
    """The first number with one of the stems right before it or within `reach` words after it."""
    for token in left:
        at = next(n for n, other in enumerate(tokens) if other.start == token.start)
        beside = (*tokens[max(0, at - 1) : at], *tokens[at + 1 : at + 1 + reach])
        if stems & {stem(other.text) for other in beside if other.kind == "word"}:
            _put(filled, name, token.value, 0.5)
            left.remove(token)
            return


def is_text(name: str, part: Mapping[str, Any]) -> bool:
    """Does the parameter take the text that a request is about?"""
    return kind_of(part) == "string" and not part.get("enum") and bool(set(name.lower().split("_")) & TEXT_NAMES)


def _texts(properties: Mapping[str, Mapping[str, Any]], required: list[str], asked: Asked, filled: Filled) -> None:
    """URLs, the text that the request is about, and its subject; a list of texts is the payload at its commas."""
    for name in _open(properties, filled, "string"):
        parts = set(name.lower().split("_"))
        if parts & URL_NAMES or properties[name].get("format") in ("uri", "url"):
            if asked.urls:
                _put(filled, name, asked.urls[0], 1)
        elif is_text(name, properties[name]):
            if text := asked.free_text():
                _put(filled, name, text, 0.7 if asked.payload else 0.2)
        elif parts & QUERY_NAMES and (subject := asked.subject()):
            _put(filled, name, subject, 0.3)
    for name in _open(properties, filled, "array"):
        if name in required and asked.payload:
            _put(filled, name, [piece.strip() for piece in asked.payload.split(",") if piece.strip()], 0.5)


def _phrases(
    properties: Mapping[str, Mapping[str, Any]],
    required: list[str],
    asked: Asked,
    used: frozenset[str],
    filled: Filled,
) -> None:
    """Phrases of the request for what is left: the surest pair of phrase and parameter first."""
    slots = [
        name
        for name in _open(properties, filled, "string")
        if not properties[name].get("enum") and not is_text(name, properties[name]) and not _takes_url(name, properties)
    ]
    phrases = asked.phrases(used)
    examples = {stem(str(e)) for name in slots for e in properties[name].get("examples") or []}
    numeric = set().union(*(stems_of(n) for n, p in properties.items() if kind_of(p) in ("number", "integer")))
    open_slots = [name for name in slots if name in required]
    scored = sorted(
        (-_score(name, properties[name], phrase, examples, numeric, filled.taken), at, n)
        for n, phrase in enumerate(phrases)
        for at, name in enumerate(open_slots)
    )
    left = list(phrases)
    for score, at, n in scored:
        name, phrase = open_slots[at], phrases[n]
        if -score >= _ENOUGH and name not in filled.args and phrase in left:
            _put(filled, name, phrase.text, 1)
            left.remove(phrase)
    if len(open_slots) == 1 and open_slots[0] not in filled.args and len(left) == 1:
        _put(filled, open_slots[0], left[0].text, 0.2)


def _takes_url(name: str, properties: Mapping[str, Mapping[str, Any]]) -> bool:
    return bool(set(name.lower().split("_")) & URL_NAMES) or properties[name].get("format") in ("uri", "url")


def _score(
    name: str, part: Mapping[str, Any], phrase: Phrase, examples: set[str], numeric: set[str], taken: set[int]
) -> float:
    """How well a phrase fits a parameter: its looks, what stands before it, what the parameter says of itself."""
    words = set(name.lower().split("_"))
    leads = frozenset().union(*(_LEADS[word] for word in words if word in _LEADS))
    of_number = bool(stems_of(str(part.get("description", ""))) & numeric) or bool(words & {"from", "source"})
    score = 1.0 + (1.0 if phrase.is_name else 0.0)
    if any(similarity(stem(phrase.text), example) for example in examples):
        score += 1.5
    if phrase.number_at is not None:
        score += 3.0 if of_number and phrase.number_at in taken else -2.0
    if phrase.preposition in leads:
        score += 3.0
    if phrase.asked_for:
        score += -1.0 if of_number else 2.0
    return score
