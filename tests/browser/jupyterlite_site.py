"""A JupyterLite site as `jupyter lite build` makes it, whose kernel runs on the Pyodide that the notebook tests have.

Everything comes from one origin: JupyterLite's own default is a Pyodide from a CDN. What builds the site lives in an
environment of its own, .build/jupyterlite-venv.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from build_tasks.products import BUILD
from build_tasks.stamps import Stamp, fingerprint
from tests.browser.notebook_site import PINS, build_notebook_site, pinned_wheels

VENV = BUILD / "jupyterlite-venv"
TOOL_PINS = PINS.with_name("requirements-jupyterlite.txt")
KERNEL_PINS = PINS.with_name("requirements-jupyterlite-kernel.txt")
KERNEL_CACHE = BUILD / "jupyterlite-kernel-wheels"
#: JupyterLite compiles schemas with `new Function`, and so needs what our own page does without
POLICY = "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'"

_KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
_KERNEL_SETTINGS = {"pyodideUrl": "/pyodide/pyodide.mjs", "disablePyPIFallback": True}
_SETTINGS = {
    "jupyter-lite-schema-version": 0,
    "jupyter-config-data": {"contentsAllJsonFile": "all.json", "litePluginSettings": {_KERNEL: _KERNEL_SETTINGS}},
}


def build_jupyterlite_site(folder: Path) -> None:
    """The notebook site with `/lite/` beside it. Raises CalledProcessError where packages cannot be had."""
    tool = _tool()
    build_notebook_site(folder, pinned_wheels(KERNEL_PINS, KERNEL_CACHE))
    source = folder / "source"
    source.mkdir()
    (source / "jupyter-lite.json").write_text(json.dumps(_SETTINGS), encoding="utf-8")
    options = ["--lite-dir", source, "--output-dir", folder / "lite", "--apps", "notebooks"]
    unneeded = ["--no-sourcemaps", "--no-unused-shared-packages"]
    subprocess.run([tool, "build", *options, *unneeded], cwd=source, check=True, capture_output=True)


def add_notebooks(folder: Path, notebooks: Mapping[str, Sequence[str]]) -> None:
    """Notebooks of the site: name -> the texts of its cells. The index is what a build makes with jupyter-server."""
    files, contents = folder / "lite" / "files", folder / "lite" / "api" / "contents"
    for made in (files, contents):
        made.mkdir(parents=True, exist_ok=True)
    for name, cells in notebooks.items():
        (files / name).write_text(json.dumps(_notebook(cells)), encoding="utf-8")
    listed = [_entry(name, "notebook", None) for name in notebooks]
    (contents / "all.json").write_text(json.dumps(_entry("", "directory", listed)), encoding="utf-8")


def _tool() -> Path:
    """The program `jupyter-lite`, installed as pinned unless it is there."""
    scripts = VENV / ("Scripts" if os.name == "nt" else "bin")
    stamp = Stamp(VENV / ".agrun-jupyterlite", fingerprint([TOOL_PINS], [sys.version]), [scripts / "jupyter-lite"])
    if not stamp.is_fresh():
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True, capture_output=True)
        install = [scripts / "python", "-m", "pip", "install", "-q", "--require-hashes", "-r", TOOL_PINS]
        subprocess.run(install, check=True, capture_output=True)
        stamp.write()
    return scripts / "jupyter-lite"


def _notebook(cells: Sequence[str]) -> dict[str, Any]:
    written = [
        {"cell_type": "code", "execution_count": None, "id": f"cell-{number}", "metadata": {}, "outputs": []}
        | {"source": text}
        for number, text in enumerate(cells)
    ]
    kernel = {"display_name": "Python (Pyodide)", "language": "python", "name": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": written, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def _entry(name: str, kind: str, content: Any) -> dict[str, Any]:
    moment = "2026-01-01T00:00:00Z"
    about = {"name": name, "path": name, "type": kind, "format": "json", "mimetype": None, "size": None}
    return {**about, "created": moment, "last_modified": moment, "writable": True, "content": content}
