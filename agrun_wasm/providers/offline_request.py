"""What a person asks, taken apart for the offline planner: the instruction, the text it is about, numbers, phrases.

The same cuts for every tool; must not know any of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property

from agrun_wasm.providers.offline_words import PREPOSITIONS, STOP_WORDS, Token, stem, tokens_of, wanted_stems, word_set

_QUESTION_START = re.compile(r"\s*(how|what|which|who|when|where|why|is|are|does|do|can|could)\b", re.IGNORECASE)
_COLON = re.compile(r":(?!//)(?:\s+|$)")
_ABOUT = re.compile(r"\b(?:in|of|for)\s+(?=\S)", re.IGNORECASE)
_POINTERS = word_set("this that it these those text sentence paragraph following here a an the")


@dataclass(frozen=True, slots=True)
class Phrase:
    """Content words that stand together, and what stands before them."""

    text: str
    start: int
    #: where the number begins that stands right before it
    number_at: int | None = None
    preposition: str | None = None
    asked_for: bool = False

    @property
    def is_name(self) -> bool:
        """Written with a capital, and not only because a sentence starts there."""
        return self.start > 0 and self.text[:1].isupper()


@dataclass(frozen=True)
class Asked:
    """A request. `instruction` is all of it but the payload, the text that it is about ("" where none is set apart)."""

    prompt: str
    instruction: str
    payload: str
    #: arguments already known by name, from an answer to a question
    known: dict[str, str] = field(default_factory=dict)

    @cached_property
    def wanted(self) -> dict[str, float]:
        return wanted_stems(self.instruction) or wanted_stems(self.prompt)

    @cached_property
    def tokens(self) -> list[Token]:
        return tokens_of(self.prompt)

    @cached_property
    def numbers(self) -> list[Token]:
        return numbers_in(self.tokens)

    @cached_property
    def urls(self) -> list[str]:
        return [token.text for token in self.tokens if token.kind == "url"]

    def phrases(self, used: frozenset[str]) -> list[Phrase]:
        """Phrases that may be values; words whose stem is in `used` chose the tool and part them."""
        return _phrases(self.tokens, used)

    def free_text(self) -> str:
        """The text that the request is about: the payload, else what follows the first `in`, `of` or `for`."""
        if self.payload:
            return self.payload
        cuts = list(_ABOUT.finditer(self.prompt))
        rest = self.prompt[cuts[0].end() :].strip() if cuts else ""
        words = [word.strip("?.!,").casefold() for word in rest.split()]
        if len(words) < 2 or all(word in _POINTERS or word in STOP_WORDS for word in words):
            return ""
        return rest.rstrip("?")

    def subject(self) -> str:
        """The request without the words that only ask, for queries."""
        if self.payload:
            return self.payload
        words = [token for token in self.tokens if token.kind != "mark"]
        while words and words[0].folded in STOP_WORDS:
            words.pop(0)
        return self.prompt[words[0].start :].strip().rstrip("?!. ") if words else ""


def read_request(prompt: str, known: dict[str, str] | None = None) -> Asked:
    instruction, payload = _cut(prompt)
    return Asked(prompt, instruction, payload, known or {})


def numbers_in(tokens: list[Token]) -> list[Token]:
    """The numbers; where there is none, `how many ... in a day` means one day."""
    numbers = [token for token in tokens if token.kind == "number"]
    words = [token.folded for token in tokens]
    if numbers or words[:2] not in (["how", "many"], ["how", "much"]):
        return numbers
    return [replace(token, kind="number", value=1) for token in tokens[2:] if token.folded in ("a", "an")][:1]


def _cut(prompt: str) -> tuple[str, str]:
    """Instruction and payload: a quoted text, what follows a colon, or what follows the first line."""
    quoted = [token for token in tokens_of(prompt) if token.kind == "quoted"]
    if quoted:
        longest = max(quoted, key=lambda token: len(token.text))
        return f"{prompt[: longest.start]} {prompt[longest.end :]}".strip(), longest.text
    for border in (_COLON.search(prompt), re.search(r"\n\s*", prompt)):
        if border and prompt[: border.start()].strip() and prompt[border.end() :].strip():
            before, after = prompt[: border.start()], prompt[border.end() :].strip()
            if _QUESTION_START.match(before) and after.endswith("?") and not re.search(r"[.!?]\s", after):
                after = after[:-1].rstrip()  # the question's own mark, not the text's
            return before.strip(), after
    return prompt.strip(), ""


def _phrases(tokens: list[Token], used: frozenset[str]) -> list[Phrase]:
    phrases: list[Phrase] = []
    starts = {token.start for token in numbers_in(tokens)}
    at = 0
    while at < len(tokens):
        number_at = tokens[at - 1].start if at > 0 and tokens[at - 1].start in starts else None
        run = _run_at(tokens, at, used, after_number=number_at is not None)
        if not run:
            at += 1
            continue
        earlier = [token.folded for token in tokens[max(0, at - 2) : at]]
        phrases.append(
            Phrase(
                text=_joined(run),
                start=run[0].start,
                number_at=number_at,
                preposition=_preposition(tokens, at),
                asked_for=earlier in (["how", "many"], ["how", "much"]) or earlier[-1:] == ["which"],
            )
        )
        at += len(run)
    return phrases


def _run_at(tokens: list[Token], at: int, used: frozenset[str], *, after_number: bool) -> list[Token]:
    """Words that belong together from `at` on: up to a mark, a number, or a word that is no part of a value."""
    run: list[Token] = []
    for place in range(at, len(tokens)):
        token = tokens[place]
        following = tokens[place + 1].folded if place + 1 < len(tokens) else ""
        if token.kind != "word":
            break
        if token.folded in STOP_WORDS and not (after_number and not run and following in PREPOSITIONS):
            break  # "5 in to cm": a word right after a number and before a preposition is its unit
        if stem(token.text) in used:
            break
        run.append(token)
        if run[-1].folded in STOP_WORDS:
            break
    return run


def _joined(run: list[Token]) -> str:
    return " ".join(token.text for token in run)


def _preposition(tokens: list[Token], at: int) -> str | None:
    """The preposition before the phrase, articles and `how many` left aside."""
    place = at - 1
    while place >= 0 and tokens[place].folded in {"the", "a", "an", "how", "many", "degrees", "degree", "my", "our"}:
        place -= 1
    if place < 0:
        return None
    token = tokens[place]
    if token.text in {"→", "=", ">"}:
        return "to"
    return token.folded if token.folded in PREPOSITIONS else None
