"""Writes the JSON Schemas of the contracts into a folder; run by .venv's Python, which has the core installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from agrun_wasm.contracts.schemas import json_schemas


def rendered() -> dict[str, str]:
    """File name -> text, the same bytes for the same models."""
    return {
        f"{name}.json": json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        for name, schema in json_schemas().items()
    }


def main(folder: Path) -> None:
    files = rendered()
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("*.json"):
        if stale.name not in files:
            stale.unlink()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    print(f"    {len(files)} schemas in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
