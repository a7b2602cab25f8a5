"""A site as a notebook sees it: Pyodide with its own packages, and an index that has agrun-wasm.

Pyodide's own wheels are published by Pyodide alone; wheels of the same packages stand for them, under its lock file
(requirements-notebook.txt says which). What Pyodide does not bring lies in the index (PEP 503), as on PyPI.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from build_tasks.products import BUILD, PYODIDE_TAGS
from tests.browser.serving import DIST, ROOT

PYODIDE = ROOT / "web" / "node_modules" / "pyodide"
PYSCRIPT = PYODIDE.parent / "@pyscript" / "core" / "dist"
PINS = ROOT / "tests" / "browser" / "requirements-notebook.txt"
CACHE = BUILD / "notebook-wheels"
#: what of our dependencies Pyodide does not bring
FROM_INDEX = ("agrun_wasm", "justhtml", "markdown_it_py", "mdurl")
#: beside those of PINS: what Pyodide has too, in the page's versions (the pinned pydantic needs the newer typing ones)
FROM_PAGE = ("attrs", "jsonschema", "jsonschema_specifications", "pyrsistent", "pyrsistent_as_rpds_py", "referencing")
FROM_PAGE += ("rpds_py", "ruamel_yaml", "annotated_types", "typing_extensions", "typing_inspection")


def build_notebook_site(folder: Path, more: Sequence[Path] = ()) -> None:
    """Writes an empty page, `/pyodide/` and its lock file, `/pyscript/`, `/packages/`, `/simple/` to the folder.

    `more` are wheels that Pyodide's distribution is to have besides those that our packages need.
    """
    own = folder / "own"
    own.mkdir()
    for wheel in [*pinned_wheels(PINS, CACHE), *more]:
        shutil.copyfile(wheel, own / wheel.name)
    _copy_named(FROM_PAGE, own)
    shutil.copytree(PYODIDE, folder / "pyodide", ignore=shutil.ignore_patterns("*.html", "*.map"))
    lock = json.loads((PYODIDE / "pyodide-lock.json").read_text(encoding="utf-8"))
    lock["packages"].update(json.loads(lock_entries().entries(str(own), "../own/")))
    (folder / "pyodide" / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    (folder / "index.html").write_text("<!doctype html><title>notebook</title><main></main>", encoding="utf-8")
    shutil.copytree(PYSCRIPT, folder / "pyscript", ignore=shutil.ignore_patterns("*.map"))
    packages = folder / "packages"
    packages.mkdir()
    _copy_named(FROM_INDEX, packages)
    _write_index(folder / "simple", packages)


def lock_entries() -> ModuleType:
    """The build's own tool: the entries of a lock file for the wheels of a folder."""
    spec = importlib.util.spec_from_file_location("lock_entries", ROOT / "web" / "tools" / "lock_entries.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pinned_wheels(pins: Path, cache: Path) -> list[Path]:
    """What the file pins, for Pyodide; downloaded once for each of its texts."""
    done = cache / "pins.txt"
    text = pins.read_text(encoding="utf-8")
    if not done.exists() or done.read_text(encoding="utf-8") != text:
        shutil.rmtree(cache, ignore_errors=True)
        options = ["--no-deps", "--only-binary=:all:", "--require-hashes", *PYODIDE_TAGS, "-q", "-d", str(cache)]
        command: list[Any] = [sys.executable, "-m", "pip", "download", *options, "-r", pins]
        subprocess.run(command, check=True, capture_output=True)
        done.write_text(text, encoding="utf-8")
    return sorted(cache.glob("*.whl"))


def _copy_named(names: tuple[str, ...], target: Path) -> None:
    for name in names:
        (wheel,) = (DIST / "wheels").glob(f"{name}-*.whl")
        shutil.copyfile(wheel, target / wheel.name)


def _write_index(folder: Path, packages: Path) -> None:
    for wheel in packages.iterdir():
        page = folder / wheel.name.split("-")[0].replace("_", "-") / "index.html"
        page.parent.mkdir(parents=True)
        link = f'<a href="../../packages/{wheel.name}#sha256={sha256(wheel.read_bytes()).hexdigest()}">{wheel.name}</a>'
        page.write_text(f"<!doctype html><title>Links</title>{link}", encoding="utf-8")
