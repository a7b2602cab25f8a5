"""agrun_wasm on CPython: what the core reaches through ports. Imports agrun_wasm; nothing of it is imported by that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agrun_host.cassette import Cassette
    from agrun_host.runtime import Runtime
    from agrun_host.skills import bundled_skills, load_skills
    from agrun_host.transport import HttpFetch

__all__ = ["Cassette", "HttpFetch", "Runtime", "bundled_skills", "load_skills"]

_PLACES = {
    "Cassette": "agrun_host.cassette",
    "HttpFetch": "agrun_host.transport",
    "Runtime": "agrun_host.runtime",
    "bundled_skills": "agrun_host.skills",
    "load_skills": "agrun_host.skills",
}


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used: each brings libraries of its own."""
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(place), name)
