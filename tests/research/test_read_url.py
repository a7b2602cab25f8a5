"""read_url: what is asked for, what comes of it, within its limits; and the sample cases of area e-read-url."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from agrun_wasm.actions.arguments import check_args
from agrun_wasm.contracts.config import ReadUrlConfig
from agrun_wasm.contracts.effects import SourceRead
from agrun_wasm.contracts.ports import FetchFailureKind
from agrun_wasm.contracts.request import TextPart
from agrun_wasm.research.page import FETCH_FAULTS, content_mode
from agrun_wasm.research.read_url import read_url_action
from tests.clock import FakeClock
from tests.research.fakes import FakeFetch, Page, built_in_context, run_state

URL = "https://pier.example/hours"
HTML = {"content-type": "text/html; charset=utf-8"}
ARTICLE = b"<title>Pier hours</title><main><p>Open from six.</p><script>var x = 1;</script></main>"


async def read(
    pages: dict[str, Page] | Page, args: dict[str, Any] | None = None, *, prompt: str = "hi", **config: int
) -> tuple[dict[str, Any], FakeFetch, str]:
    """The result, the port with what it was asked, and the summary."""
    clock = FakeClock()
    fetch = FakeFetch(pages if isinstance(pages, dict) else {URL: pages}, clock)
    action = read_url_action(fetch, ReadUrlConfig(**config), clock)
    given = {"url": URL} if args is None else args
    checked = check_args(action.args_schema, given)
    assert checked.fault is None
    answer = await action.execute(built_in_context(run_state(prompt)), checked.args)
    assert answer["control"] == "continue"
    assert answer["effects"] == [SourceRead(answer["output"])]
    assert json.loads(json.dumps(answer["output"])) == answer["output"]
    assert fetch.open_now == 0
    return answer["output"], fetch, answer["summary"]


def test_definition() -> None:
    action = read_url_action(None, ReadUrlConfig(), FakeClock())
    assert (action.name, action.tier, action.aliases) == ("read_url", 1, ["fetch_url", "open_url"])
    assert action.args_schema is not None
    assert not any(spec.required for spec in action.args_schema.values())
    assert {key: spec.type for key, spec in action.args_schema.items()} == {
        "url": "string",
        "method": "string",
        "mode": "string",
        "maxBytes": "integer",
        "timeoutMs": "integer",
        "headers": "object",
    }
    assert [key for key, spec in action.args_schema.items() if spec.enum] == ["mode"]
    permission = action.permission
    assert (permission.effect, permission.is_read_only, permission.is_concurrency_safe) == (
        "external_network",
        True,
        True,
    )
    assert (permission.needs_approval, permission.is_destructive) == (True, False)
    assert permission.interrupt_behavior == "abort_safe"


async def test_a_page() -> None:
    result, fetch, summary = await read(Page(ARTICLE, headers=HTML))
    assert result == {
        "kind": "read_url_result",
        "ok": True,
        "url": URL,
        "status": 200,
        "statusText": "OK",
        "contentType": "text/html; charset=utf-8",
        "mode": "html_text",
        "text": "Open from six.",
        "title": "Pier hours",
        "bytes": len(ARTICLE),
        "truncated": False,
    }
    assert summary == f"read Pier hours ({len(ARTICLE)} bytes)"
    (request,) = fetch.requests
    assert (request.method, request.url, request.headers, request.body, request.purpose) == (
        "GET",
        URL,
        {},
        None,
        "read",
    )


async def test_the_summary_groups_digits_and_leaves_the_title_alone() -> None:
    _, _, summary = await read(Page(b"<title>Piers, quays</title>" + b"<p>Six.</p>" * 200, headers=HTML))
    assert summary == "read Piers, quays (2 227 bytes)"
    _, _, summary = await read(Page(status=404, headers=HTML))
    assert summary == f"could not read {URL}: http_error"


@pytest.mark.parametrize("given", [{}, {"url": ""}, {"url": "  "}, {"url": None}])
async def test_without_a_url_the_first_one_of_the_prompt_is_read(given: dict[str, Any]) -> None:
    result, fetch, _ = await read(
        Page(ARTICLE, headers=HTML), given, prompt=f"What is on {URL}, and on https://b.example?"
    )
    assert fetch.urls == [URL]
    assert result["url"] == URL


async def test_the_prompts_text_parts_are_searched_too() -> None:
    fetch = FakeFetch({URL: Page(ARTICLE, headers=HTML)})
    action = read_url_action(fetch, ReadUrlConfig(), FakeClock())
    state = run_state("Read this.")
    state.request.parts.append(TextPart(type="text", text=f"Here: {URL}"))
    await action.execute(built_in_context(state), {})
    assert fetch.urls == [URL]


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({}, "invalid_url"),
        ({"url": "ftp://files.example/plan.txt"}, "invalid_url"),
        ({"url": "https://ann:pass@files.example/plan"}, "invalid_url"),
        ({"url": "not a url"}, "invalid_url"),
        ({"url": "http://192.168.4.20/status"}, "private_address"),
        ({"url": "http://localhost:8000/"}, "private_address"),
        ({"url": "http://169.254.169.254/latest"}, "private_address"),
        ({"url": URL, "method": "POST"}, "invalid_method"),
        ({"url": URL, "method": "GET, HEAD"}, "invalid_method"),
    ],
)
async def test_what_is_refused_is_never_requested(args: dict[str, Any], error: str) -> None:
    result, fetch, _ = await read({}, args)
    assert fetch.requests == []
    assert (result["ok"], result["error"], result["text"], result["platform"]) == (False, error, "", "host")
    assert result["url"] == args.get("url", "")
    assert result["message"]


async def test_without_a_port_every_read_fails_as_a_value() -> None:
    action = read_url_action(None, ReadUrlConfig(), FakeClock())
    answer = await action.execute(built_in_context(), {"url": URL})
    assert (answer["output"]["ok"], answer["output"]["error"]) == (False, "network_or_cors")
    assert "fetch" in answer["output"]["message"]


@pytest.mark.parametrize("method", ["HEAD", "head", " Head "])
async def test_head_reads_no_body(method: str) -> None:
    result, fetch, _ = await read(Page(ARTICLE, headers=HTML), {"url": URL, "method": method})
    assert fetch.requests[0].method == "HEAD"
    assert fetch.chunks_served == 0
    assert (result["ok"], result["status"], result["text"], result["bytes"]) == (True, 200, "", 0)
    assert (result["mode"], result["method"]) == ("html_text", "HEAD")


@pytest.mark.parametrize(
    ("page", "error"),
    [
        (Page(status=404), "http_error"),
        (Page(status=403, headers={"cf-mitigated": "challenge"}), "blocked_page"),
        (Page(status=204), None),
        (Page(headers={"content-type": "application/pdf"}), None),
    ],
)
async def test_head_on_other_answers(page: Page, error: str | None) -> None:
    result, _, _ = await read(page, {"url": URL, "method": "HEAD"})
    assert result.get("error") == error
    assert result.get("mode", "text") == "text"


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"Accept-Language": "nl-BE"}, {"Accept-Language": "nl-BE"}),
        ({"accept": "text/plain", "ACCEPT-LANGUAGE": "de"}, {"Accept": "text/plain", "Accept-Language": "de"}),
        ({"Cookie": "sid=81", "X-Trace": "q7", "Authorization": "Bearer x", "Host": "a"}, {}),
        ({"Accept": "a\r\nCookie: sid=81"}, {}),
        ({"Accept": 3, "Accept-Language": None}, {}),
        ({"Accept-Language": "ж"}, {}),
    ],
)
async def test_only_two_headers_are_sent(given: dict[str, Any], sent: dict[str, str]) -> None:
    _, fetch, _ = await read(Page(ARTICLE, headers=HTML), {"url": URL, "headers": given})
    assert fetch.requests[0].headers == sent


@pytest.mark.parametrize(
    ("content_type", "mode"),
    [
        ("", "text"),
        ("text/html", "html_text"),
        ("TEXT/HTML; charset=x", "html_text"),
        ("application/xhtml+xml", "html_text"),
        ("application/json", "json"),
        ("application/ld+json; charset=utf-8", "json"),
        ("application/problem+json", "json"),
        ("text/plain", "text"),
        ("text/csv", "text"),
        ("text/xml", "text"),
        ("application/xml", "text"),
        ("application/rss+xml", "text"),
        ("text/plain, text/plain", "text"),
        ("application/pdf", None),
        ("image/png", None),
        ("application/octet-stream", None),
        ("multipart/form-data", None),
    ],
)
async def test_modes_by_content_type(content_type: str, mode: str | None) -> None:
    assert content_mode(content_type) == mode
    headers = {"content-type": content_type} if content_type else {}
    for asked in ({}, {"mode": "auto"}):
        result, fetch, _ = await read(Page(b'{"depth": 4}', headers=headers), {"url": URL, **asked})
        if mode:
            assert (result["ok"], result["mode"]) == (True, mode)
        else:
            assert (result["error"], result["reason"]) == ("unsupported_content_type", content_type)
            assert fetch.chunks_served == 0


@pytest.mark.parametrize("mode", ["text", "html_text", "json"])
async def test_an_asked_mode_wins_over_the_label_of_a_text_and_never_over_another_type(mode: str) -> None:
    result, _, _ = await read(Page(b'{"a": "<b>x</b>"}', headers=HTML), {"url": URL, "mode": mode})
    assert (result["ok"], result["mode"]) == (True, mode)
    result, _, _ = await read(Page(b"%PDF", headers={"content-type": "application/pdf"}), {"url": URL, "mode": mode})
    assert result["error"] == "unsupported_content_type"


@pytest.mark.parametrize(
    ("body", "ok"),
    [
        (b'{"tide": 3}', True),
        (b"\xef\xbb\xbf[1]", True),
        (b"", True),
        (b" \n", True),
        (b"[" * 100 + b"]" * 100, True),
        (b'{"tide": 3,', False),
        (b"NaN", False),
        (b"<p>no</p>", False),
    ],
)
async def test_json(body: bytes, ok: bool) -> None:
    result, _, _ = await read(Page(body, headers={"content-type": "application/json"}))
    assert result["ok"] is ok
    assert ok or result["error"] == "decode_error"


async def test_truncated_json_is_not_parsed() -> None:
    result, _, _ = await read(
        Page(b'{"tide": 3}', headers={"content-type": "application/json"}), {"url": URL, "maxBytes": 6}
    )
    assert (result["ok"], result["text"], result["truncated"]) == (True, '{"tide', True)


@pytest.mark.parametrize(
    ("page", "args", "empty"),
    [
        (Page(b"", headers=HTML), {}, True),
        (Page(b"<script>x()</script><div id=root></div>", headers=HTML), {}, True),
        (Page(b"", status=204), {}, True),
        (Page(b"", headers={"content-type": "text/plain"}), {}, False),
        (Page(b"", headers=HTML), {"mode": "text"}, False),
    ],
)
async def test_empty_content(page: Page, args: dict[str, Any], empty: bool) -> None:
    result, _, _ = await read(page, {"url": URL, **args})
    assert (result.get("error") == "empty_content") is empty
    assert result["ok"] is not empty


@pytest.mark.parametrize(
    ("status", "error"), [(404, "http_error"), (410, "http_error"), (500, "http_error"), (304, "http_error")]
)
async def test_http_errors(status: int, error: str) -> None:
    result, _, _ = await read(Page(b"<p>Nothing here, sorry.</p>", status=status, headers=HTML))
    assert (result["ok"], result["error"], result["status"], result["text"]) == (False, error, status, "")
    assert str(status) in result["message"]
    assert result["contentType"] == HTML["content-type"]


async def test_a_cut_that_leaves_no_text_is_told_so() -> None:
    page = Page(b"<script>" + b"x" * 500 + b"</script><p>Six.", headers=HTML)
    result, _, _ = await read(page, {"url": URL, "maxBytes": 100})
    assert result["error"] == "empty_content"
    assert "100 bytes" in result["message"]


async def test_an_http_error_of_any_type_is_one() -> None:
    result, _, _ = await read(Page(b"", status=404, headers={"content-type": "application/pdf"}))
    assert result["error"] == "http_error"
    result, _, _ = await read(Page(b"", status=403, headers=HTML))
    assert result["error"] == "http_error"


CHALLENGE = (
    b'<title>Just a moment...</title><h1>Checking your browser</h1><form id="challenge-form"></form>'
    b'<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script>'
)


@pytest.mark.parametrize("status", [200, 403, 503])
@pytest.mark.parametrize("mode", ["auto", "text"])
async def test_a_challenge_is_blocked_whatever_its_status(status: int, mode: str) -> None:
    result, _, _ = await read(Page(CHALLENGE, status=status, headers=HTML), {"url": URL, "mode": mode})
    assert (result["error"], result["reason"], result["text"]) == ("blocked_page", "challenge", "")


async def test_an_article_about_challenges_is_an_article() -> None:
    body = b"<title>Just a moment...</title>" + b"<p>Cloudflare shows a captcha and checks that you are human.</p>" * 60
    result, _, _ = await read(Page(body, headers=HTML))
    assert result["ok"] is True


@pytest.mark.parametrize(
    ("body", "max_bytes", "text", "size", "truncated"),
    [
        (b"abcdef", 6, "abcdef", 6, False),
        (b"abcdef", 5, "abcde", 5, True),
        ([b"ab", "éé".encode(), b"cd"], 3, "ab", 2, True),
        ([b"ab", "éé".encode(), b"cd"], 4, "abé", 4, True),
        ([b"abc", b"", b"def"], 3, "abc", 3, True),
        ([b"abc", b""], 3, "abc", 3, False),
    ],
)
async def test_truncation(body: bytes | list[bytes], max_bytes: int, text: str, size: int, truncated: bool) -> None:
    page = Page(body, headers={"content-type": "text/plain; charset=utf-8"})
    result, _, _ = await read(page, {"url": URL, "maxBytes": max_bytes})
    assert (result["text"], result["bytes"], result["truncated"]) == (text, size, truncated)


async def test_what_lies_past_the_limit_is_not_read() -> None:
    page = Page([b"x" * 40] * 50, headers={"content-type": "text/plain"})
    result, fetch, _ = await read(page, {"url": URL, "maxBytes": 100})
    assert result["text"] == "x" * 100
    assert fetch.chunks_served == 3


@pytest.mark.parametrize(("asked", "got"), [(None, 50), (20, 20), (20.0, 20), (50, 50), (9999, 50), (0, 50), (-3, 50)])
async def test_limits_are_ceilings(asked: float | None, got: int) -> None:
    page = Page(b"y" * 500, headers={"content-type": "text/plain"})
    result, fetch, _ = await read(
        page, {"url": URL, "maxBytes": asked, "timeoutMs": asked}, max_bytes=50, timeout_ms=50
    )
    assert result["bytes"] == got
    assert fetch.requests[0].timeout_ms == got


@pytest.mark.parametrize(
    ("page", "status"),
    [
        (Page(ARTICLE, headers=HTML, head_delay_ms=11_000), None),
        (Page([b"a", b"b", b"c"], headers=HTML, chunk_delay_ms=4_000), 200),
    ],
)
async def test_the_time_limit_bounds_head_and_body_together(page: Page, status: int | None) -> None:
    result, _, _ = await read(page)
    assert (result["error"], result.get("status")) == ("timeout", status)
    assert "10000 ms" in result["message"]


@pytest.mark.parametrize(("limit", "ok"), [(200, False), (400, True)])
async def test_a_shorter_time_limit_can_be_asked_for(limit: int, ok: bool) -> None:
    result, _, _ = await read(Page(ARTICLE, headers=HTML, head_delay_ms=300), {"url": URL, "timeoutMs": limit})
    assert result["ok"] is ok


async def test_a_configured_limit_beyond_the_actions_default_holds() -> None:
    action = read_url_action(None, ReadUrlConfig(timeout_ms=60_000), FakeClock())
    assert action.timeout_ms > 60_000


@pytest.mark.parametrize("kind", get_args(FetchFailureKind))
async def test_every_failure_of_the_port_has_a_name(kind: FetchFailureKind) -> None:
    error, reason = FETCH_FAULTS[kind]
    result, _, _ = await read(Page(error=kind))
    assert (result["error"], result.get("reason"), result.get("status")) == (error, reason, None)
    result, _, _ = await read(Page([b"<p>half"], headers=HTML, body_error=kind))
    assert (result["error"], result.get("reason"), result["status"], result["text"]) == (error, reason, 200, "")


async def test_redirects() -> None:
    result, _, _ = await read(Page(ARTICLE, headers=HTML, final="https://www.pier.example/opening-hours"))
    assert (result["url"], result["finalUrl"]) == (URL, "https://www.pier.example/opening-hours")
    result, _, _ = await read(Page(ARTICLE, headers=HTML, final="https://PIER.example:443/hours"))
    assert "finalUrl" not in result


@pytest.mark.parametrize(
    ("final", "error", "reason"),
    [
        ("http://127.0.0.1/admin", "private_address", "redirect_private"),
        ("http://metadata.google.internal/", "private_address", "redirect_private"),
        ("https://ann:x@pier.example/", "invalid_url", "redirect"),
    ],
)
async def test_a_final_address_that_may_not_be_read_is_not(final: str, error: str, reason: str) -> None:
    result, fetch, _ = await read(Page(b"SECRET", headers={"content-type": "text/plain"}, final=final))
    assert (result["error"], result["reason"], result["finalUrl"]) == (error, reason, final)
    assert fetch.chunks_served == 0


async def test_a_screenshot_is_passed_through() -> None:
    picture = "data:image/jpeg;base64,AAAA"
    page = Page(ARTICLE, headers=HTML, screenshot_data_url=picture, screenshot_mime_type="image/jpeg")
    result, _, _ = await read(page)
    assert (result["screenshotDataUrl"], result["screenshotMimeType"]) == (picture, "image/jpeg")


async def test_relative_links_become_absolute() -> None:
    result, _, _ = await read(Page(b'<p>See <a href="/map">the map</a>.</p>', headers=HTML))
    assert "[the map](https://pier.example/map)" in result["text"]


async def test_an_unknown_charset_is_a_decode_error_only_where_the_bytes_say_nothing() -> None:
    headers = {"content-type": "text/html; charset=x-unknown-9"}
    result, _, _ = await read(Page("<p>Zürich".encode(), headers=headers))
    assert result["text"] == "Zürich"
    result, _, _ = await read(Page(b"<p>" + b"\xff\xfa" * 50, headers=headers))
    assert (result["error"], result["reason"]) == ("decode_error", "x-unknown-9")


async def test_a_cancelled_read_closes_its_connection() -> None:
    clock = FakeClock()
    fetch = FakeFetch({URL: Page(ARTICLE, headers=HTML, head_delay_ms=5_000)}, clock)
    action = read_url_action(fetch, ReadUrlConfig(), clock)
    reading = asyncio.ensure_future(action.execute(built_in_context(), {"url": URL}))
    await clock.sleep(1_000)
    assert fetch.open_now == 1
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert fetch.open_now == 0


# The sample cases. Suggested error names of the cases that 2.10 calls otherwise:
_NAMES = {
    "blocked_address": "private_address",
    "empty_readable_content": "empty_content",
    "invalid_json": "decode_error",
}


def _samples() -> Iterator[Any]:
    lines = (Path(__file__).parents[1] / "cases" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    for case in map(json.loads, lines):
        if case["area"] != "e-read-url":
            continue
        given, expect = case["input"], case["expect"]
        inputs = (
            given["each"]
            if "each" in given
            else [{**given, "url": url} for url in given.get("urls", [given.get("url")])]
        )
        expects = expect["each"] if "each" in expect else [expect.get("all", expect)] * len(inputs)
        for number, (item, expected) in enumerate(zip(inputs, expects, strict=True)):
            yield pytest.param(item, expected, id=f"{case['id']}-{case['kind']}-{number}")


@pytest.mark.parametrize(("item", "expect"), list(_samples()))
async def test_cases(item: dict[str, Any], expect: dict[str, Any]) -> None:
    pages = {
        page["url"]: Page(base64.b64decode(page["body_b64"]), status=page["status"], headers=page["headers"])
        for page in item.get("responses", [])
    }
    args = {"url": item["url"], "mode": item.get("mode", "auto"), "maxBytes": item.get("max_bytes", 1_000)}
    result, fetch, _ = await read(pages, args)
    accepted = [choice["ok"] for choice in expect.get("accept", [expect])]
    assert any(_fits(fields, result) for fields in accepted), result
    assert not any("169.254" in url for url in fetch.urls)
    assert "JavaScript is required" not in result["text"]


def _fits(fields: dict[str, Any], result: dict[str, Any]) -> bool:
    for key, value in fields.items():
        if key == "text_contains":
            held = all(part in result["text"] for part in value)
        elif key == "text_lacks":
            held = not any(part in result["text"] for part in value)
        elif key == "error_any_of":
            held = result.get("error") in {_NAMES.get(name, name) for name in value}
        elif key == "json":
            held = result["ok"] and json.loads(result["text"]) == value
        else:
            held = result.get(key) == value
        if not held:
            return False
    return True
