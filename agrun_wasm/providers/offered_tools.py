"""Offered tools on the wire: names that every API takes, and the encoded list, kept while the same tools are offered.

Must not know: how a schema is projected (`tool_schema`) and what a tool does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agrun_wasm.contracts.model import ToolSpec
from agrun_wasm.providers.encoding import dumps

__all__ = ["EncodedTools", "OfferedTools", "wire_name"]

_LONGEST = 64
_GOOD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", re.ASCII)


def wire_name(name: str) -> str:
    """The name as all APIs take it: letters, digits, `_`, `-`, at most 64, no digit first. Most names stay as they are.

    Also for names in a history, which a model made up: one bad name there makes APIs refuse every later request.
    """
    if _GOOD.fullmatch(name):
        return name
    spelled = "".join(
        char if char.isascii() and (char.isalnum() or char in "_-") else "_" if char.isascii() else f"u{ord(char):x}"
        for char in name
    )
    if not spelled or not (spelled[0].isalpha() or spelled[0] == "_"):
        spelled = f"_{spelled}"
    return spelled[:_LONGEST]


@dataclass(frozen=True, slots=True)
class EncodedTools:
    """`json` is the list as the dialect writes it, empty without tools; `names` maps wire names that differ back."""

    json: str
    names: Mapping[str, str]


class OfferedTools:
    """Encodes tools with `encode(tool, wire_name)`."""

    def __init__(self, encode: Callable[[ToolSpec, str], Any]) -> None:
        self._encode = encode
        self._last: tuple[ToolSpec, ...] = ()
        self._encoded = EncodedTools("", {})

    def of(self, tools: tuple[ToolSpec, ...]) -> EncodedTools:
        """The tools encoded; the same tuple (or an equal one) again costs nothing."""
        if tools is not self._last and tools != self._last:
            names: dict[str, str] = {}
            encoded = [self._encode(tool, self._name(tool.name, names)) for tool in tools]
            changed = {wire: name for wire, name in names.items() if wire != name}
            self._last, self._encoded = tools, EncodedTools(dumps(encoded) if tools else "", changed)
        return self._encoded

    @staticmethod
    def _name(name: str, taken: dict[str, str]) -> str:
        wire = base = wire_name(name)
        number = 2
        while wire in taken:
            suffix = f"_{number}"
            wire = base[: _LONGEST - len(suffix)] + suffix
            number += 1
        taken[wire] = name
        return wire
