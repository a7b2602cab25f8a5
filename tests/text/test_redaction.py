"""redaction: no spelling of a secret gets through, nothing else changes."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.text.redaction import REDACTED, Redactor, StreamRedactor

KEY = 'sk-"ä/+ 9'

LEAKS: list[tuple[str, list[str], str, str]] = [
    ("plain", ["sk-123"], "key sk-123!", f"key {REDACTED}!"),
    ("twice", ["sk-123"], "sk-123sk-123", REDACTED * 2),
    ("longer one first", ["sk-123", "sk-12345"], "sk-12345 sk-123", f"{REDACTED} {REDACTED}"),
    ("whole header", ["Bearer sk-123"], "Bearer sk-123", REDACTED),
    ("without its scheme", ["Bearer sk-123"], "got sk-123", f"got {REDACTED}"),
    ("percent", [KEY], quote(KEY, safe=""), REDACTED),
    ("percent, lower case", [KEY], "sk-%22%c3%a4%2f%2b%209", REDACTED),
    ("form", [KEY], quote_plus(KEY), REDACTED),
    ("JSON", [KEY], json.dumps({"k": KEY}), f'{{"k": "{REDACTED}"}}'),
    ("JSON, not ASCII", [KEY], json.dumps([KEY], ensure_ascii=False), f'["{REDACTED}"]'),
    ("base64", ["sk-123"], base64.b64encode(b"sk-123").decode(), REDACTED),
    ("base64 padding", ["sk-1234"], base64.b64encode(b"sk-1234").decode(), REDACTED + "=="),
    ("basic password", ["Basic " + base64.b64encode(b"ada:wonder").decode()], "pw wonder", f"pw {REDACTED}"),
    ("too short", ["abc"], "abc", "abc"),
    ("none", [], "abc", "abc"),
    ("empty", ["", "  "], "a  b", "a  b"),
    ("lone surrogate", ["sk-\ud83d1"], "x sk-\ud83d1", f"x {REDACTED}"),
]  # fmt: skip


@pytest.mark.parametrize(("secrets", "text", "left"), [row[1:] for row in LEAKS], ids=[row[0] for row in LEAKS])
def test_text(secrets: list[str], text: str, left: str) -> None:
    assert Redactor(secrets).text(text) == left
    assert Redactor(secrets).value({text: [text, 1, None]}) == {left: [left, 1, None]}


def test_what_holds_no_secret_is_the_same_object() -> None:
    value = {"a": ["b", {"c": 1.5}], "d": None}
    assert Redactor(["sk-123"]).value(value) is value
    assert Redactor([]).value(value) is value
    changed = Redactor(["sk-123"]).value({"keep": value, "x": "sk-123"})
    assert changed == {"keep": value, "x": REDACTED}
    assert changed["keep"] is value


@given(st.recursive(st.text("ab\0", max_size=5), lambda inner: st.lists(inner) | st.dictionaries(st.text("ab"), inner)))
def test_a_value_is_each_of_its_texts(value: object) -> None:
    redactor = Redactor(["abba"])

    def by_text(part: object) -> object:
        if isinstance(part, dict):
            return {redactor.text(key): by_text(item) for key, item in part.items()}
        return [by_text(item) for item in part] if isinstance(part, list) else redactor.text(str(part))

    assert redactor.value(value) == by_text(value)


@given(st.text(min_size=4).filter(lambda s: len(s.strip()) >= 4), st.text(), st.text())
def test_no_secret_is_left(secret: str, before: str, after: str) -> None:
    redactor = Redactor([secret])
    for text in (before + secret + after, json.dumps(before + secret + after), quote(before + secret + after)):
        clean = redactor.text(text)
        assert secret.strip() not in clean.replace(REDACTED, "\0")


@given(
    st.lists(st.text("ab[r", min_size=4, max_size=7), max_size=3),
    st.lists(st.text("ab[r", max_size=5), max_size=12),
)
def test_a_text_in_pieces_is_redacted_as_the_whole(secrets: list[str], pieces: list[str]) -> None:
    redactor = Redactor(secrets)
    stream = StreamRedactor(redactor)
    shown = "".join(stream.feed(piece) for piece in pieces) + stream.close()
    assert shown == redactor.text("".join(pieces))


def test_only_what_may_be_a_secret_waits() -> None:
    stream = StreamRedactor(Redactor(["sk-12345", "sk-123"]))
    assert [stream.feed(piece) for piece in ("Yes", ", sk-", "123", "45 ", "ask")] == [
        "Ye",
        "s, ",
        "",
        f"{REDACTED} ",
        "a",
    ]
    assert stream.close() == "sk"
