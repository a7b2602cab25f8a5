"""Canonical JSON and its digest: the same for equal values, whatever the order of keys."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def canonical_json(value: Any) -> str:
    """Compact JSON with sorted keys."""
    return _encode(value)


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, in hex."""
    return sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()
