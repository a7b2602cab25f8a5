"""M8: bytes of the core's wheel, of the shim, and of a first visit beyond Pyodide's own files.

The first visit is what a page with `agrun.js` loads until Python is ready, as it comes from a server that packs
nothing; the element and the skills, which a page may do without, are told beside it.
"""

from __future__ import annotations

import gzip
from pathlib import Path

from build_tasks.environment import WEB
from build_tasks.products import wheel
from build_tasks.steps import ROOT
from tests.bench.figures import Finding, Series
from tests.bench.session import Session

DIST = WEB / "dist"
FIRST_VISIT = ("agrun.js", "manifest.json", "worker.mjs", "site.zip.zst", "pydantic_core.so.zst")
BESIDE = ("chat.mjs", "skills.json")


def sizes(_session: Session) -> list[Finding]:
    wheel()
    (core,) = (ROOT / "dist" / "wheels").glob("agrun_wasm-*.whl")
    shim = len(gzip.compress((DIST / "agrun.js").read_bytes(), 9, mtime=0))
    visit = sum(_bytes(DIST / name) for name in FIRST_VISIT)
    beside = {name: f"{_bytes(DIST / name) / 1e3:.0f} KB" for name in BESIDE}
    return [
        _finding("the core's wheel", _bytes(core) / 1e3, 250, {}),
        _finding("the shim, packed", shim / 1e3, 20, {}),
        _finding("a first visit beyond Pyodide's own", visit / 1e3, 2_500, beside),
    ]


def _bytes(path: Path) -> int:
    return path.stat().st_size


def _finding(what: str, kilobytes: float, reach: float, notes: dict[str, str]) -> Finding:
    series = Series.of([kilobytes])
    return Finding("M8", what, "KB", series, {}, series, reach, f"{reach:,} KB", notes=notes)
