"""Counts over a text: words in any script, sentences, reading time, frequent words. The rules: references/method.md."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import Any

from agrun_wasm import skill_tool

WORDS_PER_MINUTE = 238
CJK_PER_MINUTE = 260

#: first and last code point of the scripts that are written without blanks and counted by character
CJK_RANGES = (
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)
#: marks inside a word, between two of its letters or digits
JOINERS = "'’-‐.,"
SENTENCE_ENDS = ".!?…。！？｡"
CLOSERS = "\"'”’»)]}」』）"
ABBREVIATIONS = "mr mrs ms dr prof sr jr st vs etc e.g i.e cf fig no vol approx dept inc ltd co z.b bzw usw ca bijv nr"
COMMON_WORDS = """a an and are as at be been but by can did do does for from had has have he her his i if in into is it
    its me my no not of on or our she so than that the their them then there they this to us was we were what when which
    who will with would you your"""

TEXT = {"type": "string", "description": "The text to look at, as it is.", "aliases": ["content", "input"]}


def is_cjk(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in CJK_RANGES)


def is_word_char(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNM"


def words_of(text: str) -> list[str]:
    """Words in their order; each Chinese or Japanese character is one."""
    words: list[str] = []
    current = ""
    text = unicodedata.normalize("NFC", text)
    for at, char in enumerate(text):
        following = text[at + 1] if at + 1 < len(text) else " "
        if is_cjk(char):
            words += [current, char]
            current = ""
        elif is_word_char(char) or (current and joins(current[-1], char, following)):
            current += char
        else:
            words.append(current)
            current = ""
    words.append(current)
    return [word for word in words if word]


def joins(before: str, char: str, after: str) -> bool:
    """Does `char` stand inside a word: don't, well-known, 3.5, 1,000?"""
    if char not in JOINERS or not is_word_char(before) or not is_word_char(after) or is_cjk(after):
        return False
    return (before.isdigit() and after.isdigit()) if char in ".," else True


def paragraphs_of(text: str) -> list[str]:
    """Lines that stand together, apart by blank ones."""
    paragraphs = [""]
    for line in text.splitlines():
        if line.strip():
            paragraphs[-1] += f"{line}\n"
        elif paragraphs[-1]:
            paragraphs.append("")
    return [paragraph for paragraph in paragraphs if paragraph]


def sentences_of(text: str) -> list[str]:
    """Sentences: up to a mark that ends one, or to the end of the paragraph."""
    sentences: list[str] = []
    for paragraph in paragraphs_of(text):
        current = ""
        for at, char in enumerate(paragraph):
            current += char
            if char in SENTENCE_ENDS and ends_sentence(current, paragraph[at + 1 :]):
                sentences.append(current)
                current = ""
        sentences.append(current)
    return [s.strip() for s in sentences if any(is_word_char(c) for c in s)]


def ends_sentence(so_far: str, rest: str) -> bool:
    if so_far[-1] in "。！？｡":
        return rest[:1] not in SENTENCE_ENDS or not rest
    after = rest.lstrip(SENTENCE_ENDS + CLOSERS)
    if after and not after[0].isspace():
        return False
    if rest[:1] and rest[0] in SENTENCE_ENDS:
        return False
    return so_far[-1] != "." or not is_abbreviation(so_far[:-1].split()[-1:], is_last=not after.strip())


def is_abbreviation(word: list[str], *, is_last: bool) -> bool:
    """`Dr`, `e.g`, or an initial that a name follows."""
    if not word:
        return False
    last = word[0].lstrip("(\"'“‘").casefold()
    return last in ABBREVIATIONS.split() or (len(last) == 1 and last.isalpha() and not is_last)


def seconds_to_read(words: list[str], words_per_minute: float) -> int:
    cjk = sum(len(word) == 1 and is_cjk(word) for word in words)
    pace = CJK_PER_MINUTE * words_per_minute / WORDS_PER_MINUTE
    return round(60 * ((len(words) - cjk) / words_per_minute + cjk / pace))


def counted(number: int, noun: str) -> str:
    return f"{number} {noun if number == 1 else noun + 's'}"


def duration(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    parts = [counted(minutes, "minute")] if minutes else []
    if rest or not minutes:
        parts.append(counted(rest, "second"))
    return " ".join(parts)


@skill_tool(
    description="Count the words, characters, sentences, paragraphs and lines of a text.",
    parameters={"type": "object", "properties": {"text": TEXT}, "required": ["text"]},
)
def count_text(text: str) -> dict[str, Any]:
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n"))
    words, sentences = words_of(text), sentences_of(text)
    characters = sum(unicodedata.category(char)[0] != "M" for char in text)
    counts = {
        "words": len(words),
        "characters": characters,
        "charactersWithoutSpaces": sum(not c.isspace() and unicodedata.category(c)[0] != "M" for c in text),
        "sentences": len(sentences),
        "paragraphs": len(paragraphs_of(text)),
        "lines": len(text.splitlines()),
    }
    said = [counted(counts[key], key[:-1]) for key in ("words", "characters", "sentences")]
    return {"ok": True, **counts, "text": f"The text has {said[0]}, {said[1]} and {said[2]}."}


@skill_tool(
    description="Estimate the reading time of a text: how long a person needs to read it.",
    parameters={
        "type": "object",
        "properties": {
            "text": TEXT,
            "words_per_minute": {
                "type": "number",
                "description": f"The reader's pace; {WORDS_PER_MINUTE} if left out.",
                "aliases": ["wpm", "wordsPerMinute", "speed"],
            },
        },
        "required": ["text"],
    },
)
def reading_time(text: str, words_per_minute: float = WORDS_PER_MINUTE) -> dict[str, Any]:
    if words_per_minute <= 0:
        return {"ok": False, "error": "words_per_minute must be more than 0", "known": [WORDS_PER_MINUTE]}
    words = words_of(text)
    seconds = seconds_to_read(words, words_per_minute)
    said = f"Reading the text takes about {duration(seconds)} ({counted(len(words), 'word')})."
    return {"ok": True, "words": len(words), "seconds": seconds, "minutes": round(seconds / 60, 1), "text": said}


@skill_tool(
    description="Find the most frequent words of a text, with how often each occurs.",
    parameters={
        "type": "object",
        "properties": {
            "text": TEXT,
            "limit": {"type": "integer", "description": "How many words; 10 if left out.", "aliases": ["top", "n"]},
            "min_length": {"type": "integer", "description": "Leave out shorter words.", "aliases": ["minLength"]},
            "skip_common": {
                "type": "boolean",
                "description": "Leave out common English words such as 'the'.",
                "aliases": ["skipCommon", "stopwords"],
            },
        },
        "required": ["text"],
    },
)
def frequent_words(text: str, limit: int = 10, min_length: int = 1, skip_common: bool = False) -> dict[str, Any]:
    if limit < 1:
        return {"ok": False, "error": "limit must be at least 1", "known": []}
    words = [word.casefold() for word in words_of(text)]
    left_out = set(COMMON_WORDS.split()) if skip_common else set()
    kept = [word for word in words if len(word) >= min_length and word not in left_out]
    counts = Counter(kept)
    first = {word: at for at, word in reversed(list(enumerate(kept)))}
    ranked = sorted(counts, key=lambda word: (-counts[word], first[word]))[: int(limit)]
    top = [{"word": word, "count": counts[word]} for word in ranked]
    listed = ", ".join(f"{entry['word']} ({entry['count']})" for entry in top)
    return {"ok": True, "words": top, "distinct": len(counts), "text": f"Most frequent: {listed or 'no words'}."}
