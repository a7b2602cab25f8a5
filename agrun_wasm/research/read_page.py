"""One page for read_url: what is asked for, and its refusals before any request. Rules: 2.10.

Owned here: URL, method, headers and limits of a read. Must not know what a body means (`page`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agrun_wasm.contracts.config import ReadUrlConfig
from agrun_wasm.contracts.ports import Clock, Fetch, FetchRequest
from agrun_wasm.contracts.request import RunInput, TextPart
from agrun_wasm.research.download import download
from agrun_wasm.research.page import Asked, PageFault, failure, read_result, wanted_bytes
from agrun_wasm.text.shorten import one_line
from agrun_wasm.text.urls import check_public_url
from agrun_wasm.text.urls_in_text import first_url

_METHODS = ("GET", "HEAD")

#: header names that a model may set, in lower case, as they are sent
_ALLOWED_HEADERS = {"accept": "Accept", "accept-language": "Accept-Language"}
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{1,256}")

_URL_MESSAGES = {
    "invalid_url": "only http and https URLs without user info can be read",
    "private_address": "the address is private or local; only public pages can be read",
}


async def read_page(
    fetch: Fetch | None, config: ReadUrlConfig, clock: Clock, request: RunInput, args: Mapping[str, Any]
) -> dict[str, Any]:
    """The read_url_result for a call's arguments; without a URL among them the request's first one is read."""
    given = args.get("url")
    url = str(given or "").strip() or _url_in(request)
    platform = fetch.platform if fetch is not None else "host"
    try:
        if given is not None and not isinstance(given, str):
            raise PageFault("invalid_url", "`url` must be a string")
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


def _method(url: str, asked: Any) -> Any:
    """The method in upper case. Raises PageFault for whatever must not be requested."""
    if not url:
        raise PageFault("invalid_url", "no `url` was given and the prompt holds none")
    if fault := check_public_url(url):
        raise PageFault(fault, _URL_MESSAGES[fault])
    method = ("" if asked is None else str(asked)).strip().upper() or "GET"
    if method not in _METHODS:
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
