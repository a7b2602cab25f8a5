"""The known name that a wrong one most likely meant, for every message of the form "unknown X; did you mean Y?".

Owns how close is close. Every room may use it.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["did_you_mean", "nearest"]

_CLOSE = 0.6
_LONGEST = 200


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The closest of the known names, None where none is close.

    Letter case, blanks, hyphens and underscores do not count; of equally close names the one that stands first wins.
    """
    if len(name) > _LONGEST:
        return None
    folded: dict[str, str] = {}
    for candidate in known:
        folded.setdefault(_fold(candidate), candidate)
    wanted = _fold(name)
    if wanted in folded:
        return folded[wanted]
    import difflib

    matches = difflib.get_close_matches(wanted, folded, n=1, cutoff=_CLOSE)
    return folded[matches[0]] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`"; did you mean 'x'?"`, or an empty text when nothing is close."""
    candidate = nearest(name, known)
    return f"; did you mean {candidate!r}?" if candidate else ""


def _fold(name: str) -> str:
    return "".join(char for char in name.casefold() if char not in "-_ \t\r\n")
