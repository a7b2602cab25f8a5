"""How long a server asks us to wait: Retry-After in its forms. Must not know: who asks, and what comes of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC

__all__ = ["retry_after_ms"]


def retry_after_ms(headers: Mapping[str, str], now: float) -> float | None:
    """`retry-after-ms`, else `Retry-After` in seconds or as an HTTP date, in ms from `now` (ms since the epoch).

    None where the server said nothing that can be read, which is not 0. Header names in any letter case.
    """
    found = {name.lower(): value.strip() for name, value in headers.items()}
    ms = _number(found.get("retry-after-ms", ""))
    if ms is not None:
        return ms
    text = found.get("retry-after", "")
    seconds = _number(text)
    if seconds is not None:
        return seconds * 1000
    at = _date_ms(text)
    return None if at is None else max(at - now, 0.0)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return max(value, 0.0) if math.isfinite(value) else None


def _date_ms(text: str) -> float | None:
    """An HTTP date in any of its three forms (RFC 9110, 5.6.7); without a zone it is GMT."""
    if not text:
        return None
    from email.utils import parsedate_to_datetime

    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000
