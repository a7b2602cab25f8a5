"""Pyodide's event loop, made to run what is due in one go.

Pyodide asks the browser for a task of its own for every callback, which costs thirty times what asyncio does with it
elsewhere, and a cycle of a run has some twenty. Here they stand in a queue, and one task of the browser runs it.

Owned here: how what is due is scheduled. Must not know what is scheduled. Only for a Python that is ours: a notebook's
loop is the notebook's.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Any

from pyodide.webloop import WebLoop, scheduleCallback

from agrun_wasm.browser.border import expose_once

__all__ = ["QueueLoop", "run_in_one_go"]

#: how long the queue is run before the browser has its turn: messages, timers and downloads come in between
SLICE_SECONDS = 0.005


class QueueLoop(WebLoop):  # type: ignore[misc]
    """A WebLoop with a queue. Made of one that runs already, so it has no constructor."""

    _due: deque[asyncio.Handle]
    _asked: bool

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context=context)
        self._due.append(handle)
        self._ask()
        return handle

    def _ask(self) -> None:
        """Sees to it that the browser runs the queue."""
        if not self._asked:
            self._asked = True
            scheduleCallback(expose_once(self._run_due), 0)

    def _run_due(self) -> None:
        self._asked = False
        self._install_running_loop()
        self._install_asyncgen_hooks()
        until = time.monotonic() + SLICE_SECONDS
        while self._due:
            handle = self._due.popleft()
            # Whatever the handle does (waits here for a promise, ends Python), the rest will be run.
            if self._due:
                self._ask()
            self._run_handle(handle)
            if time.monotonic() > until:
                break

    def _run_handle(self, handle: asyncio.Handle) -> None:
        """As WebLoop does it."""
        if handle.cancelled():
            return
        try:
            handle._run()
        except SystemExit as error:
            if not self._system_exit_handler:
                raise
            self._system_exit_handler(error.code)
        except KeyboardInterrupt:
            if not self._keyboard_interrupt_handler:
                raise
            self._keyboard_interrupt_handler()


def run_in_one_go() -> None:
    """From here on this Python's loop has a queue. It stays the same object: Pyodide and tasks in progress hold it."""
    loop: Any = asyncio.get_event_loop()
    if type(loop) is WebLoop:
        loop._due = deque()
        loop._asked = False
        loop.__class__ = QueueLoop
