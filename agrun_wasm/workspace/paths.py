"""Paths of workspace files: which texts are one, and the one spelling a file is kept under. Rules: 2.11.

Owned here: relative POSIX paths without empty, `.` or `..` segments and without control characters, in NFC. Must not
know which files there are.
"""

from __future__ import annotations

import unicodedata
from typing import Any

#: Unicode categories that no path holds: control characters, surrogates, line and paragraph separators
_FORBIDDEN = frozenset({"Cc", "Cs", "Zl", "Zp"})


class PathInvalid(ValueError):
    """The text is no workspace path; the message says why."""


def workspace_path(given: Any) -> str:
    """`given` in the spelling it is kept under. Raises PathInvalid."""
    if not isinstance(given, str) or not given.strip():
        raise PathInvalid("a path is a text such as 'notes/draft.md'")
    path = unicodedata.normalize("NFC", given)
    shown = repr(path)
    if any(unicodedata.category(char) in _FORBIDDEN for char in path):
        raise PathInvalid(f"the path {shown} holds a control character")
    if "\\" in path:
        raise PathInvalid(f"the path {shown} holds a backslash; segments are parted by '/'")
    if path.startswith("/"):
        raise PathInvalid(f"the path {shown} is absolute; leave out the leading '/'")
    for segment in path.split("/"):
        if segment in ("", ".", ".."):
            what = f"the segment {segment!r}" if segment else "an empty segment"
            raise PathInvalid(f"the path {shown} has {what}")
    return path
