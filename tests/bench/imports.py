"""M6: how long `import agrun_wasm` takes beyond pydantic, against `import pydantic_ai` beyond pydantic.

A new process runs `python -X importtime -c "import pydantic, <package>"`. The figure is the cumulative time that
importtime gives for the package at the top level: everything the import runs, its dependencies and the building of its
pydantic models included, without what `import pydantic` had loaded before. pydantic loads most of its submodules when
they are first used; those count for the package that uses them, on both sides. Both interpreters are the same Python
with the same pydantic, and a first process of each, not counted, leaves everything compiled.
"""

from __future__ import annotations

import re
from pathlib import Path

from build_tasks.steps import say
from tests.bench.figures import Finding, Series, against_peers
from tests.bench.session import Session, execute

ROUNDS = 9
REACH = 1 / 4

_LINE = re.compile(r"import time: +(\d+) \| +(\d+) \| (\S+)$", re.MULTILINE)


def cost(session: Session) -> list[Finding]:
    sides = {"agrun_wasm": session.python, "pydantic_ai": session.peers_python}
    taken: dict[str, list[float]] = {package: [] for package in sides}
    for package, python in sides.items():
        _import_ms(python, package)
    for _ in range(session.rounds(ROUNDS)):
        for package, python in sides.items():
            taken[package].append(_import_ms(python, package))
    say("    " + ", ".join(f"{package} {min(values):.1f} ms at best" for package, values in taken.items()))
    return [
        against_peers(
            "M6",
            "import beyond pydantic",
            "ms",
            ours=Series.of(taken["agrun_wasm"]),
            peers={"pydantic-ai": Series.of(taken["pydantic_ai"])},
            reach=REACH,
            reach_text="1/4 of pydantic-ai",
        )
    ]


def _import_ms(python: Path, package: str) -> float:
    done = execute([python, "-X", "importtime", "-c", f"import pydantic, {package}"])
    return top_level_us(done.stderr, package) / 1000


def top_level_us(report: str, package: str) -> int:
    """The cumulative microseconds of a package that the program itself imported, from importtime's report.

    A module that another one imported stands there with more than one space before its name.
    """
    for _, cumulative, name in _LINE.findall(report):
        if name == package:
            return int(cumulative)
    raise ValueError(f"{package} was not imported at the top level")
