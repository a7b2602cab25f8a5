"""Tables of a composition and of a request, for people: names, origins, sizes. Must not know: how either is made."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agrun_host.terminal import printable
from agrun_wasm.text.shorten import one_line

#: characters of a cell at most, and of a cut one at least
_LONGEST = 100
_LEAST = 20
#: characters of a line that belong to no column
_EDGES = 4
_NUMBERS = ("bytes", "tokens", "tier")
#: columns that give way where the terminal is narrow: cut at its edge, or folded
_CUT = ("description", "text")
_FOLDED = ("tools", "actions")
#: characters of a line where nobody looks at a terminal
_WIDE = 160


def show_composition(described: Mapping[str, Any]) -> None:
    """`describe_composition()` as tables."""
    console = _console()
    provider, mode = described["provider"], described["plannerMode"]
    model = f":{provider['model']}" if provider["model"] else ""
    _line(console, "profile", described["profile"])
    _line(console, "provider", f"{provider['name']}{model}")
    _line(console, "planner mode", f"{mode['mode']} ({mode['reason']})")
    _line(console, "fingerprint", described["fingerprint"])
    _table(
        console,
        "Actions",
        ("name", "tier", "policy", "origin", "bytes", "offered"),
        [
            (
                action["name"],
                action["tier"],
                action["policy"],
                action["origin"],
                action["schemaBytes"],
                action["active"],
            )
            for action in described["actions"]
        ],
    )
    for action in described["actions"]:
        if not action["active"]:
            console.print(printable(f" {action['name']} is not offered: {action['inactiveReason']}"))
    _table(
        console,
        "Capabilities",
        ("id", "active"),
        [(c["id"], "yes" if c["active"] else f"no: {c['reason']}") for c in described["capabilities"]],
    )
    _table(
        console,
        "Skills",
        ("name", "tools", "trusted", "description"),
        [
            (skill["name"], ", ".join(skill["tools"]) or "none", skill["trusted"], skill["description"])
            for skill in described["skills"]
        ],
    )
    _table(
        console,
        "Plugins",
        ("name", "version", "actions"),
        [(plugin["name"], plugin["version"], ", ".join(plugin["actions"])) for plugin in described["plugins"]],
    )
    _sections(console, described["promptSections"])
    _totals(console, described["totals"])


def show_request(inspected: Mapping[str, Any], origins: Mapping[str, str], *, full: bool) -> None:
    """`inspect_prompt()` as tables; `full` prints the texts after them."""
    console = _console()
    _line(console, "planner mode", inspected["plannerMode"])
    _sections(console, inspected["sections"])
    _table(
        console,
        "Tools",
        ("name", "origin", "bytes", "description"),
        [
            (tool["name"], origins.get(tool["name"], "decision"), _bytes(tool), tool["description"])
            for tool in inspected["tools"]
        ],
    )
    _table(
        console,
        "Messages",
        ("role", "bytes", "text"),
        [(message["role"], _bytes(message), message["text"]) for message in inspected["messages"]],
    )
    _totals(console, inspected["totals"])
    if full:
        _text(console, "system", inspected["system"])
        for message in inspected["messages"]:
            _text(console, message["role"], message["text"])


def show_runs(runs: Sequence[Mapping[str, Any]]) -> None:
    """Kept runs, a row each."""
    console = _console()
    _table(
        console,
        "Runs",
        ("id", "status", "created", "text"),
        [(run["runId"], run["status"], run["created"], run["says"]) for run in runs],
    )


def _console() -> Console:
    width = None if sys.stdout.isatty() else _WIDE
    return Console(markup=False, emoji=False, highlight=False, width=width)


def _sections(console: Console, sections: Iterable[Mapping[str, Any]]) -> None:
    rows = [(s["id"], s["origin"], s["bytes"], s["estTokens"], "yes" if s["active"] else "no") for s in sections]
    _table(console, "Prompt sections", ("id", "origin", "bytes", "tokens", "active"), rows)


def _totals(console: Console, totals: Mapping[str, Any]) -> None:
    parts = [f"system {totals['systemBytes']}", f"tools {totals['toolBytes']}"]
    if "messageBytes" in totals:
        parts.append(f"messages {totals['messageBytes']}")
    whole = totals["bytes"] + totals.get("messageBytes", 0)
    _line(console, "total", f"{whole} bytes ({' + '.join(parts)}), about {-(-whole // 4)} tokens")


def _bytes(value: Mapping[str, Any]) -> int:
    from agrun_wasm.runtime.inspection import size

    return size(dict(value))


def _line(console: Console, name: str, value: str) -> None:
    console.print(Text(f"{name}: ", "bold"), printable(value), sep="")


def _table(console: Console, title: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    if not rows:
        return
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    cells = [[printable(one_line(_word(cell), _LONGEST)) for cell in row] for row in rows]
    others = sum(_width(heads, cells, n) for n, head in enumerate(heads) if head not in _CUT)
    glance = max(_LEAST, console.width - others - _EDGES)
    for head in heads:
        justify: Any = "right" if head in _NUMBERS else "left"
        table.add_column(head, justify=justify, no_wrap=head not in _FOLDED, overflow="fold")
    for row in cells:
        table.add_row(*(one_line(cell, glance) if heads[n] in _CUT else cell for n, cell in enumerate(row)))
    console.print()
    console.print(table)


def _width(heads: Sequence[str], cells: Sequence[Sequence[str]], column: int) -> int:
    """Characters that a column takes, with the space beside it."""
    return max(len(heads[column]), *(len(row[column]) for row in cells)) + 3


def _word(cell: Any) -> str:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return str(cell)


def _text(console: Console, title: str, text: str) -> None:
    console.print()
    console.rule(Text(title, "bold"), align="left")
    console.print(printable(text), soft_wrap=True)
