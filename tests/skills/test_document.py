"""SKILL.md: every kind of what people write, with its values and its diagnostics."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.skills.document import parse_document, split_names
from tests.skills.samples import codes

GOOD = "name: a\ndescription: B\n"


def document(front: str, body: str = "Body\n") -> str:
    return f"---\n{front}---\n{body}"


#: kind -> text, expected fields, expected diagnostic codes
ACCEPTED: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "plain": (document(GOOD), {"name": "a", "description": "B", "body": "Body\n", "license": None}, []),
    "colon": (
        document("name: a\ndescription: Use for: rye, spelt\nlicense: MIT\n"),
        {"description": "Use for: rye, spelt", "license": "MIT"},
        ["unquoted_colon"],
    ),
    "colon at the end": (document("name: a\ndescription: Use for:\n"), {"description": "Use for:"}, ["unquoted_colon"]),
    "colon over two lines": (
        document("name: a\ndescription: Steps: one\n  and two: three\nlicense: MIT\n"),
        {"description": "Steps: one and two: three", "license": "MIT"},
        ["unquoted_colon"],
    ),
    "colon in metadata": (
        document("name: a\ndescription: B\nmetadata:\n  note: see: below\n  version: 1.10\n"),
        {"metadata": {"note": "see: below", "version": "1.10"}},
        ["unquoted_colon"],
    ),
    "colon in several fields": (
        document("name: a\ndescription: B: c\ncompatibility: Needs: git\n"),
        {"description": "B: c", "compatibility": "Needs: git"},
        ["unquoted_colon", "unquoted_colon"],
    ),
    "colon without a blank": (document("name: a\ndescription: ratio 3:4\n"), {"description": "ratio 3:4"}, []),
    "bracket first": (
        document("name: a\ndescription: [Beta] Does things\n"),
        {"description": "[Beta] Does things"},
        ["value_repaired"],
    ),
    "star first": (
        document("name: a\ndescription: *Always* use\n"),
        {"description": "*Always* use"},
        ["value_repaired"],
    ),
    "at first": (
        document("name: a\ndescription: @mention people\n"),
        {"description": "@mention people"},
        ["value_repaired"],
    ),
    "quote inside quotes": (
        document("name: a\ndescription: 'it's here'\n"),
        {"description": "it's here"},
        ["value_repaired"],
    ),
    "text after quotes": (
        document('name: a\ndescription: "Quoted" then not\n'),
        {"description": 'Quoted" then not'},
        ["value_repaired"],
    ),
    "open quote": (
        document('name: a\ndescription: "Never closed\nlicense: MIT\n'),
        {"license": "MIT"},
        ["value_repaired"],
    ),
    "quoted colon": (document('name: a\ndescription: "Use: this"\n'), {"description": "Use: this"}, []),
    "byte order mark and CRLF": (
        "\ufeff" + document(GOOD, "\n# Title\n").replace("\n", "\r\n"),
        {"name": "a", "description": "B", "body": "# Title\n"},
        [],
    ),
    "zero-width blank": ("\u200b" + document(GOOD), {"name": "a"}, []),
    "colon in text on the next lines": (
        document("name: a\ndescription:\n  Plain on\n  next lines: with colon\n"),
        {"description": "Plain on next lines: with colon"},
        ["unquoted_colon"],
    ),
    "text without indentation": (
        document("name: a\ndescription: One: x\ntwo\nlicense: MIT\n"),
        {"description": "One: x two", "license": "MIT"},
        ["unquoted_colon"],
    ),
    "lone CR": (document(GOOD).replace("\n", "\r"), {"name": "a", "body": "Body\n"}, []),
    "blank lines before": ("\n\n" + document(GOOD), {"name": "a"}, []),
    "blanks after the dashes": ("---  \n" + GOOD + "--- \nBody\n", {"body": "Body\n"}, []),
    "folded": (
        document("name: a\ndescription: >-\n  One\n  two.\n\n  Three.\n"),
        {"description": "One two.\nThree."},
        [],
    ),
    "literal": (document("name: a\ndescription: |\n  One: 1\n  two\n"), {"description": "One: 1\ntwo"}, []),
    "folded with dashes": (document("name: a\ndescription: >\n  a\n  ---\n  b\n"), {"description": "a --- b"}, []),
    "plain over lines": (document("name: a\ndescription: One\n  two\n"), {"description": "One two"}, []),
    "tab in folded": (
        document("name: a\ndescription: >\n\tOne\n\ttwo\nlicense: MIT\n"),
        {"description": "One two", "license": "MIT"},
        ["tab_indent"],
    ),
    "tab in metadata": (
        document("name: a\ndescription: B\nmetadata:\n\tversion: '2'\n"),
        {"metadata": {"version": "2"}},
        ["tab_indent"],
    ),
    "tab after the colon": (
        document("name:\ta\ndescription:\tB\n"),
        {"name": "a", "description": "B"},
        ["value_repaired"] * 2,
    ),
    "tab and colon": (
        document("name: a\ndescription: B: c\nmetadata:\n\tx: y\n"),
        {"description": "B: c", "metadata": {"x": "y"}},
        ["tab_indent", "unquoted_colon"],
    ),
    "dashes in body": (
        document(GOOD, "One\n\n---\n\nTwo\n\n---\n"),
        {"body": "One\n\n---\n\nTwo\n\n---\n"},
        [],
    ),
    "dashes in value": (document("name: a\ndescription: where --- stand\n"), {"description": "where --- stand"}, []),
    "number as name": (document("name: 4711\ndescription: B\n"), {"name": "4711"}, ["scalar_type"]),
    "truth as description": (document("name: a\ndescription: true\n"), {"description": "true"}, ["scalar_type"]),
    "yes is text": (document("name: a\ndescription: yes\n"), {"description": "yes"}, []),
    "date": (
        document("name: a\ndescription: B\nmetadata: {updated: 2026-01-02, version: 1.10, on: off}\n"),
        {"metadata": {"updated": "2026-01-02", "version": "1.10", "on": "off"}},
        [],
    ),
    "nested metadata": (
        document("name: a\ndescription: B\nmetadata:\n  tags: [x, y]\n  by:\n    who: me\n"),
        {"metadata": {"tags": ["x", "y"], "by": {"who": "me"}}},
        ["metadata_nested"],
    ),
    "metadata of a wrong type": (document(GOOD + "metadata: text\n"), {"metadata": {}}, ["wrong_type"]),
    "empty metadata value": (document(GOOD + "metadata:\n  a:\n"), {"metadata": {"a": ""}}, []),
    "mapping as description": (
        document("name: a\ndescription:\n  Use: it\n"),
        {"description": "Use: it"},
        ["wrong_type"],
    ),
    "unknown field": (document(GOOD + "version: 2\n"), {}, ["unknown_field"]),
    "misspelt field": (document(GOOD + "allowed_tools: Read\n"), {"allowed_tools": []}, ["unknown_field"]),
    "field twice": (document(GOOD + "name: b\n"), {"name": "b"}, ["duplicate_field"]),
    "comment": (document("# about\nname: a # short\ndescription: B\n"), {"name": "a"}, []),
    "python tag": (document(GOOD + "metadata: {x: !!python/object:os.system ls}\n"), {"metadata": {"x": "ls"}}, []),
    "names with blanks": (document("name: My Skill\ndescription: B\n"), {"name": "My Skill"}, ["name_invalid"]),
    "upper case name": (document("name: PDF\ndescription: B\n"), {"name": "PDF"}, ["name_invalid"]),
    "hyphens": (document("name: -a--b-\ndescription: B\n"), {"name": "-a--b-"}, ["name_invalid"]),
    "long name": (document(f"name: {'a' * 65}\ndescription: B\n"), {"name": "a" * 65}, ["name_too_long"]),
    "unicode name": (document("name: мой-навык\ndescription: B\n"), {"name": "мой-навык"}, []),
    "decomposed name": (document("name: me\u0301te\u0301o\ndescription: B\n"), {"name": "m\u00e9t\u00e9o"}, []),
    "long description": (
        document(f"name: a\ndescription: {'x' * 1025}\n"),
        {"description": "x" * 1025},
        ["description_too_long"],
    ),
    "long compatibility": (document(GOOD + f"compatibility: {'x' * 501}\n"), {}, ["compatibility_too_long"]),
    "allowed tools": (
        document(GOOD + "allowed-tools: Bash(git add *) Bash(git commit *) Read\n"),
        {"allowed_tools": ["Bash(git add *)", "Bash(git commit *)", "Read"]},
        [],
    ),
    "allowed tools by commas": (
        document(GOOD + "allowed-tools: Read, Write,Bash(a, b)\n"),
        {"allowed_tools": ["Read", "Write", "Bash(a, b)"]},
        [],
    ),
    "allowed tools with a colon": (
        document(GOOD + "allowed-tools: Bash(git:*) Bash(npm: run) Read\n"),
        {"allowed_tools": ["Bash(git:*)", "Bash(npm: run)", "Read"]},
        ["unquoted_colon"],
    ),
    "allowed tools as a list": (
        document(GOOD + "allowed-tools:\n  - Read\n  - Bash(git *)\n  - Read\n"),
        {"allowed_tools": ["Read", "Bash(git *)"]},
        ["allowed_tools_list"],
    ),
    "allowed tools as a list of patterns": (
        document(GOOD + "allowed-tools:\n  - Bash(git: *)\n  - Read Write\n"),
        {"allowed_tools": ["Bash(git: *)", "Read", "Write"]},
        ["value_repaired", "allowed_tools_list"],
    ),
    "allowed tools as mappings": (
        document(GOOD + "allowed-tools:\n- Bash(git: add)\n- Read\n"),
        {"allowed_tools": ["Bash(git: add)", "Read"]},
        ["allowed_tools_list"],
    ),
    "allowed tools in a row": (
        document(GOOD + 'allowed-tools: [Read, "Bash(git add *)"]\n'),
        {"allowed_tools": ["Read", "Bash(git add *)"]},
        ["allowed_tools_list"],
    ),
    "allowed tools empty": (document(GOOD + "allowed-tools:\n"), {"allowed_tools": []}, []),
    "no body": ("---\n" + GOOD + "---", {"body": ""}, []),
}


@pytest.mark.parametrize("kind", ACCEPTED)
def test_accepted(kind: str) -> None:
    text, fields, expected = ACCEPTED[kind]
    parsed = parse_document(text)
    assert {name: getattr(parsed, name) for name in fields} == fields
    assert codes(parsed.diagnostics) == expected


#: kind -> text, what the message must hold beside the file's name
REFUSED: dict[str, tuple[str, list[str]]] = {
    "no frontmatter": ("# Title\n", ["frontmatter"]),
    "rule further down": ("# Title\n\n---\nnot: frontmatter\n---\n", ["frontmatter"]),
    "empty": ("", ["frontmatter"]),
    "unclosed": ("---\nname: a\ndescription: B\n\n# Title\n", ["---"]),
    "no name": (document("description: B\n"), ["'name'", "missing"]),
    "null name": (document("name:\ndescription: B\n"), ["'name'", "empty"]),
    "name in another case": (document("Name: a\ndescription: B\n"), ["'name'", "'Name'"]),
    "no description": (document("name: a\n"), ["'description'", "missing"]),
    "blank description": (document("name: a\ndescription: '  '\n"), ["'description'", "empty"]),
    "list": (document("- a\n- b\n"), ["field: value"]),
    "no field at all": (document("just text\n"), ["field: value"]),
    "alias of itself": (document(GOOD + "metadata: &a {x: *a}\n"), ["nested"]),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind: str) -> None:
    text, mentions = REFUSED[kind]
    with pytest.raises(ConfigInvalid) as raised:
        parse_document(text, file="demo/SKILL.md")
    assert all(mention in raised.value.message for mention in ["demo/SKILL.md", *mentions])


def test_aliases_cannot_blow_up() -> None:
    bomb = "metadata:\n  a: &a [x, x, x, x, x, x, x, x]\n" + "".join(
        f"  {chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 8)}]\n" for n in range(8)
    )
    with pytest.raises(ConfigInvalid, match="too many"):
        parse_document(document(GOOD + bomb))


def test_line_numbers_are_the_files() -> None:
    parsed = parse_document("\n---\nname: a\ndescription: b: c\n---\n")
    assert parsed.diagnostics[0]["message"].startswith("line 4:")


@pytest.mark.parametrize(
    ("name", "folder", "expected"),
    [("a", "a", []), ("a", "b", ["name_dir_mismatch"]), ("m\u00e9t\u00e9o", "me\u0301te\u0301o", []), ("a", None, [])],
)
def test_directory(name: str, folder: str | None, expected: list[str]) -> None:
    parsed = parse_document(document(f"name: {name}\ndescription: B\n"), folder=folder)
    assert codes(parsed.diagnostics) == expected


def test_brackets_keep_names_together() -> None:
    assert split_names("Bash(git add *)  Read,Write") == ["Bash(git add *)", "Read", "Write"]
    assert split_names("Open(x y") == ["Open(x y"]
    assert split_names(" ) a") == [")", "a"]


@given(st.text(alphabet=st.sampled_from(list("ab:-'\"[]{}>|&*!#%@ \t\n,?~.")), max_size=60))
def test_any_frontmatter_parses_or_is_refused(front: str) -> None:
    try:
        parsed = parse_document(f"---\nname: a\ndescription: b\n{front}\n---\nBody")
    except ConfigInvalid:
        return
    assert parsed.name
    assert parsed.description
