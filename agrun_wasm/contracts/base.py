"""The base of all contracts: camelCase on the wire, snake_case in Python, no unknown keys, no coercion."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Contract(BaseModel):
    """A pydantic model of something that crosses a border or is saved."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        extra="forbid",
        strict=True,
        arbitrary_types_allowed=True,
        # Built when first used: a program that imports the package pays for the models of the runs it makes.
        defer_build=True,
    )

    def to_json(self) -> dict[str, Any]:
        """This value as JSON, under its wire names; keys whose value is None are kept."""
        return self.model_dump(mode="json", by_alias=True)

    def to_short_json(self) -> dict[str, Any]:
        """This value as JSON without the keys that have their default."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    def clone(self) -> Self:
        return self.model_copy(deep=True)
