"""Skill.from_files: which files make a skill, what is trusted, and its content hash."""

from __future__ import annotations

import pytest

from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.skills.resources import path_inside, window_of
from agrun_wasm.skills.skill import Skill, content_hash
from tests.skills.samples import codes

DOCUMENT = "---\nname: demo\ndescription: A demo.\n---\nBody.\n"
MARKER = "raise SystemExit('the text of an untrusted skill was run')\n"


def test_resources_are_the_other_files() -> None:
    loaded = Skill.from_files({"SKILL.md": DOCUMENT, "tools.py": "", "references/a.md": "A", "./b.txt": "B"})
    assert loaded.resources == {"references/a.md": "A", "b.txt": "B"}
    assert not loaded.diagnostics


def test_untrusted_tools_are_not_run() -> None:
    loaded = Skill.from_files({"SKILL.md": DOCUMENT, "tools.py": MARKER})
    assert (loaded.trusted, loaded.has_tools_file, loaded.tools) == (False, True, {})
    assert not loaded.diagnostics


def test_a_leading_directory_is_the_skills_own() -> None:
    loaded = Skill.from_files({"demo/SKILL.md": DOCUMENT, "demo/x.md": "X"})
    assert (loaded.resources, loaded.diagnostics) == ({"x.md": "X"}, [])
    assert loaded.content_hash == Skill.from_files({"SKILL.md": DOCUMENT, "x.md": "X"}).content_hash


def test_files_beside_the_skill_are_left_out() -> None:
    loaded = Skill.from_files({"skills/demo/SKILL.md": DOCUMENT, "skills/README.md": "no", "skills/demo/x.md": "X"})
    assert loaded.resources == {"x.md": "X"}
    assert codes(loaded.diagnostics) == ["path_outside_skill"]


def test_a_path_that_leads_out_is_left_out() -> None:
    loaded = Skill.from_files({"SKILL.md": DOCUMENT, "../x.md": "no", "/etc/y": "no"})
    assert loaded.resources == {}
    assert codes(loaded.diagnostics) == ["path_outside_skill"] * 2


def test_document_in_another_case() -> None:
    assert codes(Skill.from_files({"skill.md": DOCUMENT}).diagnostics) == ["document_name"]


@pytest.mark.parametrize(
    ("files", "mentions"),
    [
        ({}, "SKILL.md"),
        ({"README.md": "x"}, "SKILL.md"),
        ({"demo/SKILL.md": "# x"}, "demo/SKILL.md"),
        ({"SKILL.md": b"x"}, "SKILL.md"),
    ],
)
def test_refused(files: dict[str, str], mentions: str) -> None:
    with pytest.raises(ConfigInvalid, match=mentions):
        Skill.from_files(files)


def test_content_hash() -> None:
    base = content_hash({"a": "1\n", "b": "2"})
    assert base == content_hash({"b": "2", "a": "1\r\n"})
    assert base != content_hash({"a": "1\n", "b": "3"})
    assert content_hash({"a": "b"}) != content_hash({"ab": ""})
    assert len(base) == 64


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ("references/guide.md", "references/guide.md"),
        ("./references/../references/guide.md", "references/guide.md"),
        ("references//guide.md", "references/guide.md"),
        ("references\\guide.md", "references/guide.md"),
        ("../other/secret.md", None),
        ("/etc/hostname", None),
        ("references/../../x.md", None),
        ("..\\x.md", None),
        ("C:/x.md", None),
        ("c:x.md", None),
        ("\\\\server\\x", None),
        ("a\0b", None),
        ("", None),
        (".", None),
        ("a/..", None),
    ],
)
def test_paths(asked: str, path: str | None) -> None:
    assert path_inside(asked) == path


@pytest.mark.parametrize(
    ("start", "limit", "text", "end"),
    [(1, None, "a\nb\nc", 3), (2, None, "b\nc", 3), (2, 1, "b", 2), (3, 9, "c", 3), (4, 2, "", 3), (9, None, "", 8)],
)
def test_windows(start: int, limit: int | None, text: str, end: int) -> None:
    window = window_of("a\nb\nc\n", start, limit)
    assert (window.text, window.start_line, window.end_line, window.total_lines) == (text, start, end, 3)
