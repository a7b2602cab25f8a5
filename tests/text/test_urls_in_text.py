"""urls_in_text: the URLs of prose and Markdown, in any script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.text.urls_in_text import find_urls, first_url

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


URL_TEXT = st.text(alphabet="htps:/.aB1@?#&=%2f[]()<>。、 \n東ü*_'", max_size=40)


@given(URL_TEXT.map(lambda rest: "https://" + rest) | URL_TEXT)
def test_what_is_found_stands_in_the_text(url: str) -> None:
    for found in find_urls("x " + url):
        assert found in url


@given(st.from_regex(r"[a-z]{1,8}\.example(/[a-z0-9]{1,5}){0,3}(\?[a-z]=[0-9])?", fullmatch=True))
def test_a_url_is_found_in_any_surrounding(rest: str) -> None:
    url = "https://" + rest
    for text in (f"x {url}.", f"[t]({url})", f"<{url}>", f"（{url}）", f"見て{url}、", f"({url}), y", f'"{url}"'):
        assert find_urls(text) == [url]
