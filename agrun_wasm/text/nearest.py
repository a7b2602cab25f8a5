"""The known name that a wrong one most likely meant.

Owned here: how close is close, for every message of the form "unknown X, did you mean Y". Must not know: what the names
name.
"""

from collections.abc import Iterable

__all__ = ["nearest"]

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


def _fold(name: str) -> str:
    return "".join(char for char in name.casefold() if char not in "-_ \t\r\n")
