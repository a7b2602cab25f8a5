"""A run in progress in a notebook's output cell: one display, brought up to date until the run ends.

Owned here: how often it is drawn, and how a display of IPython is found without depending on IPython. Must not know
what a run looks like.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Any, Protocol

from agrun_wasm.contracts.events import DELTA_TYPES, RunEvent
from agrun_wasm.contracts.ports import Clock

__all__ = ["follow", "open_display"]

#: between two drawings while text streams in; each draws the whole view
REDRAW_MS = 150


class Shown(Protocol):
    """A run, as far as it is shown."""

    def __aiter__(self) -> AsyncIterator[RunEvent]: ...

    def _repr_mimebundle_(self) -> dict[str, str]: ...


class Display(Protocol):
    """IPython's handle of one output."""

    def update(self, value: Any, *, raw: bool) -> None: ...


def open_display(run: Shown) -> Display | None:
    """A display of the run as it stands; None where IPython is not there.

    IPython calls `_ipython_display_`, so where it is at work it has been imported, and is only looked up.
    """
    module = sys.modules.get("IPython.display") or sys.modules.get("IPython.core.display_functions")
    if module is None:
        return None
    handle: Display = module.display(run._repr_mimebundle_(), raw=True, display_id=True)
    return handle


async def follow(run: Shown, display: Display, clock: Clock) -> None:
    """Draws the run anew at each step, and at most every REDRAW_MS for text; for the last time when it has ended."""
    drawn = clock.now()
    async for event in run:
        if event.type not in DELTA_TYPES or clock.now() - drawn >= REDRAW_MS:
            display.update(run._repr_mimebundle_(), raw=True)
            drawn = clock.now()
    display.update(run._repr_mimebundle_(), raw=True)
