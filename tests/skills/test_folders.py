"""agrun_host.skills: which files of a folder make a skill."""

from __future__ import annotations

from pathlib import Path

import pytest

from agrun_host.skills import bundled_skills, load_skills, read_skill_files
from agrun_wasm.contracts.errors import ConfigInvalid
from tests.skills.samples import TIDE_TOOLS, codes

DOCUMENT = "---\nname: {name}\ndescription: About it.\n---\nBody.\n"


def make(root: Path, name: str, **files: str | bytes) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(DOCUMENT.format(name=name), encoding="utf-8")
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def test_folders_of_a_folder(tmp_path: Path) -> None:
    make(tmp_path, "b-skill", **{"references/x.md": "X"})
    make(tmp_path, "a-skill", **{"tools.py": TIDE_TOOLS})
    (tmp_path / "not-a-skill").mkdir()
    loaded = load_skills(tmp_path)
    assert [skill.name for skill in loaded] == ["a-skill", "b-skill"]
    assert (loaded[0].tools, loaded[0].trusted) == ({}, False)
    assert loaded[1].resources == {"references/x.md": "X"}
    assert not loaded[1].diagnostics


def test_trust(tmp_path: Path) -> None:
    folder = make(tmp_path, "a-skill", **{"tools.py": TIDE_TOOLS})
    assert list(load_skills(folder, trust=True)[0].tools) == ["tide_at", "tide_chart"]


def test_what_is_left_out(tmp_path: Path) -> None:
    folder = make(
        tmp_path,
        "a-skill",
        **{
            ".git/config": "x",
            ".hidden": "x",
            "__pycache__/tools.pyc": b"\0",
            "image.png": b"\x89PNG\0",
            "latin.txt": b"\xe9",
            "large.txt": "x" * 1_000_001,
            "scripts/run.sh": "#!/bin/sh",
        },
    )
    (tmp_path / "secret.txt").write_text("s", encoding="utf-8")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    assert list(read_skill_files(folder)) == ["a-skill/SKILL.md", "a-skill/scripts/run.sh"]


def test_the_folders_name_is_compared(tmp_path: Path) -> None:
    folder = make(tmp_path, "a-skill").rename(tmp_path / "other")
    assert codes(load_skills(folder)[0].diagnostics) == ["name_dir_mismatch"]


def test_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="no folder"):
        load_skills(tmp_path / "nowhere")
    with pytest.raises(ConfigInvalid, match=r"SKILL\.md"):
        load_skills(tmp_path)
    (make(tmp_path, "bad") / "SKILL.md").write_bytes(b"---\nname: \xe9\n---\n")
    with pytest.raises(ConfigInvalid, match="UTF-8"):
        load_skills(tmp_path)
    (tmp_path / "bad" / "SKILL.md").write_text("# No frontmatter\n", encoding="utf-8")
    with pytest.raises(ConfigInvalid, match=r"bad/SKILL\.md"):
        load_skills(tmp_path)


def test_bundled() -> None:
    names = [skill.name for skill in bundled_skills()]
    assert names == sorted(names)
    assert {"report-writer", "text-stats", "unit-convert", "web-research"} <= set(names)
