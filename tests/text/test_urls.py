"""urls: canonical spellings, URLs in texts, and what may be fetched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.text.urls import canonical_url, check_public_url, find_urls, first_url

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


FOUND: list[tuple[str, list[str]]] = [
    ("no url", []),
    ("See https://a.example/x.", ["https://a.example/x"]),
    (
        "See https://a.example/x, https://b.example; and http://c.example!?",
        ["https://a.example/x", "https://b.example", "http://c.example"],
    ),
    ("(https://a.example/x)", ["https://a.example/x"]),
    ("(see https://en.example/wiki/Foo_(bar))", ["https://en.example/wiki/Foo_(bar)"]),
    ("https://en.example/wiki/Foo_(bar).", ["https://en.example/wiki/Foo_(bar)"]),
    ("[t](https://a.example/x)", ["https://a.example/x"]),
    (
        "[t](https://a.example/x_(y)) and [u](https://b.example/y 'title')",
        ["https://a.example/x_(y)", "https://b.example/y"],
    ),
    ("[a](https://a.example/x),[b](https://b.example/y)", ["https://a.example/x", "https://b.example/y"]),
    ("[a](https://a.example/x.)", ["https://a.example/x."]),
    ("[a](<https://a.example/x y>)", ["https://a.example/x y"]),
    ("<https://a.example/x.>", ["https://a.example/x."]),
    ('<a href="https://a.example/x">https://b.example</a>', ["https://a.example/x", "https://b.example"]),
    ("[https://a.example/x](https://a.example/x)", ["https://a.example/x", "https://a.example/x"]),
    ("[1]: https://a.example/x", ["https://a.example/x"]),
    ("**https://a.example/x** _https://b.example/y_", ["https://a.example/x", "https://b.example/y"]),
    (
        "`https://a.example/x` \"https://b.example/y\" 'https://c.example/z'",
        ["https://a.example/x", "https://b.example/y", "https://c.example/z"],
    ),
    ("|https://a.example/x|b|", ["https://a.example/x"]),
    ("見てhttps://a.example/x。次", ["https://a.example/x"]),
    ("请看：https://a.example/x，然后（https://b.example/y）", ["https://a.example/x", "https://b.example/y"]),
    ("「https://a.example/x」『https://b.example』", ["https://a.example/x", "https://b.example"]),
    ("https://a.exampleを見て", ["https://a.example"]),
    ("https://ja.example/wiki/東京タワー へ", ["https://ja.example/wiki/東京タワー"]),
    ("https://例え.jp/x", ["https://例え.jp/x"]),
    ("“https://a.example/x” «https://b.example»", ["https://a.example/x", "https://b.example"]),
    ("HTTPS://A.EXAMPLE/X", ["HTTPS://A.EXAMPLE/X"]),
    ("https://a.example/?q=a&amp;b=1&gt;", ["https://a.example/?q=a&amp;b=1"]),
    ("https://archive.example/2020/https://b.example/x", ["https://archive.example/2020/https://b.example/x"]),
    ("https://a.example/x\\n", ["https://a.example/x"]),
    ("https://a.example/#frag?x=1", ["https://a.example/#frag?x=1"]),
    ("http://[2606:4700::1111]/x", ["http://[2606:4700::1111]/x"]),
    ("xhttps://a.example", []),
    ("https:// https://... http://, https://…", []),
    ("ftp://a.example www.a.example", []),
    ("http://user:pw@a.example/x", ["http://user:pw@a.example/x"]),
    ("https://a.example:8443/x:y", ["https://a.example:8443/x:y"]),
    ("a\u3000https://a.example/x\u3000b", ["https://a.example/x"]),
    ("https://a.example/x—then", ["https://a.example/x"]),
]


@pytest.mark.parametrize(("text", "urls"), FOUND, ids=range(len(FOUND)))
def test_find_urls(text: str, urls: list[str]) -> None:
    assert find_urls(text) == urls
    assert first_url(text) == (urls[0] if urls else None)


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
    for found in find_urls("x " + url):
        assert found in url


@given(st.from_regex(r"[a-z]{1,8}\.example(/[a-z0-9]{1,5}){0,3}(\?[a-z]=[0-9])?", fullmatch=True))
def test_a_url_is_found_in_any_surrounding(rest: str) -> None:
    url = "https://" + rest
    for text in (f"x {url}.", f"[t]({url})", f"<{url}>", f"（{url}）", f"見て{url}、", f"({url}), y", f'"{url}"'):
        assert find_urls(text) == [url]
