"""The peers' own environment, .build/bench-venv: made from requirements-peers.txt, which pins and hashes everything.

requirements-peers.txt is made from requirements-peers.in; its first lines say how.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from build_tasks.stamps import Stamp, fingerprint
from build_tasks.steps import ROOT, quietly, step, up_to_date

VENV = ROOT / ".build" / "bench-venv"
REQUIREMENTS = Path(__file__).with_name("requirements-peers.txt")
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


def versions() -> dict[str, str]:
    """The pinned versions of the peers themselves."""
    lines = (line.split()[0] for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines() if "==" in line)
    pins = dict(line.split("==", 1) for line in lines if not line.startswith("#"))
    return {name: pins[name] for name in NAMES}
