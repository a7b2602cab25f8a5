"""The bundled skill web-research: its tools over hard inputs, and a run that searches, reads, quotes and cites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agrun_host.skills import read_skill_files
from agrun_wasm import RunResult, Skill
from agrun_wasm.research.own_sources import own_sources_start
from agrun_wasm.skills.parameters import check_against
from agrun_wasm.skills.tools import is_terminal_kind
from agrun_wasm.text.urls_in_text import find_urls
from tests.clock import FakeClock
from tests.conformance.web import FakeFetch, FakeSearch
from tests.kit import calls, details, scripted

FOLDER = Path(__file__).parents[2] / "skills" / "web-research"
SKILL = Skill.from_files(read_skill_files(FOLDER), trust_tools=True)
source_table = SKILL.tools["source_table"].function
quote_check = SKILL.tools["quote_check"].function

PAGE = """# The Vlist bridge

The **Vlist** bridge [opens](https://roads.example/vlist_(north)) in May – “weather permitting” –, the
council said.[3] It cost 3.5\u00a0million euros, not 2,400,000.

> Residents don’t expect delays.

- A first item
- A second item with cafe\u0301 and `a_b`

| lane | width |
|---|---|
| left | 3 m |

The ferry stops. The ferry stops on Monday.
橋は五月に
開く。
"""


def test_the_skill() -> None:
    assert SKILL.diagnostics == []
    assert list(SKILL.tools) == ["source_table", "quote_check"]
    assert not any(is_terminal_kind(tool.result_kind) for tool in SKILL.tools.values())
    for told in ("web_search", "read_url", "final_answer", "citations", "policy_not_allow", *SKILL.tools):
        assert told in SKILL.body
    assert all(path in SKILL.body for path in SKILL.resources)


#: quote -> how it is found, and the line
FOUND: dict[str, tuple[str, int]] = {
    "Residents don’t expect delays": ("exact", 6),
    "  not 2,400,000 ": ("exact", 4),
    "The Vlist bridge opens in May": ("form", 3),
    'opens in May - "weather permitting" -, the council said': ("form", 3),
    "'weather permitting'": ("form", 3),
    "the council\n\tsaid. It cost 3.5 million euros": ("form", 3),
    "Residents don't expect delays": ("form", 6),
    "[R]esidents don't expect delays.": ("form", 6),
    "It cost 3.5 million euros, not 2,400,000,": ("form", 4),
    "“It cost 3.5 million euros”": ("form", 4),
    "A second item with café and a_b": ("form", 9),
    "A first item A second item": ("form", 8),
    "left 3 m": ("form", 13),
    "五月に開く": ("form", 16),
    "RESIDENTS don't expect": ("case", 6),
    "the vlist Bridge opens": ("case", 3),
    "bridge opens in May ... It cost 3.5 million euros": ("form", 3),
    "It cost […] 2,400,000": ("form", 4),
    "Residents don't [...] delays": ("form", 6),
    "the vlist bridge … stops on Monday": ("case", 1),
}


@pytest.mark.parametrize("quote", FOUND)
def test_quotes_that_stand_in_the_text(quote: str) -> None:
    result = quote_check(PAGE, [quote])
    (checked,) = result["quotes"]
    assert (result["allFound"], checked["match"], checked["line"]) == (True, *FOUND[quote]), checked
    assert checked["quote"] == quote


#: quote -> what the page says where it differs; None where nothing comes near
ALTERED: dict[str, list[tuple[str, str]] | None] = {
    "It cost 3.6 million euros": [("3.6", "3.5")],
    "It cost 35 million euros": [("35", "3.5")],
    "not 2,500,000": [("2,500,000", "2,400,000")],
    "Residents do not expect delays": [("do not", "don’t")],
    "Residents expect delays": [("", "don’t")],
    "The old Vlist bridge opens in May": [("old", "")],
    "opens in May ... Residents didn't expect delays": [("didn't", "don’t")],
    "It cost 3.5 million dollars": [("dollars", "euros")],
    "The ferry, stops": [],
    "六月に開く": [("六", "五")],
    "ridge opens in May": [("ridge", "bridge")],
    "Nothing like that was ever written here": None,
    "…and then everything stopped": None,
}


@pytest.mark.parametrize("quote", ALTERED)
def test_quotes_that_do_not(quote: str) -> None:
    result = quote_check(PAGE, [quote])
    (checked,) = result["quotes"]
    assert (result["allFound"], checked["found"], checked["match"]) == (False, False, "none")
    expected = ALTERED[quote]
    if expected is None:
        assert checked["nearest"] is None
        return
    assert [(change["quote"], change["page"]) for change in checked["differences"]] == expected, checked
    assert 0.5 <= checked["nearest"]["likeness"] <= 1
    assert ("note" in checked) == (not expected)


def test_parts_round_an_omission_keep_their_order() -> None:
    (checked,) = quote_check(PAGE, ["3.5 million euros ... The Vlist bridge opens"])["quotes"]
    assert (checked["found"], checked["nearest"]) == (False, None)
    assert "order" in checked["note"]
    (checked,) = quote_check(PAGE, ["The Vlist bridge ... cost 3.6 million ... delays"])["quotes"]
    assert checked["part"] == "cost 3.6 million"
    (checked,) = quote_check(PAGE, ["The Vlist bridge ... Residents don't expect"])["quotes"]
    assert checked["omittedWords"] > 15
    assert "omittedWords" not in quote_check(PAGE, ["The ferry stops."])["quotes"][0]


def test_how_often_and_how_much_of_the_page_is_shown() -> None:
    (checked,) = quote_check(PAGE, ["The ferry stops"])["quotes"]
    assert checked["times"] == 2
    long = "start " + "word " * 4000 + "end"
    assert len(quote_check(long, ["start ... end"])["quotes"][0]["passage"]) < 500


def test_several_quotes() -> None:
    result = quote_check(PAGE, ["The ferry stops", "The ferry sinks", " "])
    assert [entry["found"] for entry in result["quotes"]] == [True, False]
    assert result["text"] == "1 of 2 quotes stand in the text."


@pytest.mark.parametrize(
    ("text", "quotes", "error"),
    [
        (PAGE, [], "no quote"),
        (PAGE, ["", " \n", "“…”"], "no quote"),
        ("", ["x y"], "no words"),
        ("** \u200b\n", ["x y"], "no words"),
    ],
)
def test_refused_quotes(text: str, quotes: list[str], error: str) -> None:
    result = quote_check(text, quotes)
    assert result["ok"] is False
    assert error in result["error"]
    assert result["hint"]


WORDS = st.lists(
    st.sampled_from(
        ["bridge", "opens", "May", "3.5", "don't", "“so”", "–", "[x](https://e.example/)", "**b**", "五月", "\u0301e"]
    )
)


@settings(deadline=None)
@given(before=WORDS, quote=WORDS.filter(bool), after=WORDS)
def test_whatever_is_copied_is_found(before: list[str], quote: list[str], after: list[str]) -> None:
    """Copied with other white space, so that only the form may differ."""
    page = " ".join(before) + "\n" + "  ".join(quote) + "\n" + " ".join(after)
    result = quote_check(page, [" ".join(quote)])
    assert not result["ok"] or result["allFound"], (page, result)


@settings(deadline=None)
@given(st.text(), st.lists(st.text(), max_size=3))
def test_no_text_makes_it_fail(text: str, quotes: list[str]) -> None:
    assert quote_check(text, quotes)["ok"] in (True, False)


SOURCES: list[dict[str, str]] = [
    {"url": "https://Roads.example/vlist/?utm_source=mail", "title": "Vlist | news [new]"},
    {"url": "https://council.example/minutes_(may", "date": "2024-05-02", "note": "cost"},
    {"url": "https://roads.example:443/vlist#top", "title": "Other title", "date": "May 2024", "note": "opening"},
    {"url": "ftp://files.example/x"},
    {"url": " https://roads.example/vlist ", "note": "opening"},
    {"url": "https://roads.example/vlist", "note": "delay"},
]


def test_a_page_has_one_row() -> None:
    result = source_table(SOURCES)
    assert result["markdown"].split("\n") == [
        "| # | Source | Date | Note |",
        "| --- | --- | --- | --- |",
        (
            "| 1 | [Vlist \\| news \\[new\\]](https://Roads.example/vlist/?utm_source=mail) | May 2024 "
            "| opening; delay |"
        ),
        ("| 2 | [https://council.example/minutes_(may](https://council.example/minutes_%28may) | 2024-05-02 | cost |"),
    ]
    assert [(entry["index"], entry["into"]) for entry in result["merged"]] == [(2, 1), (4, 1), (5, 1)]
    assert [(entry["index"], entry["url"]) for entry in result["skipped"]] == [(3, "ftp://files.example/x")]
    assert result["text"] == "2 sources, 3 double, 1 left out: no http or https URL."


def test_columns_only_where_they_are_filled() -> None:
    bare = source_table([{"url": "https://a.example"}])
    assert bare["markdown"].split("\n")[0] == "| # | Source |"
    dated = source_table([{"url": "https://a.example", "title": "A"}, {"url": "https://b.example", "date": "1999"}])
    assert dated["markdown"].split("\n")[2] == "| 1 | [A](https://a.example) | – |"


def test_a_list_is_taken_for_the_answers_own_sources() -> None:
    result = source_table(SOURCES, "list")
    assert result["markdown"].split("\n")[1] == (
        "2. [https://council.example/minutes_(may](https://council.example/minutes_%28may) (2024-05-02): cost"
    )
    answer = f"The bridge opens in May [1].\n\nSources:\n{result['markdown']}"
    assert own_sources_start(answer) is not None
    assert own_sources_start(f"It opens.\n\n{source_table(SOURCES)['markdown']}") is None


@pytest.mark.parametrize(
    "url",
    [
        "https://e.example/a_(b)",
        "https://e.example/a(b",
        "https://e.example/?q=a|b",
        "https://e.example/?q=a%20b",
        "https://bücher.example/ü",
    ],
)
@pytest.mark.parametrize("form", ["table", "list"])
def test_urls_come_out_whole(url: str, form: str) -> None:
    markdown = source_table([{"url": url, "title": "T"}], form)["markdown"]
    written = url.replace("a(b", "a%28b").replace("|", "%7C")
    assert find_urls(markdown) == [written]


@pytest.mark.parametrize("sources", [[], [{"url": "about:blank"}], [{"url": "example.org"}]])
def test_refused_sources(sources: list[dict[str, str]]) -> None:
    result = source_table(sources)
    assert result["ok"] is False
    assert "url" in result["hint"]


@pytest.mark.parametrize(
    ("tool", "args", "expected"),
    [
        (
            "source_table",
            {"items": [{"link": "https://a.example", "name": "A"}]},
            {"sources": [{"url": "https://a.example", "title": "A"}]},
        ),
        ("quote_check", {"page": "x", "quotations": ["x"]}, {"text": "x", "quotes": ["x"]}),
    ],
)
def test_aliases(tool: str, args: dict[str, Any], expected: dict[str, Any]) -> None:
    checked = check_against(SKILL.tools[tool].parameters, args)
    assert (checked.fault, checked.args) == (None, expected)


@pytest.mark.parametrize(
    ("tool", "args", "key"),
    [
        ("source_table", {"sources": [{"title": "A"}]}, "sources[0].url"),
        ("source_table", {"sources": [{"url": "https://a.example"}], "form": "csv"}, "form"),
        ("quote_check", {"text": "x", "quotes": ["a", 3]}, "quotes[1]"),
        ("quote_check", {"quotes": ["a"]}, "text"),
    ],
)
def test_faults_name_the_argument(tool: str, args: dict[str, Any], key: str) -> None:
    fault = check_against(SKILL.tools[tool].parameters, args).fault
    assert fault is not None
    assert fault.key == key


ROADS, COUNCIL = "https://roads.example/vlist", "https://council.example/minutes"
SEARCH = [
    {"title": "Vlist bridge", "url": ROADS, "snippet": "The bridge opens in April ..."},
    {"title": "Minutes", "url": f"{COUNCIL}?utm_source=search", "snippet": "Agenda of the council"},
    {"title": "Travel blog", "url": "https://blog.example/vlist", "snippet": "Our trip to the bridge"},
]
PAGES: list[dict[str, Any]] = [
    {
        "url": ROADS,
        "headers": {"content-type": "text/html"},
        "body": "<title>Vlist bridge</title><h1>Vlist bridge</h1><p>The bridge <b>opens</b> in May 2024.</p>",
    },
    {
        "url": f"{COUNCIL}?utm_source=search",
        "headers": {"content-type": "text/html"},
        "body": "<title>Minutes</title><p>The council puts the cost at &ldquo;3.5 million euros&rdquo;.</p>",
    },
    {
        "url": "https://blog.example/vlist",
        "status": 403,
        "headers": {"content-type": "text/html"},
        "body": "<title>Just a moment...</title><script>window._cf_chl_opt={}</script>",
    },
]
ANSWER = f"The bridge opens in May 2024 ([Vlist bridge]({ROADS})) and cost “3.5 million euros” ([minutes]({COUNCIL}))."
ALLOWED = {"web_search": "allow", "read_url": "allow"}


async def researched(replies: list[dict[str, Any]], **keys: Any) -> tuple[RunResult, FakeFetch, list[Any]]:
    """The result of a run that first reads and activates the skill, what was fetched, and the model's requests."""
    clock = FakeClock()
    fetch, search = FakeFetch(PAGES, clock), FakeSearch(SEARCH)
    head = [
        calls(("read_agent_skill", {"skillName": "web-research"})),
        calls(("use_agent_skill", {"skillName": "web-research"})),
    ]
    parts: dict[str, Any] = {"skills": [SKILL], "webSearch": search, "fetch": fetch, "clock": clock, **keys}
    runtime, model = scripted([*head, *replies], **{"actionPolicy": ALLOWED, **parts})
    result = await runtime.run("When does the Vlist bridge open, and what did it cost?")
    model.check()
    return result, fetch, model.requests


async def test_a_whole_run() -> None:
    quote = {"text": "The council puts the cost at “3.5 million euros”.", "quotes": ['"3.5 million euros"']}
    result, fetch, requests = await researched(
        [
            calls(("web_search", {"query": "Vlist bridge opening cost", "limit": 3})),
            calls(*(("read_url", {"url": entry["url"]}) for entry in SEARCH)),
            calls(("execute_skill_tool", {"toolName": "quote_check", "args": quote})),
            calls(("final_answer", {"answer": ANSWER, "citations": [ROADS, COUNCIL]})),
        ]
    )
    assert (result.status, result.error) == ("completed", None)
    assert [request["url"] for request in fetch.requests] == [entry["url"] for entry in SEARCH]
    assert "blocked_page" in requests[4].messages[-1].text
    history = result.state["toolContext"]["history"]
    checked = next(entry["output"] for entry in history if entry["actionName"] == "execute_skill_tool")
    assert checked["resultKind"] == "lookup"
    assert checked["result"]["quotes"][0]["match"] == "form"
    assert result.output is not None
    assert (result.output["citations"], result.output["citationsStatus"]) == (
        [ROADS, f"{COUNCIL}?utm_source=search"],
        "verified",
    )
    assert result.text == (f"{ANSWER}\n\nSources:\n- [Vlist bridge]({ROADS})\n- [Minutes]({COUNCIL}?utm_source=search)")


async def test_numbered_sources_of_the_tool_are_the_answers_own() -> None:
    """The list that `source_table` makes ends the answer, and no second one is added."""
    listed = source_table([{"url": ROADS, "title": "Vlist bridge"}, {"url": COUNCIL}], "list")["markdown"]
    answer = f"It opens in May 2024 [1] and cost 3.5 million euros [2].\n\nSources:\n{listed}"
    result, _, _ = await researched(
        [
            calls(("web_search", {"query": "Vlist bridge opening cost"})),
            calls(("read_url", {"url": ROADS}), ("read_url", {"url": f"{COUNCIL}?utm_source=search"})),
            calls(("execute_skill_tool", {"toolName": "source_table", "args": {"sources": [{"url": ROADS}]}})),
            calls(("final_answer", {"answer": answer, "citations": []})),
        ]
    )
    assert result.text == answer
    assert result.output is not None
    assert len(result.output["citations"]) == 2


async def test_a_plan_of_reads_and_a_review() -> None:
    """A plan with a dead page goes on with what it has; an answer that cites too little comes back once."""
    reads = [{"type": "action", "name": "read_url", "args": {"url": entry["url"]}} for entry in SEARCH]
    result, _, requests = await researched(
        [
            calls(("plan", {"actions": reads, "synthesize_instruction": "direct", "partial_ok": True})),
            calls(("final_answer", {"answer": f"In May 2024 ([page]({ROADS})).", "citations": []})),
            calls(("final_answer", {"answer": ANSWER, "citations": []})),
        ],
        requestedCitations={"minUrlCount": 2},
    )
    assert [entry["have"] for entry in details(result, "citation-review")] == [1]
    assert COUNCIL in requests[-1].messages[-1].text
    assert result.text is not None
    assert result.text.startswith(ANSWER)


async def test_what_needs_approval_is_refused_in_a_plan() -> None:
    """The instructions' advice: the same calls on their own wait for a person instead."""
    read = {"type": "action", "name": "read_url", "args": {"url": ROADS}}
    result, fetch, _ = await researched(
        [
            calls(("plan", {"actions": [read], "synthesize_instruction": "direct"})),
            calls(("read_url", {"url": ROADS})),
        ],
        actionPolicy={},
    )
    (failed,) = details(result, "plan-validation-failed")
    assert [problem["code"] for problem in failed["problems"]] == ["policy_not_allow"]
    assert (result.status, fetch.requests) == ("blocked", [])
