"""urls: canonical spellings, and what may be fetched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.text.urls import canonical_url, check_public_url, is_http_url

CANONICAL: list[tuple[str, str]] = [
    ("https://harbor.example/guide/?utm_source=mail#berths", "https://harbor.example/guide"),
    ("HTTPS://Harbor.Example:443/guide", "https://harbor.example/guide"),
    ("http://a.example:80/", "http://a.example"),
    ("http://a.example:/", "http://a.example"),
    ("http://a.example:0080", "http://a.example"),
    ("http://a.example:443/", "http://a.example:443"),
    ("https://a.example", "https://a.example"),
    ("https://a.example/x//", "https://a.example/x"),
    ("https://a.example/?a=1", "https://a.example?a=1"),
    ("https://a.example/x/?b=2&a=1&fbclid=9", "https://a.example/x?b=2&a=1"),
    ("https://a.example/x?UTM_Medium=m&q=%C3%BC&gclid", "https://a.example/x?q=%C3%BC"),
    ("https://a.example/x?utm%5Fid=1&&a=&b", "https://a.example/x?a=&b"),
    ("https://a.example/x?", "https://a.example/x"),
    ("https://a.example/x?#", "https://a.example/x"),
    ("https://a.example/x?amount=utm_1", "https://a.example/x?amount=utm_1"),
    ("https://a.example/Größe", "https://a.example/Gr%C3%B6%C3%9Fe"),
    ("https://a.example/Gr%c3%b6%c3%9fe", "https://a.example/Gr%C3%B6%C3%9Fe"),
    ("https://a.example/Case", "https://a.example/Case"),
    ("https://BÜCHER.example/", "https://xn--bcher-kva.example"),
    ("https://a.example./x", "https://a.example/x"),
    ("http://[2001:DB8:0::1]:80/x", "http://[2001:db8::1]/x"),
    ("https://me@a.example/", "https://me@a.example"),
    (" https://a.example/x\n", "https://a.example/x"),
    ("mailto:a@b.example", "mailto:a@b.example"),
    ("not a url", "not a url"),
    ("https://a..b/", "https://a..b/"),
    ("https://a.example:99999/", "https://a.example:99999/"),
    ("", ""),
]


@pytest.mark.parametrize(("url", "canonical"), CANONICAL, ids=range(len(CANONICAL)))
def test_canonical_url(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical
    assert canonical_url(canonical) == canonical


CHECKED: list[tuple[str, str | None]] = [
    ("https://a.example/x", None),
    (" https://a.example/x ", None),
    ("https://a.example:8443/x?y#z", None),
    ("https://a.example/a b\\c", None),
    ("https://例え.jp/", None),
    ("http://93.184.216.34/", None),
    ("file:///etc/hostname", "invalid_url"),
    ("data:text/html,<p>hi</p>", "invalid_url"),
    ("ftp://ftp.example/x", "invalid_url"),
    ("javascript:alert(1)", "invalid_url"),
    ("//site.example/p", "invalid_url"),
    ("site.example/p", "invalid_url"),
    ("", "invalid_url"),
    ("https://", "invalid_url"),
    ("https:///x", "invalid_url"),
    ("http:a.example", "invalid_url"),
    ("http:/a.example", "invalid_url"),
    ("http:\\\\a.example", "invalid_url"),
    ("http://user@a.example/", "invalid_url"),
    ("http://@a.example/", "invalid_url"),
    ("http://site.example:80@192.168.7.9/", "invalid_url"),
    ("http://a:b@127.0.0.1:8000/x", "invalid_url"),
    ("http://site.example@169.254.169.254/", "invalid_url"),
    ("http://good.example\\@127.0.0.1/", "invalid_url"),
    ("http://good.example%40127.0.0.1/", "invalid_url"),
    ("https://a.example/\nx", "invalid_url"),
    ("https://a.exa\tmple/", "invalid_url"),
    ("https://a.example/\x00", "invalid_url"),
    ("\nhttps://a.example/", "invalid_url"),
    ("https://a .example/", "invalid_url"),
    ("https://a.example:99999/", "invalid_url"),
    ("https://a.example:x/", "invalid_url"),
    ("https://[::1/", "invalid_url"),
    ("https://1.2.3.4.5/", "invalid_url"),
    ("http://127.0.0.1", "private_address"),
    ("HTTP://2130706433/", "private_address"),
    ("http://0x7f000001:80/", "private_address"),
    ("http://0177.0.0.1?x", "private_address"),
    ("http://127.1#x", "private_address"),
    ("http://[::ffff:7f00:1]/", "private_address"),
    ("http://0/", "private_address"),
    ("http://[fe80::1%25eth0]/", "private_address"),
    ("http://127。0。0。1/", "private_address"),
    ("http://metadata.google.internal./", "private_address"),
    ("http://192.168.4.20/status", "private_address"),
]


@pytest.mark.parametrize(("url", "fault"), CHECKED, ids=range(len(CHECKED)))
def test_check_public_url(url: str, fault: str | None) -> None:
    assert check_public_url(url) == fault


URL_TEXT = st.text(alphabet="htps:/.aB1@?#&=%2f[]()<>。、 \n東ü*_'", max_size=40)


@given(URL_TEXT.map(lambda rest: "https://" + rest) | URL_TEXT)
def test_canonical_url_is_idempotent_and_nothing_raises(url: str) -> None:
    once = canonical_url(url)
    assert canonical_url(once) == once
    check_public_url(url)
    assert is_http_url(once) or once == url.strip()
