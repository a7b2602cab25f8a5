"""Stamps: whether a step's inputs and outputs are still what they were when it last succeeded.

Content decides, not time. A stamp lies beside what it vouches for, so that removing that removes the stamp too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from build_tasks.steps import ROOT

DERIVED = {"__pycache__", "build", "dist", "node_modules"}


def fingerprint(paths: Iterable[Path], facts: Sequence[str] = ()) -> str:
    """One hash over the facts and over the name and content of every file under the paths; absence counts too."""
    digest = hashlib.sha256(json.dumps(list(facts)).encode())
    for path in paths:
        digest.update(f"\0{path.relative_to(ROOT)}".encode())
        for file in _files(path):
            digest.update(f"\0{file.relative_to(ROOT)}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        for entry in sorted(path.iterdir()):
            if entry.name not in DERIVED and not entry.name.endswith((".pyc", ".egg-info")):
                yield from _files(entry)


@dataclass(frozen=True)
class Stamp:
    file: Path
    inputs: str
    outputs: Sequence[Path] = ()

    def is_fresh(self) -> bool:
        return (
            self.file.is_file()
            and all(output.exists() for output in self.outputs)
            and self.file.read_text(encoding="utf-8") == self._text()
        )

    def write(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(self._text(), encoding="utf-8")

    def _text(self) -> str:
        return f"{self.inputs}\n{fingerprint(self.outputs)}\n"
