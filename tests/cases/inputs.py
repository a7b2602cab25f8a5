"""A case's input as the single inputs it stands for: `each`, `texts`, `urls` and expressions spelled out. Pure."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

#: key of several inputs -> key of one
_MANY = {"texts": "text", "text_exprs": "text_expr", "urls": "url"}


def spread(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One input for each expectation. Keys beside the list are shared; an item that is no object stands as `value`."""
    items: list[dict[str, Any]]
    if "each" in given:
        shared = {key: value for key, value in given.items() if key != "each"}
        items = [{**shared, **(item if isinstance(item, dict) else {"value": item})} for item in given["each"]]
    else:
        many = next((key for key in _MANY if key in given), None)
        shared = {key: value for key, value in given.items() if key != many}
        items = [{**shared, _MANY[many]: item} for item in given[many]] if many else [shared]
    return [_written_out(item) for item in items]


def _written_out(item: dict[str, Any]) -> dict[str, Any]:
    """`x_expr` as x (a Python expression that builds a long text), `content_b64` as bytes."""
    out = {}
    for key, value in item.items():
        if key.endswith("_expr"):
            out[key.removesuffix("_expr")] = eval(value, {"__builtins__": {}})
        elif key == "content_b64":
            out["content"] = base64.b64decode(value)
        else:
            out[key] = value
    return out
