"""Writes agrun_wasm/skills/trusted.py from the bundled skills: `python -m tests.skills.write_trusted`."""

from __future__ import annotations

from pathlib import Path

from agrun_host.skills import read_skill_files
from agrun_wasm.skills.skill import Skill

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "agrun_wasm" / "skills" / "trusted.py"
HEAD = '''"""Skills whose tools are trusted by what they say: the content hashes of the bundled ones.

Written by `python -m tests.skills.write_trusted`; a test recomputes them.
"""

#: content hash (`Skill.content_hash`) -> name
TRUSTED: dict[str, str] = {
'''


def trusted_text() -> str:
    """The file's text for the skills as they stand in `skills/`."""
    folders = sorted(folder.parent for folder in (ROOT / "skills").glob("*/SKILL.md"))
    skills = [Skill.from_files(read_skill_files(folder)) for folder in folders]
    return HEAD + "".join(f'    "{skill.content_hash}": "{skill.name}",\n' for skill in skills) + "}\n"


if __name__ == "__main__":
    TARGET.write_text(trusted_text(), encoding="utf-8")
    print(f"wrote {TARGET}")
