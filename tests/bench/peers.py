"""The peers: an environment of their own, .build/bench-venv, and their wheels for Pyodide, .build/bench-pyodide-wheels.

Both come from files that pin and hash everything (requirements-peers.txt, requirements-peers-pyodide.txt), made from
those of the same names that end in .in; their first lines say how.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from build_tasks.products import PYODIDE_TAGS
from build_tasks.stamps import Stamp, fingerprint
from build_tasks.steps import ROOT, quietly, step, up_to_date

VENV = ROOT / ".build" / "bench-venv"
REQUIREMENTS = Path(__file__).with_name("requirements-peers.txt")
PYODIDE_WHEELS = ROOT / ".build" / "bench-pyodide-wheels"
PYODIDE_REQUIREMENTS = Path(__file__).with_name("requirements-peers-pyodide.txt")
NAMES = ("pydantic-ai-slim", "openai-agents", "langgraph", "langchain-openai", "pydantic")


def ensure() -> Path:
    """The environment's interpreter, of the same Python as this one; installs what is pinned unless it is there."""
    python = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    version = sys.version.split()[0]
    title = f"Peers in an environment of their own (.build/bench-venv, Python {version})"
    stamp = Stamp(VENV / ".agrun-peers", fingerprint([REQUIREMENTS], [version]), [python])
    if stamp.is_fresh():
        up_to_date(title)
        return python
    with step(title):
        quietly([sys.executable, "-m", "venv", "--clear", VENV])
        quiet = ["--disable-pip-version-check", "--require-hashes"]
        quietly([python, "-m", "pip", "install", *quiet, "-r", REQUIREMENTS])
    stamp.write()
    return python


def ensure_pyodide() -> None:
    """Fills PYODIDE_WHEELS with what pydantic-ai needs in Pyodide, unless it is there."""
    title = "Peers for Pyodide (.build/bench-pyodide-wheels)"
    inputs = fingerprint([PYODIDE_REQUIREMENTS], PYODIDE_TAGS)
    stamp = Stamp(PYODIDE_WHEELS.with_suffix(".stamp"), inputs, [PYODIDE_WHEELS])
    if stamp.is_fresh():
        return up_to_date(title)
    with step(title):
        shutil.rmtree(PYODIDE_WHEELS, ignore_errors=True)
        options = ["--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--require-hashes", *PYODIDE_TAGS]
        download = [sys.executable, "-m", "pip", "download", *options, "-d", PYODIDE_WHEELS]
        quietly([*download, "-r", PYODIDE_REQUIREMENTS])
    stamp.write()
    return None


def versions() -> dict[str, str]:
    """The pinned versions of the peers themselves."""
    pinned = pins(REQUIREMENTS)
    return {name: pinned[name] for name in NAMES}


def pins(requirements: Path) -> dict[str, str]:
    """Package -> version, of everything that the file pins."""
    lines = (line.split()[0] for line in requirements.read_text(encoding="utf-8").splitlines() if "==" in line)
    return dict(line.split("==", 1) for line in lines if not line.startswith("#"))
