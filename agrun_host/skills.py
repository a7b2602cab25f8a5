"""Skill folders on disk: the files that `Skill.from_files` takes, and the skills that come with this wheel.

Owns which files of a folder count. What they mean, and whether their tools are trusted, is the core's.
"""

from __future__ import annotations

from pathlib import Path

from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.skills.skill import DOCUMENT_FILE, Skill

#: a larger file is no text that a model reads; it is left out
MAX_FILE_BYTES = 1_000_000
_DERIVED = {"__pycache__", "node_modules"}


def load_skills(path: str | Path, *, trust: bool = False) -> list[Skill]:
    """The skill in the folder `path`, or those in its folders, in the order of their names.

    `trust` lets their tools.py run; without it only skills trusted by content hash have tools. Raises CONFIG_INVALID
    where there is no SKILL.md, or one that cannot be used.
    """
    root = Path(path).expanduser()
    if not root.is_dir():
        hint = f"Give the folder that holds {DOCUMENT_FILE}." if root.exists() else ""
        raise ConfigInvalid(f"skills: {root} is no folder", hint=hint)
    try:
        return [Skill.from_files(read_skill_files(folder), trust_tools=trust) for folder in _skill_folders(root)]
    except OSError as fault:
        raise ConfigInvalid(f"skills: {fault.filename or root} cannot be read: {fault.strerror}") from None


def bundled_skills() -> list[Skill]:
    """The skills of this distribution: `_skills` in a wheel, `skills/` of the repository in a checkout."""
    here = Path(__file__).resolve().parent
    inside = here / "_skills"
    return load_skills(inside if inside.is_dir() else here.parent / "skills")


def read_skill_files(folder: Path) -> dict[str, str]:
    """The folder's text files by path, under the folder's own name; hidden, derived, large and binary ones left out."""
    root = folder.resolve()
    files: dict[str, str] = {}
    for file in sorted(root.rglob("*")):
        inside = file.relative_to(root)
        if any(part.startswith(".") or part in _DERIVED for part in inside.parts) or not file.is_file():
            continue
        if not file.resolve().is_relative_to(root):
            continue  # a link that leads out of the skill
        text = _text(file)
        if text is not None:
            files[f"{root.name}/{inside.as_posix()}"] = text
    return files


def _skill_folders(root: Path) -> list[Path]:
    if _has_document(root):
        return [root]
    folders = sorted(folder for folder in root.iterdir() if folder.is_dir() and _has_document(folder))
    if not folders:
        raise ConfigInvalid(f"skills: there is no {DOCUMENT_FILE} in {root} or in a folder of it")
    return folders


def _has_document(folder: Path) -> bool:
    return any(file.name.lower() == DOCUMENT_FILE.lower() for file in folder.iterdir() if file.is_file())


def _text(file: Path) -> str | None:
    if file.stat().st_size > MAX_FILE_BYTES:
        return None
    data = file.read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if file.name.lower() == DOCUMENT_FILE.lower() or file.suffix == ".py":
            raise ConfigInvalid(f"skills: {file} is not UTF-8") from None
        return None
