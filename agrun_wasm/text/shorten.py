"""Cutting text to a length, with a sign that something was cut.

Owned here: the form of the cut for previews, messages and tool results. Must not know: what is cut and what the limits
are. Lengths are characters of the text.
"""

from agrun_wasm.text.strict_json import without_surrogates

__all__ = ["cut_middle", "head", "one_line", "words_of"]

_ELLIPSIS = "…"


def cut_middle(text: str, limit: int) -> str:
    """The text, or its two ends with a marker between them that states the full length.

    The result is no longer than `limit`, except for limits so small that the marker would take over half of them: then
    the two ends together are half of `limit`.
    """
    full = len(text)
    if full <= limit:
        return text
    kept = max(limit - len(_marker(full, full)), limit // 2, 0)
    tail = kept // 2
    return text[: kept - tail] + _marker(kept, full) + text[full - tail :]


def head(text: str, limit: int) -> str:
    """The text, or its first characters and an ellipsis, `limit` characters together."""
    if len(text) <= limit:
        return text
    return text[: max(limit - 1, 0)] + _ELLIPSIS


def one_line(text: str, limit: int) -> str:
    """The head of the text on one line: every run of white space is one blank, outer ones are dropped."""
    return head(" ".join(text.split()), limit)


def words_of(error: BaseException) -> str:
    """What an exception says, or its kind where it says nothing; never fails itself, always encodable text."""
    try:
        text = str(error)
    except Exception:
        text = ""
    if isinstance(error, KeyError):
        text = f"KeyError: {text}"  # its text is the key alone
    return without_surrogates(text) or type(error).__name__


def _marker(kept: int, full: int) -> str:
    return f"… [cut: showing {kept} of {full} characters] …"
