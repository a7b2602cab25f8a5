"""Helpers of a researcher that need no judgement: one table of the sources, and quotes held against a page's text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any, NamedTuple

from agrun_wasm import skill_tool
from agrun_wasm.text.urls import canonical_url, is_http_url

#: columns that a table has only where some source fills them
OPTIONAL_COLUMNS = ("date", "note")
#: what is the same in a quote and in a page: NFKD leaves these apart
SIGNS = {
    **dict.fromkeys('"´‘’‚‛“”„‟′″‹›«»「」『』〝〞〟', "'"),
    **dict.fromkeys("‐‑‒–—―−⸺⸻", "-"),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
}
#: marks of Markdown that are no part of what a page says; a pattern, and what is kept of it
MARKUP = (
    re.compile(r"^[ \t]*(?:(?:>|[-*+]|#{1,6}|\d{1,3}[.)])[ \t]+)+", re.MULTILINE),
    re.compile(r"!?\[(?P<kept>(?:\\.|[^\[\]\\])*)\]\((?:[^()\s]|\([^()\s]*\))*(?:[ \t]+\"[^\"\n]*\")?\)"),
    re.compile(r"\\(?P<kept>[!-/:-@\[-`{-~])"),
    re.compile(r"\[\^?\d{1,3}\]"),
    re.compile(r"[*_~`|\[\]]+"),
)
GAP = re.compile(r"\[\s*(?:\.{3}|…)\s*\]|\(\s*(?:\.{3}|…)\s*\)|\.{3,}|…")
OUTER_MARKS = "'.,;:!? "
APOSTROPHES = "'’ʼ"
#: below this share of words a passage is no likeness of the quote
LEAST_LIKENESS = 0.5
MOST_DIFFERENCES = 6
AROUND = 60
MOST_SHOWN = 400


class Plain(NamedTuple):
    """A text without what does not count, and for each of its characters the offset where it came from."""

    text: str
    offsets: list[int]


def plain(text: str, *, fold: bool = False) -> Plain:
    """White space only between two word characters, one spelling of quotation marks and dashes, no Markdown marks."""
    characters, offsets = list[str](), list[int]()
    gap = False
    for offset, char in visible(text):
        for piece in form_of(char, fold=fold):
            if piece.isspace():
                gap = True
                continue
            if gap and characters and is_word(characters[-1]) and is_word(piece):
                characters.append(" ")
                offsets.append(offset)
            gap = False
            characters.append(piece)
            offsets.append(offset)
    return Plain("".join(characters), offsets)


def visible(text: str) -> list[tuple[int, str]]:
    """The characters with their offsets, those of Markdown marks left out."""
    shown = [(offset, char) for offset, char in enumerate(text)]
    for pattern in MARKUP:
        shown = without(shown, pattern)
    return shown


def without(shown: list[tuple[int, str]], pattern: re.Pattern[str]) -> list[tuple[int, str]]:
    text = "".join(char for _, char in shown)
    left: list[tuple[int, str]] = []
    at = 0
    for match in pattern.finditer(text):
        left += shown[at : match.start()]
        if "kept" in pattern.groupindex:
            left += shown[match.start("kept") : match.end("kept")]
        at = match.end()
    return left + shown[at:]


def form_of(char: str, *, fold: bool) -> str:
    form = SIGNS.get(char)
    if form is None:
        form = "".join(SIGNS.get(part, part) for part in unicodedata.normalize("NFKD", char))
    return form.casefold() if fold else form


def is_word(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNM" and not is_unspaced(char)


def is_unspaced(char: str) -> bool:
    """Is it of a script that is written without blanks between words?"""
    return "\u2e80" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff" or char >= "\U00020000"


def find_all(needle: str, hay: str) -> list[int]:
    """Where `needle` stands in `hay` as whole words."""
    found: list[int] = []
    at = hay.find(needle)
    while needle and at >= 0:
        end = at + len(needle)
        inside = (at > 0 and is_word(hay[at - 1]) and is_word(needle[0])) or (
            end < len(hay) and is_word(hay[end]) and is_word(needle[-1])
        )
        if not inside:
            found.append(at)
        at = hay.find(needle, at + 1)
    return found


class Spot(NamedTuple):
    """Where a quote stands: offsets in the page's text, how often it does, and whether it leaves out words there."""

    start: int
    end: int
    times: int
    omits: bool = False


def locate(quote: str, page: Plain, *, fold: bool) -> Spot | None:
    """The first place of a quote; its parts between marks of omission must follow each other."""
    whole = plain(quote, fold=fold).text
    for needle in dict.fromkeys([whole, whole.strip(OUTER_MARKS)]):
        if found := find_all(needle, page.text):
            return spot(page, found[0], found[0] + len(needle), len(found))
    parts = parts_of(quote)
    return in_order([plain(part, fold=fold).text.strip(OUTER_MARKS) for part in parts], page) if parts else None


def parts_of(quote: str) -> list[str]:
    """What stands round the marks of omission; empty without such a mark."""
    parts = [part for part in GAP.split(quote) if plain(part).text.strip(OUTER_MARKS)]
    return parts if len(parts) > 1 else []


def in_order(parts: list[str], page: Plain) -> Spot | None:
    first, end = -1, 0
    for part in parts:
        at = next((at for at in find_all(part, page.text) if at >= end), None)
        if at is None:
            return None
        first = at if first < 0 else first
        end = at + len(part)
    return spot(page, first, end, 1)._replace(omits=True)


def spot(page: Plain, start: int, end: int, count: int) -> Spot:
    return Spot(page.offsets[start], page.offsets[end - 1] + 1, count)


def passage(text: str, start: int, end: int) -> dict[str, Any]:
    """The line that a place stands on, and its words with some around them."""
    begin, stop = max(start - AROUND, 0), min(end + AROUND, len(text))
    if begin:
        begin = next((n + 1 for n in range(begin, start) if text[n].isspace()), begin)
    if stop < len(text):
        stop = next((n for n in range(stop, end, -1) if text[n - 1].isspace()), stop)
    shown = " ".join(text[begin:stop].split())
    if len(shown) > MOST_SHOWN:
        shown = f"{shown[: MOST_SHOWN // 2]} … {shown[-MOST_SHOWN // 2 :]}"
    return {"line": text.count("\n", 0, start) + 1, "passage": shown}


class Word(NamedTuple):
    text: str
    folded: str
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """The words of a text with their offsets; of scripts without blanks each character is one."""
    words: list[Word] = []
    current: list[tuple[int, str]] = []

    def close() -> None:
        if current:
            word = "".join(char for _, char in current)
            folded = plain(word, fold=True).text.strip("'")
            words.append(Word(word, folded, current[0][0], current[-1][0] + 1))
            current.clear()

    for offset, char in visible(text):
        if is_unspaced(char) and unicodedata.category(char)[0] == "L":
            close()
            current.append((offset, char))
            close()
        elif is_word(char) or (current and (char in APOSTROPHES or joins_digits(text, offset))):
            current.append((offset, char))
        else:
            close()
    close()
    return words


def joins_digits(text: str, offset: int) -> bool:
    """A decimal point or a separator of thousands."""
    around = text[offset - 1 : offset], text[offset + 1 : offset + 2]
    return text[offset] in ".," and all(char.isdigit() for char in around)


def nearest(quote: list[Word], page: list[Word]) -> tuple[float, list[Word]]:
    """The run of the page's words that is most like the quote, and how like it is, 0 to 1."""
    size = len(quote)
    if not size or not page:
        return 0.0, []
    wanted = Counter(word.folded for word in quote)
    left, shared, best, best_at = Counter(wanted), 0, -1, 0
    for at, word in enumerate(page):
        shared += left[word.folded] > 0
        left[word.folded] -= 1
        if at >= size:
            left[page[at - size].folded] += 1
            shared -= left[page[at - size].folded] > 0
        if shared > best:
            best, best_at = shared, at
    best_run, best_likeness = page[0:0], 0.0
    # A little room on both sides for words that the quote leaves out; too much would catch their like further off.
    for room in sorted({0, 1, 2, size // 4}):
        begin = max(best_at - size + 1 - room, 0)
        window = page[begin : best_at + 1 + room]
        matcher = SequenceMatcher(None, [w.folded for w in quote], [w.folded for w in window], autojunk=False)
        blocks = [block for block in matcher.get_matching_blocks() if block.size]
        if not blocks:
            continue
        first, last = blocks[0], blocks[-1]
        likeness = 2 * sum(block.size for block in blocks) / (size + last.b + last.size - first.b)
        if likeness > best_likeness:
            best_likeness = likeness
            best_run = page[max(begin + first.b - first.a, 0) : begin + last.b + size - last.a]
    return best_likeness, best_run


def differences(quote: list[Word], found: list[Word]) -> list[dict[str, str]]:
    """What the quote says, and what the page says there."""
    matcher = SequenceMatcher(None, [w.folded for w in quote], [w.folded for w in found], autojunk=False)
    return [
        {"quote": " ".join(w.text for w in quote[a:b]), "page": " ".join(w.text for w in found[c:d])}
        for kind, a, b, c, d in matcher.get_opcodes()
        if kind != "equal"
    ][:MOST_DIFFERENCES]


class Page:
    """A page's text in the forms that quotes are looked for in, each made when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def form(self) -> Plain:
        return plain(self.text)

    @cached_property
    def folded(self) -> Plain:
        return plain(self.text, fold=True)

    @cached_property
    def words(self) -> list[Word]:
        return words_of(self.text)


def check_quote(quote: str, page: Page) -> dict[str, Any]:
    """Where the quote stands and how alike, from letter for letter to letter case aside; else what comes nearest."""
    for match, look in LOOKS.items():
        if found := look(quote, page):
            told = {**passage(page.text, found.start, found.end), "times": found.times}
            if found.omits:
                told["omittedWords"] = len(words_of(page.text[found.start : found.end])) - len(words_of(quote))
            return {"quote": quote, "found": True, "match": match, **told}
    return {"quote": quote, "found": False, "match": "none", **nearest_passage(quote, page)}


def nearest_passage(quote: str, page: Page) -> dict[str, Any]:
    """What comes nearest to a quote that is not there; of one with omissions, to its first part that is not."""
    parts = parts_of(quote)
    lacking = [part.strip() for part in parts if locate(part, page.folded, fold=True) is None]
    if parts and not lacking:
        return {"nearest": None, "note": "the parts stand in the text, but not in this order"}
    words = words_of(lacking[0] if lacking else quote)
    likeness, run = nearest(words, page.words)
    told: dict[str, Any] = {"part": lacking[0]} if lacking else {}
    if likeness < LEAST_LIKENESS:
        return {**told, "nearest": None}
    told["nearest"] = {**passage(page.text, run[0].start, run[-1].end), "likeness": round(likeness, 2)}
    told["differences"] = differences(words, run)
    if not told["differences"]:
        told["note"] = "the same words with other punctuation"
    return told


def look_exactly(quote: str, page: Page) -> Spot | None:
    wanted = quote.strip()
    places = find_all(wanted, page.text)
    return Spot(places[0], places[0] + len(wanted), len(places)) if places else None


#: how a quote was found -> the search for it, strictest first
LOOKS: dict[str, Callable[[str, Page], Spot | None]] = {
    "exact": look_exactly,
    "form": lambda quote, page: locate(quote, page.form, fold=False),
    "case": lambda quote, page: locate(quote, page.folded, fold=True),
}


def refusal(error: str, hint: str) -> dict[str, Any]:
    return {"ok": False, "error": error, "hint": hint}


def link(title: str, url: str) -> str:
    label = re.sub(r"[\\\[\]]", r"\\\g<0>", " ".join(title.split()))
    if url.count("(") != url.count(")"):
        url = url.replace("(", "%28").replace(")", "%29")
    return f"[{label}]({url.replace(' ', '%20').replace('<', '%3C').replace('>', '%3E').replace('|', '%7C')})"


@skill_tool(
    description=(
        "Number the sources of a piece of research: one Markdown table or list, each page once however its URL is "
        "spelled. Give every source you mean to cite; the numbers can then stand in the text."
    ),
    parameters={
        "type": "object",
        "properties": {
            "sources": {
                "type": "array",
                "description": "The sources in the order they should be numbered.",
                "aliases": ["items", "rows", "links"],
                "items": {
                    "type": "object",
                    "properties": {
                        "url": {"type": "string", "description": "http or https.", "aliases": ["link", "href"]},
                        "title": {"type": "string", "description": "The page's title.", "aliases": ["name"]},
                        "date": {
                            "type": "string",
                            "description": "The date that the page states, as it states it; leave out what has none.",
                            "aliases": ["published", "publishedAt"],
                        },
                        "note": {
                            "type": "string",
                            "description": "What it was used for, in a few words.",
                            "aliases": ["notes", "comment"],
                        },
                    },
                    "required": ["url"],
                },
            },
            "form": {
                "type": "string",
                "enum": ["table", "list"],
                "description": "table (default) for an overview in the text, list for the Sources at its end.",
            },
        },
        "required": ["sources"],
    },
    result_kind="intermediate",
)
def source_table(sources: list[dict[str, Any]], form: str = "table") -> dict[str, Any]:
    kept: dict[str, dict[str, Any]] = {}
    skipped: list[dict[str, Any]] = []
    merged: list[dict[str, Any]] = []
    for index, source in enumerate(sources):
        url = source["url"].strip()
        if not is_http_url(url):
            skipped.append({"index": index, "url": url, "why": "no http or https URL"})
            continue
        told = {key: text for key in ("title", *OPTIONAL_COLUMNS) if (text := " ".join(source.get(key, "").split()))}
        known = kept.get(canonical_url(url))
        if known is None:
            kept[canonical_url(url)] = {"number": len(kept) + 1, "url": url, **told}
            continue
        merged.append({"index": index, "url": url, "into": known["number"]})
        merge(known, told)
    if not kept:
        return refusal(
            "none of the sources has an http or https URL", "give each source as {url, title?, date?, note?}"
        )
    rows = list(kept.values())
    markdown = table_of(rows) if form == "table" else list_of(rows)
    said = f"{len(rows)} sources" if len(rows) != 1 else "1 source"
    said += f", {len(merged)} double" if merged else ""
    said += f", {len(skipped)} left out: no http or https URL" if skipped else ""
    return {"ok": True, "markdown": markdown, "sources": rows, "merged": merged, "skipped": skipped, "text": f"{said}."}


def merge(known: dict[str, Any], told: dict[str, str]) -> None:
    """What a second entry of one page adds to the first."""
    for key, value in told.items():
        if key == "note" and known.get("note") and value not in known["note"].split("; "):
            known["note"] += f"; {value}"
        else:
            known.setdefault(key, value)


def table_of(rows: list[dict[str, Any]]) -> str:
    extra = [column for column in OPTIONAL_COLUMNS if any(column in row for row in rows)]
    lines = [["#", "Source", *(column.capitalize() for column in extra)], ["---"] * (2 + len(extra))]
    for row in rows:
        told = [link(row.get("title", row["url"]), row["url"]), *(row.get(column, "–") for column in extra)]
        lines.append([str(row["number"]), *(text.replace("|", "\\|") for text in told)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def list_of(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        dated = f" ({row['date']})" if "date" in row else ""
        noted = f": {row['note']}" if "note" in row else ""
        lines.append(f"{row['number']}. {link(row.get('title', row['url']), row['url'])}{dated}{noted}")
    return "\n".join(lines)


@skill_tool(
    description=(
        "Check quotes against the text they are taken from, word for word: which really stand there, and for the "
        "others the nearest passage and the words that differ. White space, typographic quotation marks and dashes and "
        "Markdown marks do not count; an omission may be marked with ... or [...]."
    ),
    parameters={
        "type": "object",
        "properties": {
            "text": {
                "type": "string",
                "description": "The page's text, or the paragraphs round the quotes, copied as they were read.",
                "aliases": ["page", "content", "source"],
            },
            "quotes": {
                "type": "array",
                "items": {"type": "string"},
                "description": "The quotes as they would stand in the answer, without quotation marks round them.",
                "aliases": ["quotations", "passages"],
            },
        },
        "required": ["text", "quotes"],
    },
    result_kind="lookup",
)
def quote_check(text: str, quotes: list[str]) -> dict[str, Any]:
    asked = [quote for quote in quotes if plain(quote).text.strip(OUTER_MARKS)]
    if not asked:
        return refusal("there is no quote to check", "give the quotes as a list of texts, a few words at least")
    page = Page(text)
    if not page.form.text:
        return refusal("the text has no words", "copy the text of the page from the result of read_url")
    checked = [check_quote(quote, page) for quote in asked]
    found = sum(entry["found"] for entry in checked)
    said = f"{found} of {len(checked)} quotes stand in the text."
    return {"ok": True, "allFound": found == len(checked), "quotes": checked, "text": said}
