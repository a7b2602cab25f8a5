"""The measures that are run, by number (document 5): what each is called and the function that takes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.bench import boots, cycles, imports, plans, scripts, serving, sizes, streaming
from tests.bench.figures import Finding
from tests.bench.session import Session


@dataclass(frozen=True)
class Measure:
    title: str
    take: Callable[[Session], list[Finding]]


MEASURES: Mapping[str, Measure] = {
    "M1": Measure("cost of one cycle on CPython", cycles.cost),
    "M2": Measure("growth of that cost with the length of the run", cycles.growth),
    "M3": Measure("warm start in the browser", boots.warm),
    "M4": Measure("first visit in the browser", boots.first),
    "M5": Measure("cost of one cycle in the browser", scripts.cost),
    "M6": Measure("import on CPython", imports.cost),
    "M7": Measure("stream of 10 000 deltas", streaming.cost),
    "M8": Measure("size", sizes.sizes),
    "M9": Measure("a server under 500 runs at once", serving.cost),
    "M10": Measure("a plan of 8 actions of 100 ms", plans.time),
}
