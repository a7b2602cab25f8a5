"""The nearest known name, for error messages. Owns nothing else; every room may use it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` most likely means, or None when none is close. Case does not count."""
    by_fold: dict[str, str] = {}
    for candidate in known:
        by_fold.setdefault(candidate.casefold(), candidate)
    close = get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.6)
    return by_fold[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`"; did you mean 'x'?"`, or an empty text when nothing is close."""
    candidate = nearest(name, known)
    return f"; did you mean {candidate!r}?" if candidate else ""
