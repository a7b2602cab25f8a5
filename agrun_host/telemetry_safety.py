"""What keeps telemetry from harming a run: nothing that it does raises."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

__all__ = ["harmless"]

_log = logging.getLogger(__name__)
_P = ParamSpec("_P")
_R = TypeVar("_R")

#: functions whose failure was told: a broken processor fails at every event
_told: set[str] = set()


def harmless(function: Callable[_P, _R]) -> Callable[_P, _R | None]:
    """The function, giving None where it raises: a processor or an exporter is anybody's code."""

    @functools.wraps(function)
    def guarded(*args: _P.args, **options: _P.kwargs) -> _R | None:
        try:
            return function(*args, **options)
        except Exception as fault:
            if function.__qualname__ not in _told:
                _told.add(function.__qualname__)
                _log.warning("telemetry failed in %s: %s; runs go on without it", function.__name__, fault)
            return None

    return guarded
