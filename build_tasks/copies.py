"""Files that are made from others: copies of the shared scenarios and cases, docs/surface.md, the JSON Schemas."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from build_tasks.environment import program, setup
from build_tasks.steps import ROOT, TaskError, require, say, step

TESTS = ROOT / "tests"
MIRRORED = (  # folder of the shared material, pattern, folder of the copies
    ("conformance/vectors", "*.jsonl", TESTS / "conformance" / "vectors"),
    ("conformance", "check.py", TESTS / "conformance"),
    ("conformance", "FORMAT.md", TESTS / "conformance"),
    ("cases", "cases.jsonl", TESTS / "cases"),
    ("cases", "FORMAT.md", TESTS / "cases"),
)


SURFACE = ROOT / "docs" / "surface.md"


def surface_is_current() -> bool:
    """Is docs/surface.md what the code says?"""
    say("==> docs/surface.md")
    if SURFACE.exists() and SURFACE.read_bytes() == _surface():
        return True
    say("docs/surface.md is not what the code says; `python build.py schema` writes it anew")
    return False


def _surface() -> bytes:
    return subprocess.run([str(program("agrun")), "surface"], capture_output=True, check=True).stdout


def shared() -> Path:
    """The folder the copies come from: AGRUN_SHARED, or `shared` beside this checkout."""
    return Path(os.environ.get("AGRUN_SHARED", ROOT.parent / "shared"))


def pairs() -> Iterator[tuple[Path, Path]]:
    """(original, copy) of every mirrored file."""
    for folder, pattern, target in MIRRORED:
        for original in sorted((shared() / folder).glob(pattern)):
            yield original, target / original.name


def orphans() -> list[Path]:
    """Copies whose original is gone."""
    copies = {copy for _, copy in pairs()}
    return [file for _, pattern, target in MIRRORED for file in sorted(target.glob(pattern)) if file not in copies]


def sync() -> None:
    """Byte-equal copies of the shared scenarios, their judge and the cases, under tests/."""
    if not shared().is_dir():
        raise TaskError(f"{shared()} is not there; set AGRUN_SHARED to the folder with conformance/ and cases/")
    with step("Copies of the shared scenarios and cases (tests/conformance, tests/cases)"):
        for stale in orphans():
            say(f"    removing {stale.relative_to(ROOT)}")
            stale.unlink()
        for original, copy in pairs():
            if not copy.exists() or copy.read_bytes() != original.read_bytes():
                say(f"    {copy.relative_to(ROOT)}")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(original, copy)


def schema() -> None:
    """schemas/*.json from the contracts' models, and docs/surface.md from the definitions."""
    setup()
    with step("The surface (docs/surface.md)"):
        SURFACE.write_bytes(_surface())
    with step("JSON Schemas (schemas/)"):
        require([program("python"), ROOT / "build_tasks" / "write_schemas.py", ROOT / "schemas"])
