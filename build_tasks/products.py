"""What is built for others: the two wheels and the page."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from build_tasks.environment import VENV, WEB, ensure_chromium, node, pip, program, setup
from build_tasks.stamps import Stamp, fingerprint
from build_tasks.steps import ROOT, quietly, require, say, step, up_to_date

BUILD = ROOT / ".build"
STAMPS = BUILD / "stamps"
DIST = WEB / "dist"
WHEELS = ROOT / "dist" / "wheels"
PYODIDE_LOCK = ROOT / "requirements" / "pyodide.txt"
PYODIDE_WHEELS = BUILD / "pyodide-wheels"
PYODIDE_TAGS = (
    "--platform=pyemscripten_2026_0_wasm32",
    "--python-version=3.14",
    "--implementation=cp",
    "--abi=cp314",
)
DERIVED_PARTS = {"__pycache__", "build"}
EPOCH = "315532800"  # 1980-01-01, the oldest time a zip can hold
CORE_SOURCES = [ROOT / "pyproject.toml", ROOT / "README.md", ROOT / "LICENSE", ROOT / "agrun_wasm"]
SKILLS = ROOT / "skills"
HOST_SOURCES = [ROOT / "agrun_host", SKILLS]
TOOLING = [ROOT / "build_tasks"]


def wheel() -> None:
    """dist/wheels/agrun_wasm-*.whl and agrun_host-*.whl, the latter with the bundled skills inside."""
    setup()
    title = "Wheels (dist/wheels)"
    stamp = Stamp(STAMPS / "wheel", fingerprint([*CORE_SOURCES, *HOST_SOURCES, *TOOLING]), [WHEELS])
    if stamp.is_fresh():
        return up_to_date(title)
    with step(title):
        shutil.rmtree(WHEELS, ignore_errors=True)
        build_wheels(WHEELS)
        for built in sorted(WHEELS.iterdir()):
            say(f"    {built.relative_to(ROOT)}  {built.stat().st_size / 1024:.0f} KB")
    stamp.write()
    return None


def build_wheels(folder: Path) -> None:
    """Both wheels, from a staged copy of the sources: the same tree gives the same bytes."""
    with tempfile.TemporaryDirectory() as place:
        staged = Path(place)
        _stage(staged)
        options = ["--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir"]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
        quietly(pip("wheel", *options, folder, staged, staged / "agrun_host"), env=environment)


def web() -> None:
    """web/dist, the page and its bundle, built by web/build.mjs from the wheels of Pyodide's side."""
    wheel()
    _download_pyodide_wheels()
    title = "Page (web/dist)"
    stamp = _web_stamp()
    if stamp.is_fresh():
        return up_to_date(title)
    with step(title):
        require([node(), WEB / "build.mjs"])
    stamp.write()
    return None


def snapshot() -> None:
    """web/dist/snapshot.bin.gz, for pages that are to start warm at the first visit: `snapshot: "snapshot.bin.gz"`."""
    setup("dev")
    ensure_chromium()
    web()
    title = "Memory snapshot (web/dist/snapshot.bin.gz)"
    if (DIST / "snapshot.bin.gz").exists():  # every build of the page removes it
        return up_to_date(title)
    with step(title):
        require([program("python"), "-m", "build_tasks.make_snapshot", DIST])
    _web_stamp().write()  # the page has one file more, and is still the same
    return None


def clean(*, everything: bool = False) -> None:
    """Remove what was built; with `everything` also the environments, which take a download to come back."""
    products = [BUILD, ROOT / "build", ROOT / "dist", ROOT / "agrun_host" / "build", ROOT / "schemas", DIST]
    caches = [ROOT / name for name in (".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis")]
    environments = [VENV, WEB / "node_modules", *ROOT.glob("*.egg-info")] if everything else []
    for folder in [*products, *caches, *environments]:
        if folder.exists():
            say(f"    removing {folder.relative_to(ROOT)}")
            shutil.rmtree(folder)


def _web_stamp() -> Stamp:
    return Stamp(STAMPS / "web", fingerprint([WEB, PYODIDE_LOCK, *CORE_SOURCES, SKILLS, *TOOLING]), [DIST])


def _stage(folder: Path) -> None:
    """Copies of both packages, so that nothing stale gets in and nothing is written into the sources."""
    derived = shutil.ignore_patterns(*DERIVED_PARTS, "*.egg-info")
    for source in [*CORE_SOURCES, *HOST_SOURCES]:
        if source.is_dir():
            target = folder / "agrun_host" / "_skills" if source == SKILLS else folder / source.name
            shutil.copytree(source, target, ignore=derived)
        elif source.exists():
            shutil.copyfile(source, folder / source.name)


def _download_pyodide_wheels() -> None:
    title = "Pyodide's wheels (.build/pyodide-wheels)"
    stamp = Stamp(STAMPS / "pyodide-wheels", fingerprint([PYODIDE_LOCK], PYODIDE_TAGS), [PYODIDE_WHEELS])
    if stamp.is_fresh():
        return up_to_date(title)
    with step(title):
        shutil.rmtree(PYODIDE_WHEELS, ignore_errors=True)
        options = ["--no-deps", "--only-binary=:all:", "--require-hashes", *PYODIDE_TAGS]
        quietly(pip("download", *options, "-d", PYODIDE_WHEELS, "-r", PYODIDE_LOCK))
    stamp.write()
    return None
