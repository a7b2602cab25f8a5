"""charset: who decides, labels as browsers read them, cuts at whole characters."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.text import charset
from agrun_wasm.text.charset import DecodeFailure, cut_bytes, decode_body

PLAIN = "text/plain"
HTML = "text/html"

DECODED: list[tuple[str, bytes, str | None, bool, str]] = [
    ("nothing said", "Zürich".encode(), None, False, "Zürich"),
    ("nothing said, broken bytes", b"Z\xfcrich", PLAIN, False, "Z\ufffdrich"),
    ("header", "Привет".encode("cp1251"), "text/html; charset=windows-1251", True, "Привет"),
    ("header quoted", "Привет".encode("cp1251"), 'text/html; Charset = "Windows-1251"; x=y', True, "Привет"),
    ("header single quotes", "é".encode("cp1252"), "text/html;charset='latin1'", True, "é"),
    (
        "meta",
        b'<meta charset="windows-1251">' + "Привет".encode("cp1251"),
        HTML,
        True,
        '<meta charset="windows-1251">Привет',
    ),
    ("meta, no quotes", b"<META charset=koi8-r >" + "да".encode("koi8-r"), HTML, True, "<META charset=koi8-r >да"),
    (
        "meta http-equiv",
        b'<meta http-equiv="Content-Type" content="text/html; charset=shift_jis">' + "潮".encode("cp932"),
        HTML,
        True,
        '<meta http-equiv="Content-Type" content="text/html; charset=shift_jis">潮',
    ),
    (
        "meta of another sort",
        b'<meta name="d" content="charset=koi8-r">' + "é".encode(),
        HTML,
        True,
        '<meta name="d" content="charset=koi8-r">é',
    ),
    (
        "meta in a comment",
        b"<!-- <meta charset=koi8-r> -->" + "é".encode(),
        HTML,
        True,
        "<!-- <meta charset=koi8-r> -->é",
    ),
    (
        "meta does not count outside HTML",
        b"<meta charset=koi8-r>" + "é".encode(),
        PLAIN,
        False,
        "<meta charset=koi8-r>é",
    ),
    ("meta utf-16 means UTF-8", b"<meta charset=utf-16>" + "é".encode(), HTML, True, "<meta charset=utf-16>é"),
    (
        "header before meta",
        b'<meta charset="iso-8859-1">Z\xc3\xbcrich',
        "text/html; charset=utf-8",
        True,
        '<meta charset="iso-8859-1">Zürich',
    ),
    ("unknown header, UTF-8 body", "Zürich".encode(), "text/html; charset=utf8mb4", True, "Zürich"),
    (
        "unknown header, then meta",
        b"<meta charset=koi8-r>" + "да".encode("koi8-r"),
        "text/html; charset=x",
        True,
        "<meta charset=koi8-r>да",
    ),
    ("unknown meta", b"<meta charset=nope>" + "é".encode(), HTML, True, "<meta charset=nope>é"),
    ("unknown header, few broken bytes", b"a" * 100 + b"\xff", "text/plain; charset=nope", False, "a" * 100 + "\ufffd"),
    ("no text encoding of Python's own", b"+AOk-", "text/plain; charset=utf-7", False, "+AOk-"),
    ("no codec that is none", b"uryyb", "text/plain; charset=rot13", False, "uryyb"),
    ("UTF-8 mark", b"\xef\xbb\xbf{}", "application/json", False, "{}"),
    ("UTF-16 LE mark", b"\xff\xfe" + "é".encode("utf-16-le"), "application/json", False, "é"),
    ("UTF-16 BE mark", b"\xfe\xff" + "é".encode("utf-16-be"), PLAIN, False, "é"),
    ("mark against header", b"\xef\xbb\xbfZ\xc3\xbcrich", "text/html; charset=iso-8859-1", True, "Zürich"),
    ("mark against meta", b"\xef\xbb\xbf<meta charset=koi8-r>\xc3\xbc", HTML, True, "<meta charset=koi8-r>ü"),
    ("header utf-16 with mark", "\ufeffé".encode("utf-16-be"), "text/plain; charset=utf-16", False, "é"),
    ("header utf-16 without mark", "é".encode("utf-16-le"), "text/plain; charset=utf-16", False, "é"),
    (
        "XML declaration",
        b'<?xml version="1.0" encoding="ISO-8859-2"?>' + "ł".encode("iso8859-2"),
        "application/xml",
        False,
        '<?xml version="1.0" encoding="ISO-8859-2"?>ł',
    ),
    ("latin1 is windows-1252", b"\x93a\x94", "text/plain; charset=ISO-8859-1", False, "“a”"),
    ("ascii is windows-1252", b"\x80", "text/plain; charset=us-ascii", False, "€"),
    ("undefined byte", b"\x81a", "text/plain; charset=latin1", False, "\ufffda"),
    ("latin5 is windows-1254", b"\xd0\x80", "text/plain; charset=iso-8859-9", False, "Ğ€"),
    ("gb2312 is gb18030", "镕€".encode("gb18030"), "text/plain; charset=gb2312", False, "镕€"),
    ("euc-kr is cp949", "똠".encode("cp949"), "text/plain; charset=euc-kr", False, "똠"),
    ("sjis is cp932", "①髙".encode("cp932"), "text/plain; charset=x-sjis", False, "①髙"),
    ("big5", "香港".encode("big5"), "text/plain; charset=Big5", False, "香港"),
    ("euc-jp", "漢字".encode("euc_jp"), "text/plain; charset=euc-jp", False, "漢字"),
    ("iso-2022-jp", "漢字".encode("iso2022_jp"), "text/plain; charset=iso-2022-jp", False, "漢字"),
    ("hebrew logical", "ש".encode("iso8859-8"), "text/plain; charset=iso-8859-8-i", False, "ש"),
    ("label with a year", "Ω".encode("iso8859-7"), "text/plain; charset=ISO_8859-7:1987", False, "Ω"),
    ("thai", "ก".encode("cp874"), "text/plain; charset=tis-620", False, "ก"),
    ("empty", b"", "text/html; charset=nope", True, ""),
    ("empty label", "é".encode(), "text/html; charset=", True, "é"),
]


def is_markup(content_type: str | None) -> bool:
    return content_type is None or "html" in content_type.lower() or "xml" in content_type.lower()


@pytest.mark.parametrize(
    ("body", "content_type", "is_html", "text"), [r[1:] for r in DECODED], ids=[r[0] for r in DECODED]
)
def test_decode_body(body: bytes, content_type: str | None, is_html: bool, text: str) -> None:
    assert decode_body(body, content_type, is_html=is_html) == text


def test_an_unknown_charset_that_leaves_nothing_sensible() -> None:
    with pytest.raises(DecodeFailure) as caught:
        decode_body("Привет".encode("cp1251"), "text/html; charset=x-secret", is_html=True)
    assert caught.value.charset == "x-secret"


def test_every_label_names_a_codec() -> None:
    for codec in charset._LABELS.values():
        codecs.lookup(codec)


CUTS: list[tuple[str, bytes, int, str | None, bytes, bool]] = [
    ("fits", b"abc", 3, PLAIN, b"abc", False),
    ("utf-8", b"ab\xc3\xa9cd", 3, "text/plain; charset=utf-8", b"ab", True),
    ("utf-8, four bytes", "a🌊b".encode(), 4, PLAIN, b"a", True),
    ("utf-8, whole character", "a🌊b".encode(), 5, PLAIN, "a🌊".encode(), True),
    ("utf-16", "aéb".encode("utf-16-le"), 3, "text/plain; charset=utf-16le", "a".encode("utf-16-le"), True),
    ("utf-16 pair", "a🌊b".encode("utf-16-le"), 4, "text/plain; charset=utf-16le", "a".encode("utf-16-le"), True),
    ("utf-16 by its mark", b"\xff\xfea\x00b\x00", 5, PLAIN, b"\xff\xfea\x00", True),
    ("shift_jis", "潮見".encode("cp932"), 3, "text/html; charset=shift_jis", "潮".encode("cp932"), True),
    ("meta", b"<meta charset=euc-kr>" + "똠".encode("cp949"), 22, HTML, b"<meta charset=euc-kr>", True),
    ("gb18030, four bytes", "a\U00020000".encode("gb18030"), 4, "text/plain; charset=gb18030", b"a", True),
    ("one byte charset", b"\xe9\xe9", 1, "text/plain; charset=latin1", b"\xe9", True),
    ("nothing left", "🌊".encode(), 2, PLAIN, b"", True),
    ("zero", b"abc", 0, PLAIN, b"", True),
]


@pytest.mark.parametrize(
    ("body", "limit", "content_type", "left", "cut"), [r[1:] for r in CUTS], ids=[r[0] for r in CUTS]
)
def test_cut_bytes(body: bytes, limit: int, content_type: str | None, left: bytes, cut: bool) -> None:
    assert cut_bytes(body, limit, content_type, is_html=is_markup(content_type)) == (left, cut)


@given(
    st.text(),
    st.sampled_from(["utf-8", "utf-16le", "utf-16be", "gb18030"]),
    st.integers(min_value=0, max_value=80),
)
def test_a_cut_body_decodes_to_a_beginning(text: str, label: str, limit: int) -> None:
    body = text.encode(charset._LABELS[label])
    content_type = f"text/plain; charset={label}"
    left, cut = cut_bytes(body, limit, content_type, is_html=is_markup(content_type))
    assert cut is (len(body) > limit)
    assert body.startswith(left)
    assert len(left) <= limit or not cut
    whole = decode_body(body, content_type, is_html=False)
    assert whole.startswith(decode_body(left, content_type, is_html=False))


@given(st.binary(max_size=200), st.sampled_from([None, *(f"text/html; charset={label}" for label in charset._LABELS)]))
def test_no_bytes_of_a_known_charset_fail(body: bytes, content_type: str | None) -> None:
    decode_body(body, content_type, is_html=False)
    cut_bytes(body, 20, content_type, is_html=is_markup(content_type))
