"""Status, kind, silence: every row of document 2's error table, and the words that come with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agrun_wasm.contracts.ports import FetchError
from agrun_wasm.providers import errors
from agrun_wasm.providers.errors import fetch_error, http_error, inner_error

NOW = 1_772_359_200_000.0  # 2026-03-01T10:00:00Z

#: status, body, code, retryable
STATUS_ROWS: list[tuple[int, str, str, bool]] = [
    (401, '{"error":{"message":"bad key"}}', "PROVIDER_AUTH", False),
    (403, "", "PROVIDER_AUTH", False),
    (408, "", "PROVIDER_TIMEOUT", True),
    (429, '{"error":{"message":"slow"}}', "PROVIDER_RATE_LIMITED", True),
    (500, "", "PROVIDER_UNAVAILABLE", True),
    (503, "upstream busy", "PROVIDER_UNAVAILABLE", True),
    (529, '{"type":"error","error":{"type":"overloaded_error","message":"x"}}', "PROVIDER_UNAVAILABLE", True),
    (413, "request entity too large", "CONTEXT_OVERFLOW", False),
    (400, '{"error":{"code":"context_length_exceeded","message":"x"}}', "CONTEXT_OVERFLOW", False),
    (422, '{"error":{"type":"exceed_context_size_error","message":"x"}}', "CONTEXT_OVERFLOW", False),
    (400, '{"error":{"message":"temperature must be at most 2"}}', "PROVIDER_BAD_RESPONSE", False),
    (404, "404 page not found", "PROVIDER_BAD_RESPONSE", False),
    (409, '{"error":{"message":"conflict"}}', "PROVIDER_BAD_RESPONSE", False),
    (307, "", "PROVIDER_BAD_RESPONSE", False),
]

#: an error inside a 200, code, retryable
INNER_ROWS: list[tuple[Any, str, bool]] = [
    ({"error": {"code": 429, "message": "slow down"}}, "PROVIDER_RATE_LIMITED", True),
    ({"error": {"code": "502", "message": "x"}}, "PROVIDER_UNAVAILABLE", True),
    ({"error": {"status": 408, "message": "x"}}, "PROVIDER_TIMEOUT", True),
    ({"error": {"code": 401, "message": "x"}}, "PROVIDER_AUTH", False),
    ({"error": {"code": 413, "message": "x"}}, "CONTEXT_OVERFLOW", False),
    ({"error": {"code": 400, "status": "RESOURCE_EXHAUSTED", "message": "x"}}, "PROVIDER_BAD_RESPONSE", False),
    ({"error": {"code": 1301, "message": "x"}}, "PROVIDER_BAD_RESPONSE", False),
    ({"error": {"code": True, "message": "x"}}, "PROVIDER_BAD_RESPONSE", False),
    ({"error": {"type": "rate_limit_error"}}, "PROVIDER_RATE_LIMITED", True),
    ({"error": {"type": "RateLimitError"}}, "PROVIDER_RATE_LIMITED", True),
    ({"error": {"type": "overloaded_error"}}, "PROVIDER_UNAVAILABLE", True),
    ({"error": {"type": "api_error"}}, "PROVIDER_UNAVAILABLE", True),
    ({"error": {"type": "authentication_error"}}, "PROVIDER_AUTH", False),
    ({"error": {"type": "permission_error"}}, "PROVIDER_AUTH", False),
    ({"error": {"type": "request_too_large"}}, "CONTEXT_OVERFLOW", False),
    ({"error": {"type": "invalid_request_error", "code": "context_length_exceeded"}}, "CONTEXT_OVERFLOW", False),
    ({"error": {"type": "invalid_request_error", "message": "model not found"}}, "PROVIDER_BAD_RESPONSE", False),
    ({"error": {"status": "UNAVAILABLE"}}, "PROVIDER_UNAVAILABLE", True),
    ({"error": {"status": "RESOURCE_EXHAUSTED"}}, "PROVIDER_RATE_LIMITED", True),
    ({"error": {"status": "UNAUTHENTICATED"}}, "PROVIDER_AUTH", False),
    ({"error": {"code": "server_error", "message": "worker died"}}, "PROVIDER_UNAVAILABLE", True),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, "PROVIDER_UNAVAILABLE", True),
    ([{"error": {"code": 503, "status": "UNAVAILABLE", "message": "x"}}], "PROVIDER_UNAVAILABLE", True),
    ({"error": "slow down", "code": 429}, "PROVIDER_RATE_LIMITED", True),
    ({"error": "boom"}, "PROVIDER_BAD_RESPONSE", False),
    ({"object": "error", "message": "bad", "type": "BadRequestError", "code": 400}, "PROVIDER_BAD_RESPONSE", False),
    ({"error": {"type": "made_up", "message": "x"}}, "PROVIDER_BAD_RESPONSE", False),
]


@pytest.mark.parametrize(("status", "body", "code", "retryable"), STATUS_ROWS)
def test_status(status: int, body: str, code: str, retryable: bool) -> None:
    error = http_error(status, {}, body, now=NOW)
    assert (error.code, error.retryable, error.retry_after_ms) == (code, retryable, None)
    assert str(status) in error.message


@pytest.mark.parametrize(("payload", "code", "retryable"), INNER_ROWS)
def test_error_inside_a_200(payload: Any, code: str, retryable: bool) -> None:
    error = inner_error(payload)
    assert (error.code, error.retryable) == (code, retryable)


def test_every_kind_of_the_table_is_spelled_as_it_is_looked_up() -> None:
    for kind in [*errors.KIND_STATUS, *errors.CONTEXT_KINDS]:
        assert kind == errors._spelled(kind)


@pytest.mark.parametrize(
    ("status", "body", "fallback"),
    [
        (400, {"error": {"message": "This model does not support tools.", "param": "tools"}}, True),
        (404, {"error": {"message": "No endpoints found that support tool use"}}, True),
        (422, {"detail": [{"loc": ["body", "tools"], "msg": "extra fields not permitted"}]}, True),
        (400, {"error": {"message": "Unknown name", "details": [{"field": "functionDeclarations[0]"}]}}, True),
        (400, {"error": {"message": "bad", "param": "tool_choice"}}, True),
        (400, {"error": {"message": "`supportsTools` is false"}}, True),
        (400, {"error": {"message": "FUNCTION CALLING is off"}}, True),
        (400, {"error": {"message": "this functionality is off"}}, False),
        (400, {"error": {"message": "a toolbox of stools"}}, False),
        (400, {"error": {"message": "temperature must be at most 2"}}, False),
        (422, {"detail": [{"loc": ["body", "model"], "msg": "bad", "input": {"tools": []}}]}, False),
        (400, {"error": {"code": "context_length_exceeded", "message": "too long: messages, tools"}}, False),
        (403, {"error": {"message": "tools are not allowed"}}, False),
        (409, {"error": {"message": "tools"}}, False),
        (500, {"error": {"message": "tools"}}, False),
    ],
)
def test_fallback_is_allowed_for_tool_protocol_failures_only(status: int, body: Any, fallback: bool) -> None:
    assert http_error(status, {}, json.dumps(body), now=NOW).protocol_failure is fallback


def test_a_plain_text_body_may_name_tools() -> None:
    assert http_error(400, {}, "unknown field: tools", now=NOW).protocol_failure


@pytest.mark.parametrize(
    ("headers", "body", "wait"),
    [
        ({"retry-after": "12"}, "", 12_000),
        ({"Retry-After": "Sun, 01 Mar 2026 10:00:30 GMT"}, "", 30_000),
        ({"RETRY-AFTER": "Sunday, 01-Mar-26 10:00:30 GMT"}, "", 30_000),
        ({"retry-after": "Sun Mar  1 10:00:30 2026"}, "", 30_000),
        ({"retry-after": "Sun, 01 Mar 2026 09:00:00 GMT"}, "", 0),
        ({"retry-after-ms": "1500"}, "", 1_500),
        ({"retry-after": "2", "retry-after-ms": "1500"}, "", 1_500),
        ({"retry-after": "0"}, "", 0),
        ({"retry-after": "0.5"}, "", 500),
        ({"retry-after": "-3"}, "", 0),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "nan"}, "", None),
        ({"retry-after": "inf"}, "", None),
        ({"retry-after": ""}, "", None),
        ({}, "", None),
        ({}, '{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}', 7_000),
        ({}, '{"error":{"details":[{"retryDelay":"0.25s"}]}}', 250),
        ({}, '[{"error":{"details":[{"retryDelay":{"seconds":"3","nanos":500000000}}]}}]', 3_500),
        ({}, '{"error":{"details":[{"retryDelay":"later"}]}}', None),
        ({"retry-after": "2"}, '{"error":{"details":[{"retryDelay":"7s"}]}}', 7_000),
    ],
)
def test_retry_after(headers: dict[str, str], body: str, wait: float | None) -> None:
    assert http_error(429, headers, body, now=NOW).retry_after_ms == wait


def test_words_of_the_server_are_quoted_and_cut() -> None:
    error = http_error(429, {}, json.dumps({"error": {"message": "Slow\n down. " + "x" * 1000}}), now=NOW)
    assert "Slow down." in error.message
    assert len(error.message) < 400
    routed = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "bad tool name"}}}
    assert "bad tool name" in http_error(400, {}, json.dumps(routed), now=NOW).message
    page = "<html><head><style>p{}</style><title>502 Bad Gateway</title></head><body><p>nginx</p></body></html>"
    assert "502 Bad Gateway nginx" in http_error(502, {}, page, now=NOW).message


def test_no_response_in_a_page_names_both_ways_out() -> None:
    failure = FetchError("network_or_cors", "TypeError: Failed to fetch", url="https://api.example.com/v1")
    error = fetch_error(
        failure, url="https://api.example.com/v1/chat?x=secret", platform="browser", head_came=False, timeout_ms=5
    )
    assert error.code == "NETWORK_OR_CORS"
    for part in ("CORS", "api.example.com", "proxyUrl", "a provider that allows"):
        assert part in error.message
    assert "secret" not in error.message
    for advice in ("disable", "turn off", "no-cors"):
        assert advice not in error.message.lower()


@pytest.mark.parametrize(
    ("kind", "head_came", "code"),
    [
        ("network_or_cors", False, "NETWORK_OR_CORS"),
        ("network_or_cors", True, "PROVIDER_BAD_RESPONSE"),
        ("timeout", False, "PROVIDER_TIMEOUT"),
        ("timeout", True, "PROVIDER_TIMEOUT"),
        ("decode_error", True, "PROVIDER_BAD_RESPONSE"),
        ("aborted", False, "PROVIDER_BAD_RESPONSE"),
    ],
)
def test_fetch_failures(kind: Any, head_came: bool, code: str) -> None:
    error = fetch_error(FetchError(kind, "m"), url="http://h/", platform="host", head_came=head_came, timeout_ms=60_000)
    assert error.code == code
