"""The house rules that a machine can hold: one direction of imports, a core that touches nothing, JS in one room."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "agrun_wasm"

#: document 1: a room imports itself and what stands before it; skills, research and workspace stand side by side
ORDER = (
    ("contracts",),
    ("text",),
    ("providers",),
    ("actions",),
    ("skills", "research", "workspace"),
    ("session",),
    ("planner",),
    ("loop",),
    ("runtime",),
    ("browser",),
)
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}
MODULES = sorted(CORE.rglob("*.py"))
#: the composition edge: where no port was given, the page's own is taken inside a browser (document 3, Notebooks)
ALLOWED = {("runtime/default_ports.py", "browser")}


def imports_of(path: Path) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.append((node.module, node.lineno))
        elif isinstance(node, ast.ImportFrom):
            found.append(("relative import", node.lineno))
    return found


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "agrun_wasm" and len(parts) > 1 else None


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(CORE).as_posix())
def test_imports_go_one_way(path: Path) -> None:
    place = path.relative_to(CORE)
    room = place.parts[0] if len(place.parts) > 1 else None
    if room is None:
        return  # the package's own face may name every room
    for module, line in imports_of(path):
        other = room_of(module)
        if other is None or other == room or (place.as_posix(), other) in ALLOWED:
            continue
        assert other in RANK, f"{place}:{line} imports the unknown room {other}"
        assert RANK[other] < RANK[room], f"{place}:{line} imports {module}, which stands after {room}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(CORE).as_posix())
def test_only_browser_knows_js_and_nobody_the_host(path: Path) -> None:
    place = path.relative_to(CORE)
    for module, line in imports_of(path):
        top = module.split(".")[0]
        assert top != "agrun_host", f"{place}:{line} imports the host"
        if top in ("js", "pyodide", "pyodide_js"):
            assert place.parts[0] == "browser", f"{place}:{line} imports {module}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(CORE).as_posix())
def test_modules_stay_small_and_say_what_they_own(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300, "a module of more than 300 lines has a second idea in it"
    assert ast.get_docstring(ast.parse(text)), "the first docstring says what the module owns"


POISON = """
import asyncio, builtins, importlib, os, pkgutil, socket, subprocess, sys, threading
import pydantic, pydantic.json_schema  # a library may read what it likes; the core may not

def refuse(*args, **kwargs):
    raise RuntimeError(f"touched with {args}")

class NoEnvironment(dict):  # refuses the core; what the core uses may look
    def __getitem__(self, key):
        return self.get(key)
    def get(self, key, default=None):
        if any("agrun_wasm" in sys._getframe(depth).f_globals.get("__name__", "") for depth in (1, 2)):
            refuse(key)
        return default

FORBIDDEN = {"socket", "ssl", "threading", "subprocess", "multiprocessing", "http", "urllib.request"}
real_import = builtins.__import__

def guarded(name, globals=None, locals=None, fromlist=(), level=0):
    importer = (globals or {}).get("__name__", "")
    if importer.startswith("agrun_wasm") and (name in FORBIDDEN or name.split(".")[0] in FORBIDDEN):
        refuse(importer, name)
    return real_import(name, globals, locals, fromlist, level)

loop = asyncio.new_event_loop()  # has a socket of its own
builtins.__import__ = guarded
builtins.open = socket.socket = threading.Thread = subprocess.Popen = os.system = refuse
os.environ = NoEnvironment()
import agrun_wasm
for found in pkgutil.walk_packages(agrun_wasm.__path__, "agrun_wasm."):
    if not found.name.startswith("agrun_wasm.browser"):
        importlib.import_module(found.name)

@agrun_wasm.action(tier=0)
async def add(context, a: int, b: int) -> int:
    "Add."
    return a + b

class Model:
    async def stream(self, request):
        from agrun_wasm.contracts.model import Finished, TextDelta, TokenUsage
        yield TextDelta("done")
        yield Finished("stop", TokenUsage())

runtime = agrun_wasm.Runtime(provider="mine:m", providers={"mine": Model()}, actions=[add])
print(loop.run_until_complete(runtime.run("hi")).text)
"""


def test_the_core_imports_and_runs_in_a_poisoned_world() -> None:
    """Nothing of the core opens a file, a socket, a thread, a process or the environment, at import or in a run."""
    done = subprocess.run([sys.executable, "-c", POISON], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "done"


def test_heavy_libraries_wait_until_they_are_used() -> None:
    """Reading HTML, YAML, Markdown or JSON Schema costs nobody who does not."""
    probe = (
        "import sys, agrun_wasm; "
        "print([m for m in ('justhtml', 'ruamel.yaml', 'markdown_it', 'jsonschema', 'httpcore2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"
