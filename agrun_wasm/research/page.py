"""What a download is as a read_url_result: mode by content type, text, or the name of what went wrong. Rules: 2.10.

Pure. Owned here: the kinds of content, the order of checks, the fields of a result. Must not know arguments, the fetch
port or the clock.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from agrun_wasm.contracts.ports import FetchError
from agrun_wasm.research.download import Download, Head
from agrun_wasm.text.charset import DecodeFailure, cut_bytes, decode_body
from agrun_wasm.text.html import HtmlText, html_to_markdown, looks_blocked
from agrun_wasm.text.shorten import one_line
from agrun_wasm.text.strict_json import JsonTextError, parse_json
from agrun_wasm.text.urls import canonical_url, check_public_url

Mode = Literal["auto", "text", "html_text", "json"]
Resolved = Literal["text", "html_text", "json"]
ReadError = Literal[
    "invalid_url",
    "invalid_method",
    "private_address",
    "http_error",
    "timeout",
    "network_or_cors",
    "unsupported_content_type",
    "blocked_page",
    "empty_content",
    "too_many_redirects",
    "decode_error",
]

#: what the fetch port says -> error of the result, and its narrower reason
FETCH_FAULTS: dict[str, tuple[ReadError, str | None]] = {
    "aborted": ("network_or_cors", "aborted"),
    "timeout": ("timeout", None),
    "network_or_cors": ("network_or_cors", None),
    "private_address": ("private_address", None),
    "redirect_private": ("private_address", "redirect_private"),
    "too_many_redirects": ("too_many_redirects", None),
    "decode_error": ("decode_error", None),
}

#: media type -> mode that auto resolves to; `+json`, `+xml` and other `text/*` stand in `content_mode`
_MODES: dict[str, Resolved] = {
    "": "text",
    "text/html": "html_text",
    "application/xhtml+xml": "html_text",
    "application/json": "json",
    "text/json": "json",
    "application/xml": "text",
}


class Asked(NamedTuple):
    """What was asked for: the URL as given, the method, the mode, the limit of the body, and by which kind of port."""

    url: str
    method: Literal["GET", "HEAD"]
    mode: Mode
    max_bytes: int
    platform: str


class PageFault(Exception):
    """A page that cannot be read."""

    def __init__(self, error: ReadError, message: str, reason: str | None = None) -> None:
        super().__init__(message)
        self.error = error
        self.message = message
        self.reason = reason


def content_mode(content_type: str) -> Resolved | None:
    """What auto resolves to for a Content-Type; None for types that are no text."""
    media_type = content_type.partition(";")[0].partition(",")[0].strip().lower()
    if media_type in _MODES:
        return _MODES[media_type]
    if media_type.endswith("+json"):
        return "json"
    return "text" if media_type.endswith("+xml") or media_type.startswith("text/") else None


def wanted_bytes(asked: Asked, head: Head) -> int:
    """How many bytes of the body are worth reading. Errors are read too: a challenge is known by its markup."""
    unwanted = asked.method == "HEAD" or _address_fault(head) is not None
    if unwanted or (head.succeeded and content_mode(head.content_type) is None):
        return 0
    return asked.max_bytes


def read_result(asked: Asked, page: Download) -> dict[str, Any]:
    """The read_url_result of a download, success or failure."""
    try:
        head = _checked_head(page)
        fields = _head_only(asked, head) if asked.method == "HEAD" else _content(asked, head, page)
    except PageFault as fault:
        return failure(asked.url, asked.platform, fault, page.head)
    result: dict[str, Any] = {"kind": "read_url_result", "ok": True, "url": asked.url}
    result |= _final_url(asked.url, head)
    result |= {"status": head.status, "statusText": head.status_text, "contentType": head.content_type}
    return result | fields


def failure(url: str, platform: str, fault: PageFault, head: Head | None = None) -> dict[str, Any]:
    """A failed read_url_result."""
    result = {
        "kind": "read_url_result",
        "ok": False,
        "url": url,
        "error": fault.error,
        "message": fault.message,
        "text": "",
        "reason": fault.reason,
        "platform": platform,
    }
    if head is not None:
        result |= {"status": head.status, "statusText": head.status_text, "contentType": head.content_type or None}
        result |= _final_url(url, head)
    return {key: value for key, value in result.items() if value is not None}


def _checked_head(page: Download) -> Head:
    if page.fault is not None:
        raise _fetch_fault(page.fault)
    if page.head is None:
        raise PageFault("network_or_cors", "the server gave no answer")
    if fault := _address_fault(page.head):
        raise fault
    return page.head


def _fetch_fault(fault: FetchError) -> PageFault:
    error, reason = FETCH_FAULTS[fault.kind]
    return PageFault(error, fault.message, reason)


def _address_fault(head: Head) -> PageFault | None:
    """The last line of defence: a port that cannot see its redirects says only where they led."""
    if not head.url or (fault := check_public_url(head.url)) is None:
        return None
    message = f"a redirect led to {head.url}, which may not be read"
    return PageFault(fault, message, "redirect_private" if fault == "private_address" else "redirect")


def _final_url(asked: str, head: Head) -> dict[str, str]:
    redirected = head.url and canonical_url(head.url) != canonical_url(asked)
    return {"finalUrl": head.url} if redirected else {}


def _http_error(head: Head) -> PageFault:
    return PageFault("http_error", f"the server answered {head.status} {head.status_text}".strip())


def _head_only(asked: Asked, head: Head) -> dict[str, Any]:
    if block := _block(head, "", HtmlText("", "")):
        raise block
    if not head.succeeded:
        raise _http_error(head)
    mode = (content_mode(head.content_type) or "text") if asked.mode == "auto" else asked.mode
    return {"method": "HEAD", "mode": mode, "text": "", "title": "", "bytes": 0, "truncated": False}


def _content(asked: Asked, head: Head, page: Download) -> dict[str, Any]:
    """The fields of a GET that was answered."""
    labelled = content_mode(head.content_type)
    if labelled is None:
        fault = PageFault("unsupported_content_type", f"{head.content_type} is no text", head.content_type)
        raise fault if head.succeeded else _http_error(head)
    mode = labelled if asked.mode == "auto" else asked.mode
    is_html = "html_text" in (labelled, mode)
    body, truncated = cut_bytes(bytes(page.body), asked.max_bytes, head.content_type or None, is_html=is_html)
    text = _decoded(body, head, is_html=is_html)
    html = html_to_markdown(text, head.url or asked.url) if is_html else HtmlText("", text)
    if block := _block(head, text, html):
        raise block
    if not head.succeeded:
        raise _http_error(head)
    if head.status == 204:
        raise PageFault("empty_content", "the server answered 204: there is no content")
    if mode == "html_text":
        text = html.markdown
        if not text.strip():
            where = f"the first {len(body)} bytes of the page hold" if truncated else "the page holds"
            raise PageFault("empty_content", f"{where} no text; it may need a browser that runs its scripts")
    elif mode == "json" and not truncated:
        _check_json(text)
    title = html.title if mode == "html_text" else ""
    return {"mode": mode, "text": text, "title": title, **_screenshot(page), "bytes": len(body), "truncated": truncated}


def _block(head: Head, body: str, page: HtmlText) -> PageFault | None:
    """A page that stands in the way of the one asked for. An answer without a body is none."""
    kind = looks_blocked(head.status, page.title, body, page.markdown) if body.strip() else None
    if kind is None and not head.succeeded and head.headers.get("cf-mitigated") == "challenge":
        kind = "challenge"
    return PageFault("blocked_page", f"the site answered with a {kind} instead of the page", kind) if kind else None


def _screenshot(page: Download) -> dict[str, str]:
    if page.screenshot is None:
        return {}
    data_url, mime_type = page.screenshot
    return {"screenshotDataUrl": data_url} | ({"screenshotMimeType": mime_type} if mime_type else {})


def _decoded(body: bytes, head: Head, *, is_html: bool) -> str:
    try:
        return decode_body(body, head.content_type or None, is_html=is_html)
    except DecodeFailure as fault:
        raise PageFault("decode_error", str(fault), one_line(fault.charset, 40)) from None


def _check_json(text: str) -> None:
    if not text.strip():
        return
    try:
        parse_json(text)
    except JsonTextError as fault:
        # Deeper nesting or longer numbers than we would read ourselves are JSON all the same.
        if fault.kind in ("syntax", "constant"):
            raise PageFault("decode_error", f"the page is not JSON: {fault.message}") from None
