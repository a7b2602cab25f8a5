"""The command `schema`: the JSON Schemas of what crosses a border or is saved, by name."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from agrun_host.options import refuse

__all__ = ["schema"]


def schema(
    name: Annotated[str | None, typer.Argument(help="Which one; without it, their names.", metavar="[NAME]")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them, in one JSON object.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The names as a JSON list; a schema is JSON anyway.")] = False,
) -> None:
    """Print the JSON Schema of a contract.

    \b
      agrun schema
      agrun schema run-result
      agrun schema --all > schemas.json
    """
    from agrun_host.terminal import Screen
    from agrun_wasm.contracts.naming import did_you_mean
    from agrun_wasm.contracts.schemas import PUBLISHED, json_schemas

    if name is None and not everything:
        print(json.dumps(list(PUBLISHED)) if as_json else "\n".join(PUBLISHED))
        return
    if name is not None and name not in PUBLISHED:
        refuse(Screen(), f"unknown schema {name!r}{did_you_mean(name, PUBLISHED)}", "`agrun schema` lists them.")
    schemas = json_schemas()
    print(json.dumps(schemas if name is None else schemas[name], indent=2))
