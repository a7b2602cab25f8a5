"""M6: how long agrun_wasm's import takes beyond pydantic's, against pydantic_ai's beyond pydantic's.

A new process runs `python -X importtime` on `import pydantic`, then `from agrun_wasm import Runtime` (`from pydantic_ai
import Agent`). The figure is the sum of importtime's own times of every module that was loaded after pydantic had been:
dependencies and the building of pydantic models included, and nothing gained by putting an import off until the class
is asked for. pydantic loads most of its submodules when they are first used; those count for the package that uses
them, on both sides. Both interpreters are the same Python with the same pydantic, and a first process of each, not
counted, leaves everything compiled.
"""

from __future__ import annotations

import re
from pathlib import Path

from build_tasks.steps import say
from tests.bench.figures import Finding, Series, against_peers
from tests.bench.session import Session, execute

ROUNDS = 9
REACH = 1 / 4
OURS = "from agrun_wasm import Runtime"
PEER = "from pydantic_ai import Agent"

_LINE = re.compile(r"^import time: +(\d+) \| +\d+ \| (.+)$", re.MULTILINE)


def cost(session: Session) -> list[Finding]:
    pythons = {OURS: session.python, PEER: session.peers_python}
    taken: dict[str, list[float]] = {statement: [] for statement in pythons}
    for statement, python in pythons.items():
        _import_ms(python, statement)
    for _ in range(session.rounds(ROUNDS)):
        for statement, python in pythons.items():
            taken[statement].append(_import_ms(python, statement))
    say("    " + ", ".join(f"{statement}: {min(values):.0f} ms at best" for statement, values in taken.items()))
    return [
        against_peers(
            "M6",
            "import beyond pydantic",
            "ms",
            ours=Series.of(taken[OURS]),
            peers={"pydantic-ai": Series.of(taken[PEER])},
            reach=REACH,
            reach_text="1/4 of pydantic-ai",
        )
    ]


def _import_ms(python: Path, statement: str) -> float:
    done = execute([python, "-X", "importtime", "-c", f"import pydantic; {statement}"])
    return us_after(done.stderr, "pydantic") / 1000


def us_after(report: str, package: str) -> int:
    """The microseconds that importtime reports for all modules after a package that the program itself imported.

    A module that another one imported stands there with spaces before its name.
    """
    lines = _LINE.findall(report)
    names = [name for _, name in lines]
    return sum(int(own) for own, _ in lines[names.index(package) + 1 :])
