"""The action read_url: one public page, read within limits, as a read_url_result. Rules: 2.10.

Owned here: what is asked for (URL, method, headers, limits) and its refusals before any request. Must not know what a
body means (`page`), nor what becomes of the result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from agrun_wasm.actions.context import BuiltInContext
from agrun_wasm.actions.definition import Action, BuiltIn, Execute
from agrun_wasm.contracts.config import ReadUrlConfig
from agrun_wasm.contracts.effects import SourceRead
from agrun_wasm.contracts.ports import Clock, Fetch, FetchRequest
from agrun_wasm.contracts.request import RunInput, TextPart
from agrun_wasm.research.download import download
from agrun_wasm.research.page import Asked, PageFault, failure, read_result, wanted_bytes
from agrun_wasm.text.shorten import one_line
from agrun_wasm.text.urls import check_public_url
from agrun_wasm.text.urls_in_text import first_url

NAME = "read_url"
MODES = ("auto", "text", "html_text", "json")
METHODS = ("GET", "HEAD")

#: header names that a model may set, in lower case, as they are sent
_ALLOWED_HEADERS = {"accept": "Accept", "accept-language": "Accept-Language"}
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{1,256}")

_URL_MESSAGES = {
    "invalid_url": "only http and https URLs without user info can be read",
    "private_address": "the address is private or local; only public pages can be read",
}


def read_url_action(fetch: Fetch | None, config: ReadUrlConfig, clock: Clock) -> Action:
    """The action over a fetch port; without one every call is a failed result."""

    async def execute(context: BuiltInContext, args: dict[str, Any]) -> dict[str, Any]:
        result = await _read(fetch, config, clock, context.state.request, args)
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
        built_in=BuiltIn(capability="web_research"),
    )


async def _read(
    fetch: Fetch | None, config: ReadUrlConfig, clock: Clock, request: RunInput, args: Mapping[str, Any]
) -> dict[str, Any]:
    url = (args.get("url") or "").strip() or _url_in(request)
    platform = fetch.platform if fetch is not None else "host"
    try:
        method = _method(url, args.get("method"))
        if fetch is None:
            raise PageFault("network_or_cors", "this runtime has no fetch port; give it one as `fetch`")
    except PageFault as fault:
        return failure(url, platform, fault)
    max_bytes = _limit(args.get("maxBytes"), config.max_bytes)
    asked = Asked(url, method, args.get("mode") or "auto", max_bytes, platform)
    timeout_ms = _limit(args.get("timeoutMs"), config.timeout_ms)
    page = await download(
        fetch,
        clock,
        FetchRequest(method, url, _headers(args.get("headers")), timeout_ms=timeout_ms, purpose="read"),
        timeout_ms=timeout_ms,
        take=lambda head: wanted_bytes(asked, head),
    )
    return read_result(asked, page)


def _url_in(request: RunInput) -> str:
    """The first URL of the prompt and the text parts that belong to it, "" without one."""
    texts = [request.prompt, *(part.text for part in request.parts if isinstance(part, TextPart))]
    return next((found for text in texts if (found := first_url(text))), "")


def _method(url: str, asked: str | None) -> Any:
    """The method in upper case. Raises PageFault for whatever must not be requested."""
    if not url:
        raise PageFault("invalid_url", "no `url` was given and the prompt holds none")
    if fault := check_public_url(url):
        raise PageFault(fault, _URL_MESSAGES[fault])
    method = (asked or "").strip().upper() or "GET"
    if method not in METHODS:
        raise PageFault("invalid_method", f"{one_line(method, 20)} is never sent; read_url reads, by GET or HEAD")
    return method


def _headers(asked: Mapping[str, Any] | None) -> dict[str, str]:
    """Those of the wanted headers that may be sent."""
    headers = {}
    for name, value in (asked or {}).items():
        sent_as = _ALLOWED_HEADERS.get(name.strip().lower())
        if sent_as and isinstance(value, str) and _HEADER_VALUE.fullmatch(value):
            headers[sent_as] = value
    return headers


def _limit(asked: float | None, ceiling: int) -> int:
    return min(int(asked), ceiling) if asked is not None and asked >= 1 else ceiling


def _summary(result: Mapping[str, Any]) -> str:
    name = one_line(result.get("title") or result["url"], 80) or "no URL"
    if not result["ok"]:
        return f"could not read {name}: {result['error']}"
    size = f"{result['bytes']:,}".replace(",", " ")
    return f"read {name} ({size} bytes)"
