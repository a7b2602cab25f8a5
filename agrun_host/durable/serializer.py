"""What DBOS keeps, as JSON text: the database holds no pickles, which would run code when they are read."""

from __future__ import annotations

import json
from typing import Any

from dbos import Serializer

__all__ = ["JsonSerializer"]


class JsonSerializer(Serializer):
    """JSON in ASCII. An exception, which DBOS keeps of a workflow that broke down, becomes its words."""

    def serialize(self, data: Any) -> str:
        return json.dumps(data, default=_words)

    def deserialize(cls, serialized_data: str) -> Any:  # noqa: N805 (DBOS's own signature)
        return json.loads(serialized_data)

    def name(self) -> str:
        return "agrun_json"


def _words(value: Any) -> Any:
    if isinstance(value, BaseException):
        return {"error": type(value).__name__}
    raise TypeError(f"{type(value).__name__} is no JSON value")
