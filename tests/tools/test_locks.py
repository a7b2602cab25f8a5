"""The lock files pin everything, agree with each other, and cover what the two packages declare."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from build_tasks.steps import ROOT

REQUIREMENTS = ROOT / "requirements"
LOCKS = sorted(REQUIREMENTS.glob("*.txt"))
PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)(?P<rest>.*)")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def entries(lock: Path) -> list[str]:
    """One line a requirement: continuation lines joined, comments dropped."""
    text = re.sub(r"\\\n", " ", lock.read_text(encoding="utf-8"))
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def pins(lock: Path) -> dict[str, str]:
    found = [PIN.match(entry) for entry in entries(lock)]
    return {normal(match["name"]): match["version"] for match in found if match}


def declared(manifest: Path) -> set[str]:
    project = tomllib.loads(manifest.read_text(encoding="utf-8"))["project"]
    return {line for line in project["dependencies"] if not line.startswith("agrun-wasm")}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_line_of_a_lock_is_one_version_with_hashes(lock: Path) -> None:
    loose = [entry for entry in entries(lock) if not PIN.match(entry) or "--hash=sha256:" not in entry]
    assert loose == []


@pytest.mark.parametrize("lock", [lock for lock in LOCKS if lock.name != "run.txt"], ids=lambda lock: lock.name)
def test_locks_agree_with_what_runs(lock: Path) -> None:
    run, other = pins(REQUIREMENTS / "run.txt"), pins(lock)
    assert {name: other[name] for name in run.keys() & other.keys()} == {
        name: run[name] for name in run.keys() & other.keys()
    }


def test_the_tools_lock_holds_all_that_runs() -> None:
    assert pins(REQUIREMENTS / "run.txt").keys() <= pins(REQUIREMENTS / "dev.txt").keys()


def test_run_in_is_what_both_packages_declare() -> None:
    lines = (REQUIREMENTS / "run.in").read_text(encoding="utf-8").splitlines()
    named = {line for line in lines if line and not line.startswith("#")}
    build = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"])
    assert named == declared(ROOT / "pyproject.toml") | declared(ROOT / "agrun_host" / "pyproject.toml") | build


def test_the_page_gets_every_dependency_of_the_core() -> None:
    core = {normal(re.split(r"[<>=]", line)[0]) for line in declared(ROOT / "pyproject.toml")}
    assert core <= pins(REQUIREMENTS / "pyodide.txt").keys()


def test_both_packages_carry_one_version() -> None:
    manifests = [ROOT / "pyproject.toml", ROOT / "agrun_host" / "pyproject.toml"]
    assert len({tomllib.loads(file.read_text(encoding="utf-8"))["project"]["version"] for file in manifests}) == 1


def test_the_node_lock_names_no_server() -> None:
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
    assert [name for name, entry in lock["packages"].items() if "resolved" in entry] == []
    assert [name for name, entry in lock["packages"].items() if name and "integrity" not in entry] == []
