"""Which texts end with a list of sources of their own."""

from __future__ import annotations

import pytest

from agrun_wasm.research.own_sources import own_sources_start

LISTS = {
    "links in a list": "Sources:\n- [Ebb](https://ebb.example/t)",
    "a blank line after the title": "Sources:\n\n- [Ebb](https://ebb.example/t)\n- [Flow](https://flow.example)",
    "blank lines between items": "Sources\n\n- [Ebb](https://ebb.example/t)\n\n- [Flow](https://flow.example)\n",
    "a heading, numbered": "## Quellen\n\n1. [Ebbetafel](https://ebb.example/t)\n2. https://ebb.example/t#sechs",
    "numbered with a bracket": "### Bronnen\n1) https://ebb.example/t",
    "an underlined heading": "Quellen\n-------\n\n- https://ebb.example/t",
    "bold title": "**Fuentes**\n\n* <https://ebb.example/t>",
    "Chinese": "参考资料：\n1、[潮汐](https://ebb.example/t)",
    "Japanese, no colon": "出典\n\n- 潮見表 https://ebb.example/t",
    "Arabic": "المصادر:\n- [الجدول](https://ebb.example/t)",
    "links without a list": "Sources:\n[Ebb](https://ebb.example/t)\n[Flow](https://flow.example)",
    "links on one line": "Sources:\n[Ebb](https://ebb.example/t), [Flow](https://flow.example)",
    "a bare URL": "Source:\n\nhttps://ebb.example/t",
    "numbered references": "References\n\n[1] Ebb tables. https://ebb.example/t\n[2]: https://flow.example",
    "footnotes": "Notes\n\n[^1]: [Ebb](https://ebb.example/t)",
    "a name, then the link": "Sources:\n- **Ebb tables**: [ebb.example](https://ebb.example/t)",
    "a name, a dash, the URL": "Sources:\n- Ebb tables – https://ebb.example/t (accessed in May)",
    "a link, then words": "Sources:\n- [Ebb](https://ebb.example/t) – low water at six",
    "the URL on its own line": "Sources:\n1. Ebb tables\n   https://ebb.example/t\n2. Flow tables\n   https://flow.example",
    "the URL on its own line, not indented": "Sources:\n1. Ebb tables\nhttps://ebb.example/t",
    "nested": "Sources:\n- Ebb:\n  - https://ebb.example/t",
    "title right after prose": "Low water.\nSources:\n- https://ebb.example/t",
    "parentheses in a URL": "Sources:\n- [Ebb (sea)](https://ebb.example/wiki/Ebb_(sea))",
    "a link with a title": 'Sources:\n- [Ebb](https://ebb.example/t "Ebb tables")',
    "brackets in a label": r"Sources:" + "\n" + r"- [Ebb \[old\] and [new]](https://ebb.example/t)",
}

NO_LISTS = {
    "empty": "",
    "prose": "Low water is at six.",
    "prose that starts with the word": "Sources of error include wind.\n\nCheck again tomorrow.",
    "an inline link": "Low water is at six ([Ebb](https://ebb.example/t)).",
    "a label before an inline link": "Source: [Ebb](https://ebb.example/t)",
    "findings with inline links": "Two mills:\n- One grinds rye ([n](https://n.example)).\n- One saws oak [s](https://s.example).",
    "a list without URLs": "Sources:\n- The ebb tables\n- The harbour master",
    "one item without a URL": "Sources:\n- The harbour master\n- https://ebb.example/t",
    "a list that is not last": "Sources:\n- https://ebb.example/t\n\nThat is all.",
    "no title": "- [Ebb](https://ebb.example/t)",
    "a paragraph above": "It is six,\nas the tables say.\n- https://ebb.example/t",
    "a rule above": "It is six.\n\n---\n\n- https://ebb.example/t",
    "inside a fence": "Sources:\n\n```\n- https://ebb.example/t\n```",
    "other schemes": "Sources:\n- ftp://ebb.example/t",
    "indented lines alone": "Code:\n\n    x = 1",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS.keys())
@pytest.mark.parametrize("before", ["", "Low water is at six.\n\n"])
def test_lists(text: str, before: str) -> None:
    start = own_sources_start(before + text)
    assert start is not None
    assert start == len(before) + (len("Low water.\n") if text.startswith("Low water.") else 0)


@pytest.mark.parametrize("text", NO_LISTS.values(), ids=NO_LISTS.keys())
def test_no_lists(text: str) -> None:
    assert own_sources_start(text) is None


@pytest.mark.parametrize(
    "hostile", ["[" * 20_000, "https://" * 5_000 + " x", "[a](" * 5_000, "- " * 20_000, "\n" * 50_000 + "x"]
)
def test_hostile_texts_cost_little(hostile: str) -> None:
    assert own_sources_start("Sources:\n- " + hostile) in (0, None)
