"""sse: the field rules as a table, and any split of the bytes gives the same events."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.text.sse import SseDecoder, SseEvent

UNICODE = "h\u00e9 \u5317 \U0001f30a \u2028x\u0085y"
PARTS = [
    *(b"data: a", b"data:", b":c", b"event: x", b"id: 7", b"retry: 5", b"\r", b"\n", b"\r\n", b"\n\n"),
    *("\U0001f30a\u00e9".encode(), b"\xe5\x8c", b"\xef\xbb\xbf"),
]

STREAMS: list[tuple[bytes, list[SseEvent]]] = [
    (b"", []),
    (b"\n\n\n", []),
    (b"data: a\n\n", [SseEvent("message", "a")]),
    (b"data:a\n\n", [SseEvent("message", "a")]),
    (b"data:  a\n\n", [SseEvent("message", " a")]),
    (b"data:\n\n", [SseEvent("message", "")]),
    (b"data\n\n", [SseEvent("message", "")]),
    (b"data\ndata\n\n", [SseEvent("message", "\n")]),
    (b"data: a\ndata: b\n\n", [SseEvent("message", "a\nb")]),
    (b"data: a\r\ndata: b\r\n\r\n", [SseEvent("message", "a\nb")]),
    (b"data: a\rdata: b\r\r", [SseEvent("message", "a\nb")]),
    (b"data: a\r\n\r\ndata: b\n\rdata: c\r\r", [SseEvent("message", x) for x in "abc"]),
    (b": note\n\n:\n\ndata: a\n\n", [SseEvent("message", "a")]),
    (b"event: ping\n\ndata: a\n\n", [SseEvent("message", "a")]),
    (b"event: ping\ndata: a\n\ndata: b\n\n", [SseEvent("ping", "a"), SseEvent("message", "b")]),
    (b"event:\ndata: a\n\n", [SseEvent("message", "a")]),
    (b"id: 1\ndata: a\n\ndata: b\n\n", [SseEvent("message", "a", "1"), SseEvent("message", "b", "1")]),
    (b"id: 1\0\ndata: a\n\n", [SseEvent("message", "a")]),
    (b"id: 1\n\nid\ndata: a\n\n", [SseEvent("message", "a", "")]),
    (b"retry: 1500\ndata: a\n\n", [SseEvent("message", "a", None, 1500)]),
    (b"retry: 1.5\nretry: -1\nretry: \xc2\xb2\ndata: a\n\n", [SseEvent("message", "a")]),
    (b"retry: " + b"9" * 6000 + b"\ndata: a\n\n", [SseEvent("message", "a")]),
    (b"Data: a\nfoo: b\n data: c\n\n", []),
    (b"\xef\xbb\xbfdata: a\n\n", [SseEvent("message", "a")]),
    (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
    (f"data: {UNICODE}\n\n".encode(), [SseEvent("message", UNICODE)]),
    (b"data: \xff\xe5\x8c!\n\n", [SseEvent("message", "\ufffd\ufffd!")]),
    (b"data: a\n", [SseEvent("message", "a")]),
    (b"data: a", [SseEvent("message", "a")]),
    (b"data: a\n\ndata: [DONE]", [SseEvent("message", "a"), SseEvent("message", "[DONE]")]),
    (b"data: a\xe5\x8c", [SseEvent("message", "a\ufffd")]),
    (b"event: end", []),
]  # fmt: skip


def decode(chunks: list[bytes]) -> list[SseEvent]:
    decoder = SseDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [*events, *decoder.close()]


@pytest.mark.parametrize(("stream", "events"), STREAMS, ids=range(len(STREAMS)))
def test_streams(stream: bytes, events: list[SseEvent]) -> None:
    assert decode([stream]) == events
    assert decode([stream[i : i + 1] for i in range(len(stream))]) == events


def test_an_event_comes_as_soon_as_its_blank_line() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\r\n\r") == [SseEvent("message", "a")]
    assert decoder.feed(b"\ndata: b\r") == []
    assert decoder.feed(b"\r") == [SseEvent("message", "b")]
    assert decoder.close() == []
    assert decoder.close() == []


@given(
    st.lists(st.sampled_from(PARTS), max_size=20),
    st.lists(st.integers(min_value=0, max_value=200), max_size=12),
)
def test_any_split_gives_the_same_events(parts: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(parts)
    borders = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    assert decode([stream[a:b] for a, b in pairwise(borders)]) == decode([stream])
