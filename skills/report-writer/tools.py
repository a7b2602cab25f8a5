"""Helpers for a report: the brief of one section, sections joined into one document, and the check of a document.

Which lines are headings is the runtime's to say (`agrun_wasm.text.markdown`): those in fences are none, underlined ones
are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, NamedTuple

from agrun_wasm import skill_tool
from agrun_wasm.text.blocks import join, trim, with_lf
from agrun_wasm.text.fences import scan_fences
from agrun_wasm.text.markdown import Heading, count_words, headings, section_end

DEEPEST = 6
#: below it there is room for sections and headings in them
DEEPEST_TITLE = 4
PROBE = "agrun-probe"
LIST_MARK = re.compile(r"\A[-*+][ \t]+")
MARKED_TITLE = re.compile(r"#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?")
CLOSING_HASHES = re.compile(r"(?:\A|[ \t])#+\Z")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
FAILED_SECTION = "<!-- section failed:"
#: what opens a quote or a list item at a line's start
CONTAINER = re.compile(r"^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]+)*", re.MULTILINE)
CODE_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
REFERENCE = re.compile(r"(?<![\\!])\[(\^[^\]\s]{1,40}|\d{1,3})\](?![(:])")
DEFINITION = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?(?:\[(\^?[^\]\s]{1,40})\]:?|\|?[ \t]*(\d{1,3})[ \t]*[.)|])(.*)$")
URL = re.compile(r"https?://\S", re.IGNORECASE)
BRACKET, ESCAPED = re.compile(r"[\\\[\]]"), r"\\\g<0>"
#: what would end the target of a Markdown link
IN_TARGET = str.maketrans({sign: f"%{ord(sign):02X}" for sign in " <>()"})
#: a definition of a link or a note: `[1]: ...`
LABELLED = re.compile(r"^ {0,3}\[([^\]]+)\]:[ \t]*(\S.*)$")


def refusal(error: str, hint: str) -> dict[str, Any]:
    return {"ok": False, "error": error, "hint": hint}


def counted(number: int, noun: str) -> str:
    return f"{number} {noun if number == 1 else noun + 's'}"


def plain_title(text: str) -> str:
    """A title on one line, without the signs that make it a heading."""
    title = " ".join(text.split())
    marked = MARKED_TITLE.fullmatch(title)
    return (marked[1] or "") if marked else title


def folded(title: str) -> str:
    """What two spellings of one title share: letter case and marks of emphasis do not count."""
    return " ".join(re.sub(r"[*_`~]", "", plain_title(title)).casefold().split())


def heading_line(level: int, title: str) -> str:
    """One line that is a heading of exactly that text."""
    if CLOSING_HASHES.search(title):
        title = f"{title[:-1]}\\#"
    return f"{'#' * min(level, DEEPEST)} {title}".rstrip()


def item(text: str) -> str:
    """A text as one list item, its further lines indented."""
    lines = LIST_MARK.sub("", trim(with_lf(text)).strip()).split("\n")
    return "\n".join([f"- {lines[0]}", *(f"  {line}" if line.strip() else "" for line in lines[1:])])


def with_source(fact: Mapping[str, Any]) -> str:
    """A fact with its date and its link behind it."""
    url, text = fact.get("url", "").strip(), fact["text"].strip()
    name = " ".join(fact.get("source", "").split()) or url
    source = f"[{BRACKET.sub(ESCAPED, name)}]({url.translate(IN_TARGET)})" if url else name
    behind = ", ".join(part for part in (source, " ".join(fact.get("date", "").split())) if part)
    return f"{text} ({behind})" if behind else text


class Shaped(NamedTuple):
    """A text whose headings stand below `level`, and what was changed for that."""

    text: str
    notes: list[str]


def shaped(text: str, level: int, title: str) -> Shaped | None:
    """A section's text with its headings moved below `level`, no level skipped; a first line that repeats the title
    goes. None where something in the text stays open and would swallow what follows."""
    text, notes = trim(with_lf(text)), list[str]()
    found = headings(text)
    if found and found[0].line == 1 and folded(found[0].text) == folded(title):
        text = trim("\n".join(text.split("\n")[found[0].end_line :]))
    closed = closed_text(text)
    if closed is None:
        return None
    if closed != text:
        notes.append("a code block that was left open was closed")
    return Shaped(with_headings(closed, levels_below(headings(closed), level)), notes)


def closed_text(text: str) -> str | None:
    """The text, with the fence closed that it leaves open; None where something else swallows a heading after it."""
    marks = [text[f.start : f.content_start].strip() for f in scan_fences(text) if not f.closed]
    fences = [match.group() for mark in marks if (match := re.match(r"`+|~+", mark))]
    for candidate in (text, *(f"{text}\n{fence}" for fence in fences)):
        found = headings(f"{candidate}\n\n# {PROBE}\n")
        if found and found[-1].text == PROBE:
            return candidate
    return None


def levels_below(found: Iterable[Heading], level: int) -> list[tuple[Heading, int]]:
    """Each heading with the level it has when the text stands below a heading of `level`."""
    above: list[int] = []
    levels = []
    for heading in found:
        while above and above[-1] >= heading.level:
            above.pop()
        above.append(heading.level)
        levels.append((heading, min(level + len(above), DEEPEST)))
    return levels


def with_headings(text: str, levels: Iterable[tuple[Heading, int]], titles: Mapping[int, str] | None = None) -> str:
    """The text with these headings at these levels, every other line as it was. `titles` renames by first line."""
    lines = text.split("\n")
    for heading, level in reversed(list(levels)):
        title = (titles or {}).get(heading.line, " ".join(heading.text.split()))
        lines[heading.line - 1 : heading.end_line] = [heading_line(level, title)]
    return "\n".join(lines)


def with_parents(found: Iterable[Heading]) -> list[tuple[Heading, int]]:
    """Each heading with the line of the one it stands under, 0 for none."""
    above: list[Heading] = []
    pairs = []
    for heading in found:
        while above and above[-1].level >= heading.level:
            above.pop()
        pairs.append((heading, above[-1].line if above else 0))
        above.append(heading)
    return pairs


def numbered_apart(text: str) -> Shaped:
    """The text without two headings of one name under the same parent: the second one is given a number."""
    renamed: dict[int, str] = {}
    notes: list[str] = []
    taken: set[tuple[int, str]] = set()
    found = headings(text)
    for heading, parent in with_parents(found):
        title, number = heading.text, 1
        while (parent, folded(title)) in taken:
            number += 1
            title = f"{heading.text} ({number})"
        taken.add((parent, folded(title)))
        if number > 1:
            renamed[heading.line] = title
            notes.append(f"a second heading {heading.text!r} under one parent became {title!r}")
    changed = [(heading, heading.level) for heading in found if heading.line in renamed]
    return Shaped(with_headings(text, changed, renamed), notes)


def prose_lines(text: str) -> list[tuple[int, str]]:
    """The lines with their numbers, code left out: fenced lines, and spans inside a line."""
    lines = text.split("\n")
    bare = CONTAINER.sub("", text)  # a fence may stand in a quote or a list item
    code: set[int] = set()
    for fence in scan_fences(bare):
        code.update(range(bare.count("\n", 0, fence.start), bare.count("\n", 0, fence.end) + (not fence.closed)))
    return [(n + 1, CODE_SPAN.sub("", line)) for n, line in enumerate(lines) if n not in code]


def clashing_label(texts: Iterable[str]) -> str | None:
    """A label that two texts define differently (`[1]: ...`); in one document the first definition would win."""
    known: dict[str, str] = {}
    for text in texts:
        for _, line in prose_lines(text):
            if found := LABELLED.match(line):
                label, target = found[1].casefold(), " ".join(found[2].split())
                if known.setdefault(label, target) != target:
                    return found[1]
    return None


class Part(NamedTuple):
    """A part of the document: its title ("" for intro and outro), its text, and the level of its heading."""

    title: str
    text: str
    level: int


def parts_of(
    title: str, sections: Iterable[Mapping[str, Any]], intro: str, outro: str, level: int
) -> tuple[list[Part], list[str]] | dict[str, Any]:
    """Every part with its headings in place and the notes on them, or the refusal that names the section at fault."""
    parts: list[Part] = []
    notes: list[str] = []
    given = [("", intro), *((plain_title(section["title"]), section["body"]) for section in sections), ("", outro)]
    for name, text in given:
        where = f"the section {name!r}" if name else "the intro or outro"
        below = level + 1 if name else level
        made = shaped(text, below, name or title)
        if made is None:
            error = f"{where} leaves an HTML comment or block open, which would swallow what follows"
            return refusal(error, "close it in its text")
        if name and not without_comments(made.text):
            return refusal(f"{where} has no text", "write its text, or leave the section out")
        notes += [f"{where}: {note}" for note in made.notes]
        parts.append(Part(name, made.text, below))
    return parts, notes


def without_comments(text: str) -> str:
    return COMMENT.sub("", text).strip()


def document(title: str, parts: list[Part], contents: str, level: int) -> Shaped:
    """The whole text: the title, the intro, a table of contents where it has a heading, the sections, the outro."""
    intro, *sections, outro = parts
    blocks = [heading_line(level, title), intro.text]
    if contents:
        blocks.append(heading_line(level + 1, contents))
    for part in sections:
        blocks += [heading_line(part.level, part.title), part.text]
    made = numbered_apart(join([*blocks, outro.text]))
    if not contents:
        return made
    # The list comes last, since a section may have been given a number.
    before = sum(heading.level == level + 1 for heading in headings(intro.text))
    own, *following = [heading for heading in headings(made.text) if heading.level == level + 1][before:]
    lines = made.text.split("\n")
    lines[own.end_line : own.end_line] = ["", *(f"- {heading.text}" for heading in following)]
    return made._replace(text="\n".join(lines))


def assembled(
    title: str, sections: list[dict[str, Any]], intro: str, outro: str, contents: str, level: int
) -> dict[str, Any]:
    """The document with its counts and notes, or a refusal."""
    if not 1 <= level <= DEEPEST_TITLE:
        return refusal(f"level must be 1 to {DEEPEST_TITLE}", "1 for a document of its own")
    if not plain_title(title):
        return refusal("the report has no title", "give the title as plain text")
    if not sections:
        return refusal("there is no section", "give sections as a list of {title, body}")
    if unnamed := [str(n) for n, section in enumerate(sections, 1) if not plain_title(section["title"])]:
        return refusal(f"section {', '.join(unnamed)} has no title", "give each section a title of its own")
    if label := clashing_label([intro, *(section["body"] for section in sections), outro]):
        return refusal(
            f"the reference [{label}] leads to different places in different sections",
            "link inline as [title](url), or number the references through the whole report",
        )
    made = parts_of(plain_title(title), sections, intro, outro, level)
    if isinstance(made, dict):
        return made
    parts, notes = made
    text, changes = document(plain_title(title), parts, plain_title(contents), level)
    words = count_words(text)
    said = f"A report with {counted(len(sections), 'section')} and {counted(words, 'word')}."
    return {
        "ok": True,
        "markdown": f"{text}\n",
        "words": words,
        "characters": len(text) + 1,
        "sections": [{"title": part.title, "words": count_words(part.text)} for part in parts[1:-1]],
        "notes": [*notes, *changes],
        "text": said,
    }


class Finding(NamedTuple):
    code: str
    line: int
    message: str

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, **({"line": self.line} if self.line else {}), "message": self.message}


def missing_sections(found: list[Heading], required: list[str]) -> list[Finding]:
    known = {folded(heading.text): heading.text for heading in found}
    missing = []
    for title in required:
        if folded(title) not in known:
            close = get_close_matches(folded(title), known, n=1, cutoff=0.5)
            hint = f"; the closest heading is {known[close[0]]!r}" if close else ""
            missing.append(Finding("missing_section", 0, f"no heading {plain_title(title)!r}{hint}"))
    return missing


def doubled_headings(found: list[Heading]) -> list[Finding]:
    first: dict[tuple[int, str], int] = {}
    doubled = []
    for heading, parent in with_parents(found):
        line = first.setdefault((parent, folded(heading.text)), heading.line)
        if line != heading.line:
            said = f"{heading.text!r} stands on line {line} under the same parent already"
            doubled.append(Finding("duplicate_heading", heading.line, said))
    return doubled


def wrong_levels(found: list[Heading]) -> list[Finding]:
    wrong = [
        Finding("level_jump", here.line, f"{here.text!r} is on level {here.level}, right below level {before.level}")
        for before, here in pairwise(found)
        if here.level > before.level + 1
    ]
    titles = [heading for heading in found if heading.level == 1]
    return wrong + [Finding("second_title", h.line, f"{h.text!r} is a second title on level 1") for h in titles[1:]]


def thin_sections(text: str, found: list[Heading], min_words: int) -> list[Finding]:
    """Headings without text of their own or below them, and sections with fewer words than asked for."""
    lines = text.split("\n")
    level = section_level(found)
    thin = []
    for n, heading in enumerate(found):
        following = found[n + 1] if n + 1 < len(found) else None
        own = "\n".join(lines[heading.end_line : following.line - 1 if following else None])
        words = section_words(text, found, n)
        if not without_comments(own) and (following is None or following.level <= heading.level):
            thin.append(Finding("empty_section", heading.line, f"{heading.text!r} has no text"))
        elif heading.level == level and words < min_words:
            said = f"{heading.text!r} has {counted(words, 'word')}, fewer than {min_words}"
            thin.append(Finding("short_section", heading.line, said))
    return thin


def section_level(found: list[Heading]) -> int:
    """The level of the sections: the one below a lone title, else the highest there is."""
    levels = sorted(heading.level for heading in found) or [1]
    return levels[1] if len(levels) > 1 else levels[0]


def section_words(text: str, found: list[Heading], index: int) -> int:
    """Words of a section, its subsections included, its own heading not."""
    lines = text[: section_end(text, index)].split("\n")
    return count_words("\n".join(lines[found[index].end_line :]))


def loose_references(text: str) -> list[Finding]:
    """Marks such as [3] or [^a] that no entry of the document gives a link or a note to."""
    lines = prose_lines(text)
    led = set[str]()
    for place, (_, line) in enumerate(lines):
        following = lines[place + 1][1] if place + 1 < len(lines) else ""
        if entry := DEFINITION.match(line):
            label = entry[1] or entry[2]
            if label.startswith("^") or URL.search(f"{entry[3]} {following}"):
                led.add(label.casefold())
    loose: dict[str, Finding] = {}
    for number, line in lines:
        for mark in REFERENCE.finditer(line):
            if mark[1].casefold() not in led:
                said = f"[{mark[1]}] leads nowhere: link it, or list it with its URL"
                loose.setdefault(mark[1], Finding("loose_reference", number, said))
    return list(loose.values())


def broken_blocks(text: str) -> list[Finding]:
    broken = [
        Finding("failed_section", number, "a section could not be written and stands as a comment")
        for number, line in enumerate(text.split("\n"), 1)
        if FAILED_SECTION in line
    ]
    if closed_text(text) != text:
        open_at = next((text.count("\n", 0, f.start) + 1 for f in scan_fences(text) if not f.closed), 0)
        broken.append(Finding("open_block", open_at, "a code block, comment or HTML block is not closed"))
    return broken


SECTIONS = {
    "type": "array",
    "description": "The sections in their order.",
    "aliases": ["parts", "chapters"],
    "items": {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "Its title, without # signs.", "aliases": ["heading", "name"]},
            "body": {
                "type": "string",
                "description": "Its text in Markdown; headings in it are moved below its title.",
                "aliases": ["content", "text", "markdown"],
            },
        },
        "required": ["title", "body"],
    },
}


DOCUMENT = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "description": "The report's title, without # signs.", "aliases": ["heading"]},
        "sections": SECTIONS,
        "intro": {
            "type": "string",
            "description": "Text between the title and the first section.",
            "aliases": ["lead"],
        },
        "outro": {
            "type": "string",
            "description": "Text after the last section; begin it with a heading, or it belongs to that section.",
            "aliases": ["closing"],
        },
        "contents": {
            "type": "string",
            "description": "Heading of a table of contents, in the report's language; none if left out.",
        },
        "level": {"type": "integer", "description": "Level of the title, 1 to 4; 1 if left out."},
    },
    "required": ["title", "sections"],
}


@skill_tool(
    description=(
        "Prepare one section of a report as Markdown: its heading on the right level, the points it must make, and the "
        "facts it may use with their links. Each call stands alone, so the briefs of all sections run in one plan."
    ),
    parameters={
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "The section's title, without # signs.", "aliases": ["heading"]},
            "points": {
                "type": "array",
                "items": {"type": "string"},
                "description": "What the section must say, in order; a sentence or more each.",
                "aliases": ["bullets", "outline"],
            },
            "facts": {
                "type": "array",
                "description": "Facts that it may state, each with the page it comes from.",
                "aliases": ["evidence"],
                "items": {
                    "type": "object",
                    "properties": {
                        "text": {
                            "type": "string",
                            "description": "The fact in a sentence.",
                            "aliases": ["fact", "claim"],
                        },
                        "url": {"type": "string", "description": "The page that was read.", "aliases": ["link"]},
                        "source": {"type": "string", "description": "That page's title.", "aliases": ["name"]},
                        "date": {"type": "string", "description": "The date it holds for.", "aliases": ["asOf"]},
                    },
                    "required": ["text"],
                },
            },
            "level": {"type": "integer", "description": "Level of the heading, 1 to 6; 2 if left out."},
            "words": {
                "type": "integer",
                "description": "How long the finished section should be.",
                "aliases": ["length", "targetWords"],
            },
        },
        "required": ["title", "points"],
    },
    result_kind="preparatory",
)
def section_brief(
    title: str, points: list[str], facts: list[dict[str, Any]] | None = None, level: int = 2, words: int | None = None
) -> dict[str, Any]:
    if not 1 <= level <= DEEPEST:
        return refusal(f"level must be 1 to {DEEPEST}", "2 for the sections of a report")
    if not plain_title(title):
        return refusal("the section has no title", "give the title as plain text")
    lines = [item(point) for point in points if point.strip()]
    if not lines:
        return refusal("there is no point", "give points as a list of sentences: what the section must say")
    stated = [fact for fact in facts or [] if fact["text"].strip()]
    heading = heading_line(int(level), plain_title(title))
    brief: dict[str, Any] = {
        "ok": True,
        "title": plain_title(title),
        "markdown": "\n".join([heading, "", *lines, *(item(with_source(fact)) for fact in stated)]),
        "unsourced": [fact["text"].strip() for fact in stated if not fact.get("url", "").strip()],
    }
    if words is not None:
        brief["words"] = int(words)
    said = f"Brief for {plain_title(title)!r}: {counted(len(lines), 'point')}, {counted(len(stated), 'fact')}."
    return {**brief, "text": said}


@skill_tool(
    description=(
        "Join sections into one Markdown document: one title, headings on consistent levels, no heading twice under "
        "one parent, code left alone, words counted. Gives the document for workspace_write; it ends nothing."
    ),
    parameters=DOCUMENT,
    result_kind="intermediate",
)
def assemble_report(
    title: str,
    sections: list[dict[str, Any]],
    intro: str = "",
    outro: str = "",
    contents: str = "",
    level: int = 1,
) -> dict[str, Any]:
    return assembled(title, sections, intro, outro, contents, int(level))


@skill_tool(
    description=(
        "Join sections into one Markdown document as assemble_report does, and deliver it as the final answer at once, "
        "word for word. Only when nothing is left to add, change or check."
    ),
    parameters=DOCUMENT,
    result_kind="final",
)
def deliver_report(
    title: str,
    sections: list[dict[str, Any]],
    intro: str = "",
    outro: str = "",
    contents: str = "",
    level: int = 1,
) -> dict[str, Any]:
    return assembled(title, sections, intro, outro, contents, int(level))


@skill_tool(
    description=(
        "Check the structure of a Markdown report: missing sections, headings twice under one parent, empty or short "
        "sections, skipped levels, open code blocks, references without a link; with the words of each section."
    ),
    parameters={
        "type": "object",
        "properties": {
            "markdown": {
                "type": "string",
                "description": "The whole report as it stands.",
                "aliases": ["content", "report", "document"],
            },
            "required": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Titles of the sections it must have.",
                "aliases": ["titles", "requiredSections", "sections"],
            },
            "min_words": {
                "type": "integer",
                "description": "Fewest words of a section.",
                "aliases": ["minWords"],
            },
        },
        "required": ["markdown"],
    },
    result_kind="intermediate",
)
def check_report(markdown: str, required: list[str] | None = None, min_words: int = 0) -> dict[str, Any]:
    text = with_lf(markdown)
    if not text.strip():
        return refusal("the report is empty", "give the whole text, as workspace_read shows it")
    found = headings(text)
    findings = [
        *missing_sections(found, required or []),
        *doubled_headings(found),
        *wrong_levels(found),
        *thin_sections(text, found, int(min_words)),
        *broken_blocks(text),
        *loose_references(text),
    ]
    problems = sorted(findings, key=lambda finding: finding.line)
    words = count_words(text)
    said = "No problem found" if not problems else f"{counted(len(problems), 'problem')} found"
    return {
        "ok": True,
        "passed": not problems,
        "problems": [problem.to_json() for problem in problems],
        "sections": [
            {"title": each.text, "level": each.level, "line": each.line, "words": section_words(text, found, n)}
            for n, each in enumerate(found)
        ],
        "words": words,
        "text": f"{said} in {counted(len(found), 'heading')} and {counted(words, 'word')}.",
    }
