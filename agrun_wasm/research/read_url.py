"""The action read_url: one public page, read within limits, as a read_url_result. Rules: 2.10.

Owned here: arguments, guidance, permissions, and the result in words. Must not know how a page is read (`read_page`),
nor what becomes of the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from agrun_wasm.actions.context import BuiltInContext
from agrun_wasm.actions.definition import Action, BuiltIn, Execute
from agrun_wasm.contracts.config import ReadUrlConfig
from agrun_wasm.contracts.effects import SourceRead
from agrun_wasm.contracts.ports import Clock, Fetch
from agrun_wasm.text.shorten import one_line

NAME = "read_url"
MODES = ("auto", "text", "html_text", "json")


def read_url_action(fetch: Fetch | None, config: ReadUrlConfig, clock: Clock) -> Action:
    """The action over a fetch port; without one every call is a failed result."""

    async def execute(context: BuiltInContext, args: dict[str, Any]) -> dict[str, Any]:
        from agrun_wasm.research.read_page import read_page

        result = await read_page(fetch, config, clock, context.state.request, args)
        return {"control": "continue", "output": result, "summary": _summary(result), "effects": [SourceRead(result)]}

    return Action(
        NAME,
        "Read one public web page; gives its text as Markdown.",
        1,
        planner={
            "aliases": ["fetch_url", "open_url"],
            "argsSchema": {
                "url": {"type": "string", "description": "http or https; the first URL of the prompt when left out."},
                "method": {"type": "string", "description": "GET (default), or HEAD to see whether the page exists."},
                "mode": {
                    "type": "string",
                    "enum": list(MODES),
                    "description": "auto (default) goes by the content type; html_text converts, text and json do not.",
                },
                "maxBytes": {"type": "integer", "description": f"At most {config.max_bytes}."},
                "timeoutMs": {"type": "integer", "description": f"At most {config.timeout_ms}."},
                "headers": {"type": "object", "description": "Accept and Accept-Language only."},
            },
            "argsExample": {"url": "https://example.com/article", "mode": "auto"},
            "guidance": "Prefer it when the user gives a URL, or when search snippets do not suffice.",
        },
        permission={
            "effect": "external_network",
            "interruptBehavior": "abort_safe",
            "isConcurrencySafe": True,
            "isDestructive": False,
            "isReadOnly": True,
            "needsApproval": True,
        },
        # The read's own limit comes first, so that a slow page is a result and no lost call.
        timeout_ms=config.timeout_ms + 5_000,
        execute=cast("Execute", execute),
        origin="built-in",
        built_in=BuiltIn(capability="web_research", judges=frozenset({"url", "method"})),
    )


def _summary(result: Mapping[str, Any]) -> str:
    name = one_line(result.get("title") or result["url"], 80) or "no URL"
    if not result["ok"]:
        return f"could not read {name}: {result['error']}"
    size = f"{result['bytes']:,}".replace(",", " ")
    return f"read {name} ({size} bytes)"
