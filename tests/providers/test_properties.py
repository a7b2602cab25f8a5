"""What holds for any input: readers of other people's text never raise, and pieces always make the same whole."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.contracts.errors import RUN_ERRORS
from agrun_wasm.providers.endpoint import endpoint
from agrun_wasm.providers.errors import http_error, inner_error
from agrun_wasm.providers.frames import TextJoiner
from agrun_wasm.providers.offered_tools import wire_name
from agrun_wasm.providers.tool_calls import ToolCalls
from agrun_wasm.providers.tool_schema import gemini_schema

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["error", "code", "status", "type", "message", "details", "retryDelay", "metadata"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
ARGS = st.dictionaries(st.text(), st.text())
CALL = st.fixed_dictionaries({"name": st.sampled_from(["add", "read_url"]), "args": ARGS})


@given(JSON, st.integers(400, 599), st.dictionaries(st.sampled_from(["retry-after", "Retry-After-Ms"]), st.text()))
def test_any_error_body_is_an_error_of_the_table(body: Any, status: int, headers: dict[str, str]) -> None:
    for text in (json.dumps(body), str(body)):
        assert http_error(status, headers, text, now=0).code in RUN_ERRORS
    error = inner_error({"error": body}, headers)
    assert error.code in RUN_ERRORS
    assert error.retry_after_ms is None or error.retry_after_ms >= 0


@given(st.lists(CALL, min_size=1, max_size=4), st.data())
def test_interleaved_pieces_make_the_calls_that_were_cut(calls: list[dict[str, Any]], data: st.DataObject) -> None:
    texts = [json.dumps(call["args"], ensure_ascii=False) for call in calls]
    left = [list(text) for text in texts]
    assembled = ToolCalls()
    by_id = data.draw(st.booleans())
    for index, call in enumerate(calls):
        assembled.feed(call_id=f"k{index}", index=None if by_id else index, name=call["name"])
    while any(left):
        index = data.draw(st.sampled_from([index for index, rest in enumerate(left) if rest]))
        size = data.draw(st.integers(1, len(left[index])))
        piece, left[index] = "".join(left[index][:size]), left[index][size:]
        given_id = f"k{index}" if by_id else None
        assembled.feed(call_id=given_id, index=None if by_id else index, args=piece)
    done = [event.call for event in assembled.done()]
    assert [(call.id, call.name, call.args_text) for call in done] == [
        (f"k{index}", call["name"], text) for index, (call, text) in enumerate(zip(calls, texts, strict=True))
    ]


@given(st.text(), st.lists(st.integers(0, 40)))
def test_text_in_utf16_pieces_is_the_text(text: str, cuts: list[int]) -> None:
    units = text.encode("utf-16-le", "surrogatepass")
    ends = sorted({min(cut * 2, len(units)) for cut in cuts} | {0, len(units)})
    joiner = TextJoiner()
    shown = ""
    for start, end in pairwise(ends):
        shown += joiner.feed(units[start:end].decode("utf-16-le", "surrogatepass"))
    assert shown + joiner.close() == text


@given(st.sampled_from(["", "/v1", "/api/v2/", "//v1beta//x/", "/chat", "/v1/chat/completions"]), st.booleans())
def test_an_address_is_the_address_of_itself(path: str, query: bool) -> None:
    once = endpoint(f"https://h{path}{'?a=b' if query else ''}", "chat/completions", version="v1")
    assert endpoint(once, "chat/completions", version="v1") == once
    assert once.count("chat/completions") == 1


@given(st.text())
def test_any_name_has_one_that_apis_take(name: str) -> None:
    wire = wire_name(name)
    assert 0 < len(wire) <= 64
    assert wire_name(wire) == wire


@given(JSON)
def test_any_schema_can_be_projected(schema: Any) -> None:
    gemini_schema({"type": "object", "properties": {"it": schema if isinstance(schema, dict) else {}}})
