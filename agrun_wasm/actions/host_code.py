"""Calling a host's code: sync or async, and never the end of the process."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


async def call_host(function: Callable[..., Any], *args: Any) -> Any:
    """What the function gives, awaited where it can be. SystemExit, which would end the event loop, is a failure."""
    try:
        value = function(*args)
        return await value if inspect.isawaitable(value) else value
    except SystemExit as error:
        raise RuntimeError("it tried to end the process") from error
