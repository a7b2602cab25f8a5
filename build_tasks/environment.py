"""The environment: the Python one in .venv, the Node one in web/node_modules, and the browser the tests drive."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from build_tasks.stamps import Stamp, fingerprint
from build_tasks.steps import ROOT, TaskError, quietly, require, say, step, up_to_date

VENV = ROOT / ".venv"
WEB = ROOT / "web"
NODE_MAJOR = 20
CHROMIUM = Path("/usr/bin/chromium")
LOCKS = {"run": ("run",), "dev": ("dev", "run")}  # lock -> the locks it fulfils
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def setup(lock: str = "run") -> None:
    """Everything the lock `requirements/<lock>.txt` and `web/package-lock.json` name, both packages editable."""
    executable = node()  # before anything that takes long
    _setup_python(lock)
    _setup_node(executable)


def program(name: str) -> Path:
    """A program inside .venv."""
    return VENV / "Scripts" / f"{name}.exe" if os.name == "nt" else VENV / "bin" / name


def pip(*arguments: str | Path) -> list[str | Path]:
    return [program("python"), "-m", "pip", "--disable-pip-version-check", *arguments]


def node() -> str:
    """The Node program, once its version is known to do."""
    found = shutil.which("node")
    if not found:
        raise TaskError(f"Node >= {NODE_MAJOR} is needed to build the page and is not on PATH: https://nodejs.org")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < NODE_MAJOR:
        raise TaskError(f"Node >= {NODE_MAJOR} is needed, {found} is {version}")
    return found


def ensure_postgres() -> None:
    """PostgreSQL's programs for the tests of the server, through apt; elsewhere those tests say what they lack."""
    if any(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or shutil.which("initdb"):
        up_to_date("PostgreSQL")
    elif shutil.which("apt-get") and os.geteuid() == 0:
        with step("PostgreSQL through apt-get (about 50 MB, once)"):
            env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            quietly(["apt-get", "update"], env=env)
            quietly(["apt-get", "install", "-y", "--no-install-recommends", "postgresql"], env=env)
    else:
        say("    PostgreSQL is not here and cannot be installed without apt and root: its tests are skipped")


def ensure_chromium() -> None:
    """A browser for the page tests: the machine's own, else Debian's, else Playwright's."""
    if CHROMIUM.exists() or any(map(shutil.which, BROWSERS)):
        return up_to_date("Chromium")
    if shutil.which("apt-get") and os.geteuid() == 0:
        with step("Chromium through apt-get (about 100 MB, once)"):
            env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            quietly(["apt-get", "update"], env=env)
            quietly(["apt-get", "install", "-y", "--no-install-recommends", "chromium"], env=env)
    else:
        with step("Chromium through Playwright (about 150 MB, once)"):
            require([program("python"), "-m", "playwright", "install", "chromium"])
    return None


def _setup_python(lock: str) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    title = f"Python {version} environment (.venv, requirements/{lock}.txt)"
    requirements = _lock_file(lock)
    stamps = [_python_stamp(fulfilled, version) for fulfilled in LOCKS[lock]]
    if stamps[0].is_fresh():
        return up_to_date(title)
    with step(title):
        if not program("python").exists() or _venv_version() != version:
            say("    creating .venv")
            quietly([sys.executable, "-m", "venv", "--clear", VENV])
        say("    installing the locked packages")
        quietly(pip("install", "--require-hashes", "-r", requirements))
        say("    installing agrun-wasm and agrun-host, editable")
        offline = ["--no-deps", "--no-build-isolation", "--no-index"]
        quietly(pip("install", *offline, "-e", ROOT, "-e", ROOT / "agrun_host"))
    for stamp in stamps:
        stamp.write()
    return None


def _lock_file(lock: str) -> Path:
    return ROOT / "requirements" / f"{lock}.txt"


def _python_stamp(lock: str, version: str) -> Stamp:
    manifests = [_lock_file(lock), ROOT / "pyproject.toml", ROOT / "agrun_host" / "pyproject.toml"]
    return Stamp(VENV / f".agrun-{lock}", fingerprint(manifests, [version]), [program("python")])


def _venv_version() -> str:
    settings = (VENV / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    values = dict(line.split(" = ", 1) for line in settings if " = " in line)
    return ".".join(values.get("version", "").split(".")[:2])


def _setup_node(executable: str) -> None:
    manifests = [WEB / "package.json", WEB / "package-lock.json"]
    installed = WEB / "node_modules" / ".package-lock.json"
    title = "Node packages (web/node_modules)"
    stamp = Stamp(WEB / "node_modules" / ".agrun", fingerprint(manifests), [installed])
    if stamp.is_fresh():
        return up_to_date(title)
    npm = shutil.which("npm", path=os.pathsep.join([str(Path(executable).parent), os.environ.get("PATH", "")]))
    if not npm:
        raise TaskError("npm is not on PATH; it comes with Node: https://nodejs.org")
    with step(title):
        quietly([npm, "ci", "--no-audit", "--no-fund"], cwd=WEB)
    stamp.write()
    return None
