"""Words for the offline planner: tokens of a request, stems, and how much a request and a description share.

Owns plain string work, the same for every skill. Must not know: what a tool is, and what a model request is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

_TOKEN = re.compile(
    r"""
    (?P<url>https?://[^\s<>"')\]]+)
  | (?P<quoted>"[^"\n]+"|“[^”]+”|«[^»]+»|(?<!\w)'[^'\n]+'(?!\w)|`[^`\n]+`)
  | (?P<number>(?<![\w.])[-−+]?(?:\d+/\d+(?!\w)|(?:\d{1,3}(?:[,\u202f]\d{3})+(?!\d)|\d+)(?:[.,]\d+)?(?:[eE][-+]?\d+)?))
  | (?P<word>[^\W\d_°℃℉µ½′″][^\s,;:!?()\[\]{}"“”«»`=]*|[°℃℉µ′″][^\s,;:!?()\[\]{}"“”=]*)
  | (?P<mark>[^\s])
    """,
    re.VERBOSE,
)


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NUMBER_WORDS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)

PREPOSITIONS = word_set("to into in as from at on of for by with about between")
_FUNCTION_WORDS = word_set(
    """a an and are be been but can could did do does has have he her his i if is it its let me my no not or our she so
    than that the their them then there these they this those us was we were what what's when where which who whom
    whose why will with would you your yours equal equals"""
)
_REQUEST_WORDS = word_set(
    """please tell show give get want need know help make use using someone something asks ask say many much how hi
    hello hey thanks thank good morning evening"""
)
STOP_WORDS = PREPOSITIONS | _FUNCTION_WORDS | _REQUEST_WORDS

#: what questions ask for without saying it
_QUESTION_FORMS = {
    "how many": ("count", "number"),
    "how much": ("amount", "count"),
    "how long": ("time", "duration", "length"),
    "how often": ("frequent", "count"),
    "how far": ("distance", "length"),
}


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a request. `text` of a quoted one is without its quotation marks; `value` that of a number."""

    kind: Literal["url", "quoted", "number", "word", "mark"]
    text: str
    start: int
    end: int
    value: float | int | None = None

    @property
    def folded(self) -> str:
        return self.text.casefold()


def tokens_of(text: str) -> list[Token]:
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind, piece = str(match.lastgroup), match[0]
        if kind == "quoted":
            found.append(Token("quoted", piece[1:-1], match.start(), match.end()))
        elif kind == "number":
            found.append(Token("number", piece, match.start(), match.end(), _number(piece)))
        elif kind == "word":
            word = piece.rstrip(".'’")
            value = _NUMBER_WORDS.index(word.casefold()) if word.casefold() in _NUMBER_WORDS else None
            token_kind: Literal["number", "word"] = "word" if value is None else "number"
            found.append(Token(token_kind, word or piece, match.start(), match.start() + len(word or piece), value))
            if piece != word and word:
                found.append(Token("mark", piece[len(word) :], match.start() + len(word), match.end()))
        elif kind == "url":
            found.append(Token("url", piece.rstrip(".,;:?!"), match.start(), match.end()))
        else:
            found.append(Token("mark", piece, match.start(), match.end()))
    return found


def _number(text: str) -> float | int:
    plain = text.replace("−", "-").replace("\u202f", "")
    if "/" in plain:
        above, below = plain.split("/")
        return int(above) / int(below) if int(below) else int(above)
    if re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?([eE][-+]?\d+)?", plain):
        plain = plain.replace(",", "")
    value = float(plain.replace(",", "."))
    return int(value) if value.is_integer() and "e" not in plain.lower() and abs(value) < 2**53 else value


def stem(word: str) -> str:
    """A rough English stem: plurals, -ing, -ed and a last e go."""
    text = re.sub(r"['’]s?$", "", word.casefold())
    if text.endswith("ies") and len(text) > 4:
        text = text[:-3] + "y"
    elif text.endswith(("sses", "xes", "ches", "shes")):
        text = text[:-2]
    elif text.endswith("s") and not text.endswith(("ss", "us", "is")) and len(text) > 3:
        text = text[:-1]
    for ending, shortest in (("ing", 6), ("ed", 5)):
        if text.endswith(ending) and len(text) >= shortest:
            text = text[: -len(ending)]
            break
    return text[:-1] if text.endswith("e") and len(text) > 3 else text


def similarity(one: str, other: str) -> float:
    """1 for equal stems, 0.8 for long ones that differ at the end only (kilometre and kilometer), else 0."""
    if one == other:
        return 1.0
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    return 0.8 if shared >= 6 and shared >= 0.7 * max(len(one), len(other)) else 0.0


def stems_of(text: str) -> set[str]:
    """Stems of the content words of a text; names in snake_case and camelCase come apart."""
    spread = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).replace("_", " ").replace("-", " ")
    words = re.findall(r"[^\W\d_]+(?:/[^\W\d_]+)?", spread)
    return {stem(word) for word in words if word.casefold() not in STOP_WORDS and len(word) > 1}


def wanted_stems(text: str) -> dict[str, float]:
    """The content words of a request as stems with their weight; what its question form implies counts half."""
    wanted: dict[str, float] = dict.fromkeys(stems_of(text), 1.0)
    folded = " ".join(text.casefold().split())
    for form, implied in _QUESTION_FORMS.items():
        if re.search(rf"\b{form}\b", folded):
            for word in implied:
                wanted.setdefault(stem(word), 0.5)
    return wanted


def best_match(wanted: str, stems: Iterable[str]) -> float:
    return max((similarity(wanted, known) for known in stems), default=0.0)
