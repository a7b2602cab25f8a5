"""What an answer cites, what of it was read, and the Sources section and disclosure its text is given. Rules: 2.10.

Pure. Owned here: the citation table, the form of a Sources list, and where additions stand in a text. Must not know
reviews, nor which kinds of answers are annotated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from agrun_wasm.contracts.state import ResearchContext, Source
from agrun_wasm.research.sources import reading_order
from agrun_wasm.text.blocks import TRAILING_BLOCKS
from agrun_wasm.text.fences import trailing_fences
from agrun_wasm.text.urls import canonical_url

CitationsStatus = Literal["none", "unverified", "verified", "partly_verified"]

#: (something was read, something is cited, an unread page is cited) -> status
_STATUS: dict[tuple[bool, bool, bool], CitationsStatus] = {
    (False, False, False): "none",
    (False, True, True): "unverified",
    (True, False, False): "verified",
    (True, True, False): "verified",
    (True, True, True): "partly_verified",
}


class Citations(NamedTuple):
    """`citations` for the output, as asked for. `unread` are the cited URLs that were not read, as cited; `cited_read`
    counts the distinct read pages among the cited."""

    citations: list[str]
    status: CitationsStatus
    unread: list[str]
    cited_read: int


def cite(text: str, extra: list[str], research: ResearchContext) -> Citations:
    """The citations of a text and of the decision's own list (`extra`), in this order."""
    read = _read_pages(research)
    cited: dict[str, str] = {}  # ids of read sources, in order of first citation, with their URL
    unread: dict[str, str] = {}
    for url in _urls(text, extra):
        canonical = canonical_url(url)
        source = read.get(canonical)
        if source is None:
            unread.setdefault(canonical, url)
        else:
            cited.setdefault(source.id, source.url)
    status = _STATUS[bool(read), bool(cited or unread), bool(unread)]
    citations = list(cited.values()) or [source.url for source in reading_order(research)]
    return Citations(citations, status, list(unread.values()), len(cited))


def _read_pages(research: ResearchContext) -> dict[str, Source]:
    """Read sources by every canonical URL a text may cite them under: the one asked for, and where redirects led."""
    own = {source.canonical: source for source in research.sources}
    pages = {canonical: source for canonical, source in own.items() if source.state == "read"}
    for result in research.read_sources:
        source = pages.get(canonical_url(result["url"])) if result["ok"] else None
        final = result.get("finalUrl")
        if source is not None and final:
            pages.setdefault(canonical_url(final), source)
    return pages


def _urls(text: str, extra: list[str]) -> Iterator[str]:
    """The URLs of the text, then of each entry of a decision's citations: itself, or those in it (`[title](url)`)."""
    from agrun_wasm.text.urls_in_text import find_urls

    yield from find_urls(text)
    for entry in map(str.strip, extra):
        if re.fullmatch(r"https?://\S+", entry, re.IGNORECASE):
            yield entry
        else:
            yield from find_urls(entry)


def has_own_sources(text: str) -> bool:
    """Does the text end with a list of sources of its own?"""
    return _own_sources_start(text, trailing_fences(text, TRAILING_BLOCKS)) is not None


def _own_sources_start(text: str, end: int) -> int | None:
    from agrun_wasm.research.own_sources import own_sources_start

    return own_sources_start(text[:end])


def sources_section(citations: list[str], research: ResearchContext) -> str:
    """`Sources:` and a line for each citation, "" for none."""
    titles = {source.url: source.title for source in research.sources}
    lines = [f"- [{_link_text(titles.get(url) or url)}]({_link_target(url)})" for url in citations]
    return "\n".join(["Sources:", *lines]) if lines else ""


def _link_text(title: str) -> str:
    return re.sub(r"[\\\[\]]", r"\\\g<0>", " ".join(title.split()))


def _link_target(url: str) -> str:
    # Balanced parentheses may stand in a Markdown link target, others would end it.
    if url.count("(") != url.count(")"):
        url = url.replace("(", "%28").replace(")", "%29")
    return url.replace(" ", "%20").replace("<", "%3C").replace(">", "%3E")


def append_sources(text: str, section: str) -> str:
    """The text with the section after its last paragraph, before the trailing blocks."""
    return _inserted(text, trailing_fences(text, TRAILING_BLOCKS), section)


def append_disclosure(text: str, sentence: str) -> str:
    """The text with the sentence after its last paragraph, before a list of sources of its own and trailing blocks."""
    end = trailing_fences(text, TRAILING_BLOCKS)
    own = _own_sources_start(text, end)
    return _inserted(text, end if own is None else own, sentence)


def _inserted(text: str, at: int, addition: str) -> str:
    """`addition` at an offset, set off by one blank line on both sides; only blank lines at the seams give way."""
    if not addition:
        return text
    before, after = _without_last_blank_lines(text[:at]), _without_first_blank_lines(text[at:])
    return "\n\n".join(part for part in (before, addition, after) if part)


def _without_last_blank_lines(text: str) -> str:
    end = len(text.rstrip())
    return text[: text.find("\n", end)] if end and "\n" in text[end:] else text if end else ""


def _without_first_blank_lines(text: str) -> str:
    begin = len(text) - len(text.lstrip())
    return text[text.rfind("\n", 0, begin) + 1 :] if begin < len(text) else ""


def disclosure(have: int, need: int) -> str:
    """One sentence that says an answer falls short of the sources that were asked for."""
    return f"Only {have} of the {need} requested sources could be read and cited."
