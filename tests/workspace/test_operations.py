"""Direct changes: versions, separators, limits, and workspaces that are never changed in place."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.contracts.config import WorkspaceConfig
from agrun_wasm.contracts.workspace import VirtualWorkspace
from agrun_wasm.workspace.files import Change, Refusal, line_starts, split_lines, text_stats, with_lf
from agrun_wasm.workspace.operations import append, insert_after_section, write

CONFIG = WorkspaceConfig()


def workspace(**files: str) -> VirtualWorkspace:
    """A workspace with these files, `a` being a.md."""
    result = VirtualWorkspace()
    for name, content in files.items():
        result = done(write(result, CONFIG, f"{name}.md", content)).workspace
    return result


def done(change: Change | Refusal) -> Change:
    assert isinstance(change, Change)
    return change


def refused(change: Change | Refusal) -> str:
    assert isinstance(change, Refusal)
    assert change.message
    assert change.output()["ok"] is False
    return change.error


def test_a_file_record() -> None:
    change = done(write(VirtualWorkspace(), CONFIG, "log.md", "# Log\r\n\r\n## Noon\r\n\rRain, 3 潮汐.\n"))
    content = "# Log\n\n## Noon\n\nRain, 3 潮汐.\n"
    file = change.workspace.files["log.md"]
    assert (file.content, file.version) == (content, 1)
    assert file.hash == sha256(content.encode()).hexdigest()
    assert (file.text_stats.chars, file.text_stats.words, file.text_stats.lines) == (len(content), 6, 5)
    assert file.structure.to_json() == {"headings": 2, "duplicates": 0, "maxLevel": 2}
    assert (change.operation.action, change.operation.path, change.operation.version) == ("write", "log.md", 1)
    assert change.workspace.version == 1
    assert change.workspace.operations == [change.operation]


def test_each_change_bumps_the_versions_of_its_file_and_of_the_workspace() -> None:
    first = workspace(a="One.", b="Two.")
    second = done(append(first, CONFIG, "a.md", "More.")).workspace
    assert {path: file.version for path, file in second.files.items()} == {"a.md": 2, "b.md": 1}
    assert (first.version, second.version) == (2, 3)
    assert [(op.action, op.path, op.version) for op in second.operations] == [
        ("write", "a.md", 1),
        ("write", "b.md", 1),
        ("append", "a.md", 2),
    ]
    assert first.files["a.md"].content == "One."
    assert len(first.operations) == 2


@pytest.mark.parametrize(
    ("old", "content", "separator", "new"),
    [
        (None, "Eins.", None, "Eins."),
        (None, "Eins.", "\n", "Eins."),
        ("", "Eins.", None, "Eins."),
        ("Eins.", "Zwei.", None, "Eins.\n\nZwei."),
        ("Eins.", "Zwei.", "\n", "Eins.\nZwei."),
        ("Eins.", "Zwei.", "", "Eins.Zwei."),
        ("Eins.\n", "Zwei.", None, "Eins.\n\nZwei."),
        ("Eins.\n\n\n", "Zwei.", None, "Eins.\n\n\nZwei."),
        ("Eins.", "\n\nZwei.", None, "Eins.\n\nZwei."),
        ("Eins.\n", "Zwei.", "\n\n", "Eins.\n\n\nZwei."),
        ("Eins.", "Zwei.", "\r\n", "Eins.\nZwei."),
    ],
)
def test_append(old: str | None, content: str, separator: str | None, new: str) -> None:
    before = workspace() if old is None else workspace(a=old)
    change = done(append(before, CONFIG, "a.md", content, separator))
    assert change.workspace.files["a.md"].content == new
    assert change.operation.action == "append"


@pytest.mark.parametrize(
    ("text", "heading", "new"),
    [
        ("# A\n\na\n\n## B\n\nb\n\n# C\n\nc\n", "A", "# A\n\na\n\n## B\n\nb\n\nX\n\n# C\n\nc\n"),
        ("# A\n\na\n\n## B\n\nb\n\n# C\n\nc\n", "B", "# A\n\na\n\n## B\n\nb\n\nX\n\n# C\n\nc\n"),
        ("# A\n\na\n\n# C\n\nc", "C", "# A\n\na\n\n# C\n\nc\n\nX"),
        ("# A", "A", "# A\n\nX"),
    ],
)
def test_insert_after_section(text: str, heading: str, new: str) -> None:
    change = done(insert_after_section(workspace(a=text), CONFIG, "a.md", heading, "X"))
    assert change.workspace.files["a.md"].content == new
    assert change.operation.action == "insert_after_section"


def test_insert_refusals() -> None:
    files = workspace(a="# R\n\n## Day\n\nx\n\n## Day\n\ny")
    assert refused(insert_after_section(files, CONFIG, "a.md", "Outlook", "X")) == "not_found"
    assert refused(insert_after_section(files, CONFIG, "a.md", "Day", "X")) == "ambiguous"
    assert refused(insert_after_section(files, CONFIG, "b.md", "Day", "X")) == "not_found"


def test_limits_refuse_and_never_cut() -> None:
    config = WorkspaceConfig(max_file_chars=4, max_files=1)
    files = done(write(VirtualWorkspace(), config, "a.md", "1234")).workspace
    assert refused(write(files, config, "a.md", "12345")) == "too_large"
    assert refused(append(files, config, "a.md", "5", "")) == "too_large"
    assert refused(write(files, config, "b.md", "1")) == "too_many_files"
    assert refused(append(files, config, "b.md", "1")) == "too_many_files"
    assert done(write(files, config, "a.md", "43\r\n")).workspace.files["a.md"].content == "43\n"
    assert files.files["a.md"].content == "1234"


@given(st.text(st.sampled_from("a\n\r \t潮")))
def test_content_is_lf_and_otherwise_as_it_was(text: str) -> None:
    content = done(write(VirtualWorkspace(), CONFIG, "a", text)).workspace.files["a"].content
    assert content == with_lf(text)
    assert "\r" not in content
    assert content.replace("\n", "") == text.replace("\r", "").replace("\n", "")


@given(st.text(st.sampled_from("ab\n")))
def test_lines(text: str) -> None:
    lines = split_lines(text)
    assert text in ("\n".join(lines), "\n".join(lines) + "\n")
    assert text_stats(text).lines == len(lines) == text.count("\n") + (not text.endswith("\n") and bool(text))
    starts = line_starts(text)
    assert [text[start - 1] for start in starts[1:]] == ["\n"] * text.count("\n")
