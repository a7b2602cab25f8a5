"""The bundled skill report-writer: its tools over hard inputs, and runs that write, revise and publish a report."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agrun_host.skills import read_skill_files
from agrun_wasm import ModelRequest, RunResult, Runtime, Skill
from agrun_wasm.contracts.model import ModelEvent
from agrun_wasm.providers.scripted import ScriptedProvider
from agrun_wasm.skills.parameters import check_against
from agrun_wasm.text.markdown import headings, structure
from tests.clock import FakeClock
from tests.kit import CountedIds, calls, details

FOLDER = Path(__file__).parents[2] / "skills" / "report-writer"
SKILL = Skill.from_files(read_skill_files(FOLDER), trust_tools=True)
section_brief = SKILL.tools["section_brief"].function
assemble_report = SKILL.tools["assemble_report"].function
deliver_report = SKILL.tools["deliver_report"].function
check_report = SKILL.tools["check_report"].function


def section(title: str, body: str = "Text.") -> dict[str, str]:
    return {"title": title, "body": body}


def document(*sections: dict[str, str], **keys: Any) -> str:
    result = assemble_report("Report", list(sections), **keys)
    assert result["ok"], result
    text = result["markdown"]
    assert isinstance(text, str)
    return text


def outline(text: str) -> list[str]:
    return [f"{'#' * heading.level} {heading.text}" for heading in headings(text)]


def problems(text: str, *required: str, **keys: Any) -> list[tuple[str, int | None]]:
    result = check_report(text, list(required), **keys)
    assert result["passed"] == (not result["problems"])
    return [(problem["code"], problem.get("line")) for problem in result["problems"]]


def test_the_skill() -> None:
    assert SKILL.diagnostics == []
    assert {name: tool.result_kind for name, tool in SKILL.tools.items()} == {
        "section_brief": "preparatory",
        "assemble_report": "intermediate",
        "deliver_report": "final",
        "check_report": "intermediate",
    }
    assert SKILL.tools["deliver_report"].may_finalize
    told = SKILL.body + "".join(SKILL.resources.values())
    for name in (
        "workspace_write",
        "workspace_append",
        "workspace_insert_after_section",
        "workspace_propose_patch",
        "workspace_apply_patch",
        "workspace_publish_candidate",
        "synthesize_per_action",
        "synthesize_instruction",
        "stitch",
        *SKILL.tools,
    ):
        assert name in told
    assert all(path in SKILL.body for path in SKILL.resources)


#: a section's body -> the document's headings below its title
BODIES: dict[str, list[str]] = {
    "Text.": [],
    "# Costs\n\nText.": [],
    "## **costs**\nText.": [],
    "Costs\n=====\n\nText.": [],
    "# Other\n\nText.": ["### Other"],
    "Text.\n\n# A\n\n## B\n\n# C": ["### A", "#### B", "### C"],
    "Text.\n\n#### A\n\n###### B\n\n#### C": ["### A", "#### B", "### C"],
    "Text.\n\n#### A\n\n## B\n\n### C": ["### A", "### B", "#### C"],
    "A\n=\n\nText.\n\nB\n-\n\nText.": ["### A", "#### B"],
    "Two\nlines\n---\n\nText.": ["### Two lines"],
    "```\n# a\n```\n\n~~~\n## b\n~~~": [],
    "````\n```\n# a\n````\n\n# B": ["### B"],
    "- ```\n  # a\n\n# B": ["### B"],
    "> # a\n\n- # b\n\nText.": [],
    "    # a\n\nText.": [],
    "#hashtag\n\n\\# no": [],
    "# A #\n\nText.\n\n# B \\#\n\nText.\n\n# C#": ["### A", "### B \\#", "### C#"],
    "B #\n---\n\nText.": ["### B \\#"],
    "# A\n\n# A\n\n## A\n\n## A": ["### A", "### A (2)", "#### A", "#### A (2)"],
    "# A\n\n# A (2)\n\n# a": ["### A", "### A (2)", "### a (3)"],
    "# A\n\n## B\n\n### C\n\n#### D\n\n##### E\n\n###### F": [
        "### A",
        "#### B",
        "##### C",
        "###### D",
        "###### E",
        "###### F",
    ],
    "<div>\n# a\n</div>\n\n# B": ["### B"],
    "| a |\n|---|\n| # b |": [],
    "Text.\r\n\r\n# A\r\nB": ["### A"],
    "#\n\nText.": ["### "],
    "Open:\n\n```py\n# a": [],
    "Open:\n\n~~~~\n```\n# a": [],
}


@pytest.mark.parametrize("body", BODIES)
def test_headings_of_a_body_stand_below_its_title(body: str) -> None:
    text = document(section("Costs", body), section("Risks"))
    assert outline(text) == ["# Report", "## Costs", *BODIES[body], "## Risks"]
    assert structure(text)["duplicates"] == 0
    assert "\r" not in text


@pytest.mark.parametrize(
    "code",
    [
        "```\n# a\n\n\n## a\n```",
        "~~~ md title\n# Costs\n~~~",
        "````md\n```\n# x\n```\n````",
        "    # indented\n\n    ## code",
        "- item\n\n  ```\n  # nested\n  ```",
        "1. one\n\n   ~~~\n   a\n   ===\n   ~~~",
    ],
)
def test_code_is_left_alone(code: str) -> None:
    assert f"\n\n{code}\n\n## Risks" in document(section("Costs", f"Text.\n\n{code}"), section("Risks"))
    assert f"\n\n{code}\n\n### B\n" in document(section("Costs", f"# A\n\n{code}\n\n# B\n\nx"), section("Risks"))


def test_the_whole_document() -> None:
    result = assemble_report(
        "# Two bridges #",
        [section("## North", "# North\n\nIt stands.\n"), section("South", "\n\nIt fell.  ")],
        intro="# Two bridges\n\nWhich first?",
        outro="# Sources\n\n- [a](https://a.example)",
        contents="Inhalt",
    )
    assert result["markdown"] == (
        "# Two bridges\n\nWhich first?\n\n## Inhalt\n\n- North\n- South\n- Sources\n\n## North\n\nIt stands.\n\n"
        "## South\n\nIt fell.  \n\n## Sources\n\n- [a](https://a.example)\n"
    )
    assert result["sections"] == [{"title": "North", "words": 2}, {"title": "South", "words": 2}]
    assert (result["words"], result["characters"]) == (19, len(result["markdown"]))
    assert result["notes"] == []
    assert result["text"] == "A report with 2 sections and 19 words."


def test_sections_of_one_name_are_told_apart() -> None:
    result = assemble_report("R", [section("Costs"), section("**costs**"), section("R")], contents="Costs")
    assert outline(result["markdown"]) == ["# R", "## Costs", "## Costs (2)", "## **costs** (3)", "## R"]
    assert "- Costs (2)\n- **costs** (3)\n- R\n" in result["markdown"]
    assert len(result["notes"]) == 2


def test_a_document_below_a_heading() -> None:
    assert outline(document(section("A", "# B\n\nx"), level=3, intro="# C\n\nx")) == [
        "### Report",
        "#### C",
        "#### A",
        "##### B",
    ]
    assert outline(document(section("A"), level=2.0)) == ["## Report", "### A"]


def test_an_open_fence_is_closed_and_told() -> None:
    result = assemble_report("R", [section("A", "````py\n# x"), section("B")])
    assert "````py\n# x\n````\n\n## B" in result["markdown"]
    assert result["notes"] == ["the section 'A': a code block that was left open was closed"]


#: sections -> what the refusal says
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"sections": []}, "no section"),
    ({"title": " # ", "sections": [section("A")]}, "no title"),
    ({"sections": [section("A"), section("##")]}, "section 2 has no title"),
    ({"sections": [section("A"), section("B", " \n")]}, "'B' has no text"),
    ({"sections": [section("B", "# B\n\n<!-- section failed: timeout -->")]}, "'B' has no text"),
    ({"sections": [section("A", "x\n\n<!-- open")]}, "'A' leaves an HTML comment or block open"),
    ({"sections": [section("A", "<pre>\nx")]}, "'A' leaves an HTML comment or block open"),
    ({"sections": [section("A")], "intro": "<script>"}, "intro or outro leaves"),
    ({"sections": [section("A")], "level": 0}, "level must be 1 to 4"),
    ({"sections": [section("A")], "level": 5}, "level must be 1 to 4"),
    (
        {
            "sections": [
                section("A", "x [1]\n\n[1]: https://a.example"),
                section("B", "y [1]\n\n[1]: https://b.example"),
            ]
        },
        "[1] leads to different places",
    ),
    ({"sections": [section("A", "x[^n]\n\n[^n]: One."), section("B", "y[^n]\n\n[^N]: Two.")]}, "[^N] leads"),
]


@pytest.mark.parametrize(("args", "error"), REFUSED)
@pytest.mark.parametrize("tool", [assemble_report, deliver_report])
def test_refused_documents(tool: Any, args: dict[str, Any], error: str) -> None:
    result = tool(**{"title": "R", **args})
    assert result["ok"] is False
    assert error in result["error"]
    assert result["hint"]
    assert "markdown" not in result


def test_the_same_reference_twice_is_none_of_these() -> None:
    same = "x [1]\n\n[1]: https://a.example"
    code = "```\n[1]: https://b.example\n```"
    assert document(section("A", same), section("B", same), section("C", code))


PIECES = st.sampled_from(
    [
        "# A",
        "## A",
        "### B ##",
        "###### C",
        "A\n===",
        "two\nlines\n---",
        "A #\n-",
        "#",
        "Text.",
        "text *a* `#`",
        "```\n# x\n```",
        "~~~\n# x",
        "````\n```\n\n",
        "- a\n  - b\n\n  # c",
        "> # q",
        "1. x\n   ```\n   # y",
        "    # code",
        "<div>\n# a",
        "<!-- # c -->",
        "***",
        "[a]: https://a.example",
        "\\# x",
        "名\n--\n",
    ]
)
TEXTS = st.lists(PIECES, min_size=1, max_size=6).map("\n\n".join)


@settings(deadline=None)
@given(
    sections=st.lists(st.tuples(st.sampled_from(["A", "B #", "名", "## C ##", "*a*"]), TEXTS), min_size=1, max_size=4),
    intro=st.just("") | TEXTS,
    outro=st.just("") | TEXTS,
    contents=st.sampled_from(["", "Contents", "A"]),
    level=st.integers(1, 4),
)
def test_whatever_is_joined_has_a_sound_structure(
    sections: list[tuple[str, str]], intro: str, outro: str, contents: str, level: int
) -> None:
    given_ = [section(title, f"Lead.\n\n{body}") for title, body in sections]
    result = assemble_report("Report", given_, intro, outro, contents, level)
    if not result["ok"]:
        return
    found = headings(result["markdown"])
    assert structure(result["markdown"])["duplicates"] == 0
    assert (found[0].level, found[0].text) == (level, "Report")
    assert all(here.level <= before.level + 1 for before, here in pairwise(found))
    own = [heading for heading in found if heading.level == level + 1]
    assert len(own) >= len(sections) + bool(contents)
    checked = check_report(result["markdown"])
    codes = {problem["code"] for problem in checked["problems"]}
    assert codes <= {"empty_section", "loose_reference"}, checked
    again = assemble_report("Report", [section("A", result["markdown"])], level=1)
    assert not again["ok"] or "open" not in str(again["notes"])


CHECKED: dict[str, tuple[str, list[tuple[str, int | None]]]] = {
    "sound": ("# A\n\nIntro.\n\n## B\n\nText.\n\n### C\n\nText.\n\n## D\n\nText.\n", []),
    "no headings": ("Text only.", []),
    "duplicate": ("# A\n\n## B\n\nx\n\n## C\n\nx\n\n## *b*\n\nx", [("duplicate_heading", 11)]),
    "same name under another parent": ("# A\n\n## B\n\n### X\n\nx\n\n## C\n\n### X\n\nx", []),
    "duplicate setext": ("A\n=\n\nx\n\nB\n-\n\nx\n\n## B\n\nx", [("duplicate_heading", 11)]),
    "jump": ("# A\n\n### B\n\nx", [("level_jump", 3)]),
    "jump up is none": ("# A\n\n## B\n\n### C\n\nx\n\n## D\n\nx", []),
    "second title": ("# A\n\nx\n\n# B\n\nx", [("second_title", 5)]),
    "empty": ("# A\n\n## B\n\n## C\n\nx\n\n## D\n", [("empty_section", 3), ("empty_section", 9)]),
    "a comment is no text": ("# A\n\n## B\n\n<!-- later\n-->\n\n## C\n\nx", [("empty_section", 3)]),
    "headings in code": ("# A\n\n```\n# A\n\n### B\n```\n\n~~~\n# A\n~~~\n", []),
    "failed": (
        "# A\n\n## B\n\n<!-- section failed: timeout -->\n",
        [("empty_section", 3), ("failed_section", 5)],
    ),
    "open fence": ("# A\n\nx\n\n```\n# B\n", [("open_block", 5)]),
    "open comment": ("# A\n\nx\n\n<!-- y\n", [("open_block", None)]),
    "loose reference": ("# A\n\nOne [1], two [^b], three[1].\n", [("loose_reference", 3), ("loose_reference", 3)]),
    "references with definitions": ("# A\n\nx [1] y[^b]\n\n[1]: https://a.example\n[^b]: A note.\n", []),
    "references with a list": (
        "# A\n\nx [1] y [2][3]\n\n1. [a](https://a.example)\n2) T,\n   https://b.example\n- [3] https://c.example\n",
        [],
    ),
    "references with a table": ("# A\n\nx [1]\n\n| # | Source |\n|---|---|\n| 1 | [a](https://a.example) |\n", []),
    "a list without URLs": ("# A\n\nx [1]\n\n1. A book.\n", [("loose_reference", 3)]),
    "no references": (
        (
            "# A\n\n`[1]` [1](https://a.example) \\[2] ![3] [2024] a[i]\n\n```\n[4]\n```\n\n- ```\n  [5]\n  ```\n"
            "> ~~~\n> [6]\n"
        ),
        [],
    ),
}


@pytest.mark.parametrize("case", CHECKED)
def test_problems(case: str) -> None:
    text, expected = CHECKED[case]
    assert problems(text) == expected
    assert problems(text.replace("\n", "\r\n")) == expected


def test_required_sections() -> None:
    text = "# A\n\n## Costs and risks\n\nx\n\n## **What** is next?\n\ny"
    assert problems(text, "costs  and risks", "## What is next?") == []
    result = check_report(text, ["Cost and risk", "Zebra"])
    assert [problem["message"] for problem in result["problems"]] == [
        "no heading 'Cost and risk'; the closest heading is 'Costs and risks'",
        "no heading 'Zebra'",
    ]


def test_words_of_sections() -> None:
    text = "# A\n\none two\n\n## B\n\nthree\n\n### C\n\nfour 五六\n\n## D\n\nseven"
    result = check_report(text, min_words=2)
    assert [(part["title"], part["level"], part["line"], part["words"]) for part in result["sections"]] == [
        ("A", 1, 1, 10),
        ("B", 2, 5, 5),
        ("C", 3, 9, 3),
        ("D", 2, 13, 1),
    ]
    assert [(problem["code"], problem["line"]) for problem in result["problems"]] == [("short_section", 13)]
    assert result["words"] == 11
    assert result["text"] == "1 problem found in 4 headings and 11 words."
    assert problems("## A\n\nx\n\n## B\n\nx y", min_words=2.0) == [("short_section", 1)]


def test_an_empty_report_is_refused() -> None:
    assert check_report(" \n")["ok"] is False


@settings(deadline=None)
@given(st.text(), st.lists(st.text(), max_size=3))
def test_no_text_makes_the_check_fail(text: str, required: list[str]) -> None:
    assert check_report(text, required)["ok"] in (True, False)


def test_a_brief() -> None:
    result = section_brief(
        "## Costs ##",
        ["They rose\nby a fifth.", " - A list item", "* Another", "  ", "See:\n\n```\n# x\n```"],
        [
            {"text": "It cost 3 million.", "url": "https://e.example/a(b", "source": "The [old] page", "date": "2024"},
            {"text": "No page."},
            {"text": "Bare.", "url": "https://e.example"},
            {"text": "From a book.", "source": "Smith"},
        ],
        words=120.0,
    )
    assert result["markdown"] == (
        "## Costs\n\n- They rose\n  by a fifth.\n- A list item\n- Another\n- See:\n\n  ```\n  # x\n  ```\n"
        "- It cost 3 million. ([The \\[old\\] page](https://e.example/a%28b), 2024)\n- No page.\n"
        "- Bare. ([https://e.example](https://e.example))\n- From a book. (Smith)"
    )
    assert (result["title"], result["words"]) == ("Costs", 120)
    assert result["unsourced"] == ["No page.", "From a book."]
    assert outline(result["markdown"]) == ["## Costs"]
    assert result["text"] == "Brief for 'Costs': 4 points, 4 facts."
    assert section_brief("A", ["x"], level=4)["markdown"] == "#### A\n\n- x"


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({"title": "A", "points": []}, "no point"),
        ({"title": "A", "points": [" "]}, "no point"),
        ({"title": "###", "points": ["x"]}, "no title"),
        ({"title": "A", "points": ["x"], "level": 7}, "level"),
    ],
)
def test_refused_briefs(args: dict[str, Any], error: str) -> None:
    result = section_brief(**args)
    assert result["ok"] is False
    assert error in result["error"]
    assert result["hint"]


@pytest.mark.parametrize(
    ("tool", "args", "expected"),
    [
        (
            "assemble_report",
            {"title": "R", "parts": [{"heading": "A", "content": "x"}]},
            {"title": "R", "sections": [{"title": "A", "body": "x"}]},
        ),
        (
            "section_brief",
            {"heading": "A", "bullets": ["x"], "evidence": [{"fact": "y", "link": "https://e.example"}]},
            {"title": "A", "points": ["x"], "facts": [{"text": "y", "url": "https://e.example"}]},
        ),
        ("check_report", {"report": "# A", "titles": ["A"]}, {"markdown": "# A", "required": ["A"]}),
    ],
)
def test_aliases(tool: str, args: dict[str, Any], expected: dict[str, Any]) -> None:
    checked = check_against(SKILL.tools[tool].parameters, args)
    assert (checked.fault, checked.args) == (None, expected)


@pytest.mark.parametrize(
    ("tool", "args", "key"),
    [
        ("assemble_report", {"title": "R", "sections": [{"title": "A"}]}, "sections[0].body"),
        ("deliver_report", {"title": "R", "sections": "A"}, "sections"),
        ("section_brief", {"title": "A", "points": ["x"], "facts": ["y"]}, "facts[0]"),
        ("check_report", {"required": ["A"]}, "markdown"),
    ],
)
def test_faults_name_the_argument(tool: str, args: dict[str, Any], key: str) -> None:
    fault = check_against(SKILL.tools[tool].parameters, args).fault
    assert fault is not None
    assert fault.key == key


class Patching:
    """The scripted provider, with `{{patchId}}` in a reply as the id that the model was shown last."""

    def __init__(self, replies: Sequence[Mapping[str, Any]]) -> None:
        self.script = ScriptedProvider(replies, fill=self._fill)
        self._asked: ModelRequest | None = None

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self._asked = request
        return self.script.stream(request)

    def _fill(self, reply: str) -> str:
        if "{{patchId}}" not in reply:
            return reply
        assert self._asked is not None
        shown = [found for message in self._asked.messages for found in re.findall(r"patch-[0-9a-f]+", message.text)]
        return reply.replace("{{patchId}}", shown[-1])


async def written(replies: list[dict[str, Any]], **keys: Any) -> tuple[RunResult, ScriptedProvider]:
    """The result of a run that first reads and activates the skill, and its provider."""
    head = [
        calls(("read_agent_skill", {"skillName": "report-writer"})),
        calls(("use_agent_skill", {"skillName": "report-writer"})),
    ]
    model = Patching([*head, *replies])
    runtime = Runtime(
        provider="scripted:test",
        providers={"scripted": model},
        skills=[SKILL],
        clock=FakeClock(),
        ids=CountedIds(),
        **keys,
    )
    result = await runtime.run("Write a report on the three bridges.")
    model.script.check()
    return result, model.script


BRIDGES = {"North": "It stands.", "South": "It fell.", "Middle": "It is closed."}


def tool_call(name: str, args: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "execute_skill_tool", {"toolName": name, "args": args}


def briefs(**more: Any) -> list[dict[str, Any]]:
    """A plan's items: the brief of each bridge."""
    items = []
    for title, point in BRIDGES.items():
        name, args = tool_call("section_brief", {"title": title, "points": [point]})
        items.append({"type": "action", "name": name, "args": args, **{k: v(title) for k, v in more.items()}})
    return items


SECTIONS = [section(title, f"# {title}\n\n{body}") for title, body in BRIDGES.items()]
REPORT = "# Three bridges\n\n## North\n\nIt stands.\n\n## South\n\nIt fell.\n\n## Middle\n\nIt is closed.\n"


async def test_a_whole_run() -> None:
    """Briefs side by side, one file, a patch of one heading, and the file as the answer."""
    change = {"type": "replace", "find": "## South\n", "replace": "## South, the old one\n"}
    result, model = await written(
        [
            calls(("plan", {"actions": briefs(), "synthesize_instruction": "direct"})),
            calls(("workspace_write", {"path": "report.md", "content": REPORT})),
            calls(("workspace_propose_patch", {"path": "report.md", "operations": [change]})),
            calls(("workspace_apply_patch", {"patchId": "{{patchId}}"})),
            calls(("workspace_publish_candidate", {"path": "report.md"})),
        ]
    )
    assert (result.status, result.error) == ("completed", None)
    (executed,) = details(result, "plan-executed")
    assert (executed["actionCount"], executed["allOk"]) == (3, True)
    assert all(point in model.requests[3].messages[-1].text for point in BRIDGES.values())
    assert "preview_ready" in model.requests[5].messages[-1].text
    assert result.text == REPORT.replace("## South\n", "## South, the old one\n").strip()
    assert result.output is not None
    assert result.final_answer_source == "workspace_publish"
    assert "limited" not in result.output


async def test_assembled_then_written_and_checked() -> None:
    assembled = assemble_report("Three bridges", SECTIONS)["markdown"]
    assert assembled == REPORT
    result, model = await written(
        [
            calls(tool_call("assemble_report", {"title": "Three bridges", "sections": SECTIONS})),
            calls(("workspace_write", {"path": "report.md", "content": assembled})),
            calls(tool_call("check_report", {"markdown": assembled, "required": ["North", "East"]})),
            calls(("workspace_append", {"path": "report.md", "content": "## East\n\nThere is none."})),
            calls(("workspace_publish_candidate", {"path": "report.md", "limited": "The west is missing."})),
        ]
    )
    assert not details(result, "direct-final-emitted")
    assert "missing_section" in model.requests[5].messages[-1].text
    assert result.text == f"{REPORT}\n## East\n\nThere is none."
    assert result.output is not None
    assert result.output["limited"] == "The west is missing."


async def test_delivered_at_once() -> None:
    """A refusal ends nothing; the corrected call is the answer."""
    result, model = await written(
        [
            calls(tool_call("deliver_report", {"title": "Three bridges", "sections": [section("North", "<!-- x")]})),
            calls(tool_call("deliver_report", {"title": "Three bridges", "sections": SECTIONS})),
        ]
    )
    assert [skip["reason"] for skip in details(result, "direct-final-skipped")] == ["not_ok"]
    assert "close it in its text" in model.requests[3].messages[-1].text
    assert (result.text, result.final_answer_source) == (REPORT.strip(), "direct_final")


async def test_sections_written_side_by_side() -> None:
    """A writer for each section sees its own brief and no other's."""
    items = briefs(section=lambda title: {"title": f"## {title}", "prompt": f"Write {title} from its brief."})
    result, model = await written(
        [
            calls(
                (
                    "plan",
                    {"actions": items, "synthesize_per_action": True, "stitch": {"intro_prompt": "Two sentences."}},
                )
            ),
            {"text": "Three bridges were looked at.", "when": "Two sentences."},
            *({"text": f"## {t}\n\n{body}", "when": f"Write {t} from its brief."} for t, body in BRIDGES.items()),
        ]
    )
    seen = {r.messages[-1].text for r in model.requests if r.purpose == "section"}
    assert len(seen) == 3
    assert all(sum(point in text for point in BRIDGES.values()) == 1 for text in seen)
    assert result.text == REPORT.replace("# Three bridges", "Three bridges were looked at.").strip()
    assert result.final_answer_source == "plan_synthesize"


async def test_writing_actions_have_no_place_in_a_plan() -> None:
    write = {"type": "action", "name": "workspace_write", "args": {"path": "report.md", "content": REPORT}}
    result, _ = await written(
        [
            calls(("plan", {"actions": [*briefs(), write], "synthesize_instruction": "direct"})),
            {"text": "Done."},
        ]
    )
    (failed,) = details(result, "plan-validation-failed")
    assert [(problem["planIndex"], problem["code"]) for problem in failed["problems"]] == [(3, "standalone_action")]
