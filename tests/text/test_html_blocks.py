"""html_blocks and html_tree through html_to_markdown: what stays, what goes, where blanks and lines are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.text.html import html_to_markdown

BASE = "https://a.example/dir/page"

NOT_CONTENT = (
    "<p>a</p><script>b()</script><style>c{}</style><noscript>d</noscript><template><p>e</p></template><svg><text>f</text></svg>"
    "<textarea>g</textarea><select><option>h</select><iframe>i</iframe><!-- j --><title>k</title>"
)

WRITTEN: list[tuple[str, str, str]] = [
    ("inline tags split no word", "<p>gr<span>ew</span> gr<b>ew</b> gr<em>e</em>w</p>", "grew grew grew"),
    ("blanks", "<p>\n a  b\tc\n</p>\n\n<p>d</p>", "a b c\n\nd"),
    ("blank at an inline border", "<p>a<b> b</b> <i>c</i></p>", "a b c"),
    ("no-break blank, soft hyphen, zero width", "<p>a&nbsp;b Ge&shy;zei\u200bten</p>", "a b Gezeiten"),
    ("line break", "<p>a<br>b <br/> c</p>", "a\nb\nc"),
    ("text without blocks", "a <b>b</b>", "a b"),
    ("text between blocks", "a<p>b</p>c", "a\n\nb\n\nc"),
    ("signs stay as they are", "<p>2 &lt; 3 * 4_5 [x] # y</p>", "2 < 3 * 4_5 [x] # y"),
    ("less-than that is no tag", "<p>a < b</p>", "a < b"),
    ("headings", "<h1>A</h1><h2>B <em>c</em></h2><h6>D<br>e</h6><h3></h3>", "# A\n\n## B c\n\n###### D e"),
    ("list", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>", "- a\n- b\n  - c"),
    ("ordered list", "<ol start=9><li>a</li><li>b</li></ol><p>c", "9. a\n10. b\n\nc"),
    ("list of paragraphs", "<ul><li><p>a</p><p>b</p></li><li><p>c</p></li></ul>", "- a\n\n  b\n- c"),
    ("two lists", "<ul><li>a</ul><ul><li>b</ul>", "- a\n\n- b"),
    ("empty items", "<ul><li></li><li> </li><li>a</li></ul>", "- a"),
    ("item alone", "<li>a", "- a"),
    ("quote", "<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n>\n> b\n\nc"),
    ("quote in a list", "<ul><li>a<blockquote>b</blockquote></li></ul>", "- a\n\n  > b"),
    ("link", '<p>See <a href="/x?y=1">the x</a>.</p>', "See [the x](https://a.example/x?y=1)."),
    ("link, relative", '<a href="b.html">b</a>', "[b](https://a.example/dir/b.html)"),
    ("link with brackets and blanks", '<a href="/a (b)">b</a>', "[b](https://a.example/a%20%28b%29)"),
    ("link with its address as text", '<a href="https://b.example/">https://b.example/</a>', "https://b.example/"),
    (
        "links that lead nowhere",
        '<a href="#x">a</a> <a>b</a> <a href="javascript:x()">c</a> <a href="">d</a>',
        "a b c d",
    ),
    ("link that does not parse", '<a href="http://[x">a</a>', "a"),
    ("blanks round a link", "<p>a<a href=/x> b </a>c</p>", "a [b](https://a.example/x) c"),
    ("link inside a word", "<p>gr<a href=/x>ew</a>n <a href=/y>Wort</a>teil</p>", "grewn Wortteil"),
    ("link in a script without blanks", "<p>看<a href=/x>这里</a>吧</p>", "看[这里](https://a.example/x)吧"),
    ("link round blocks", "<a href=/x><h3>A</h3><p>b</p></a>", "### [A](https://a.example/x)\n\nb"),
    ("link round an image", '<a href=/x><img src=i alt="Map"></a>', "[Map](https://a.example/x)"),
    ("base element", '<base href="/other/"><a href="b">b</a>', "[b](https://a.example/other/b)"),
    ("code", "<p>use <code>x_y</code>, <kbd>a`b</kbd></p>", "use `x_y`, ``a`b``"),
    ("code inside a word", "<p>pre<code>fix</code></p>", "prefix"),
    ("code block", '<pre><code class="hljs language-py">a = 1\n\n  b\n</code></pre>', "```py\na = 1\n\n  b\n```"),
    ("code block with lines by tags", "<pre>a<br>b</pre>", "```\na\nb\n```"),
    ("code block that holds a fence", "<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"),
    (
        "table",
        "<table><tr><th>A</th><th>B</th></tr><tr><td>gr<b>ew</b></td><td>x|y</td></tr></table>",
        "| A | B |\n| --- | --- |\n| grew | x\\|y |",
    ),
    (
        "table with sections, caption, colspan",
        "<table><caption>C</caption><thead><tr><th colspan=2>A<tbody><tr><td>1<td>2<br>3</table>",
        "C\n\n| A |  |\n| --- | --- |\n| 1 | 2 3 |",
    ),
    (
        "table of links",
        "<table><tr><td><a href=/x>x</a><td>y</table>",
        "| [x](https://a.example/x) | y |\n| --- | --- |",
    ),
    ("table for layout", "<table><tr><td><table><tr><td>a</table><td><h2>B</h2><p>c</table>", "a\n\n## B\n\nc"),
    ("table with one column", "<table><tr><td>a<tr><td>b</table>", "a\n\nb"),
    ("empty table", "<table><tr><td><td></table>", ""),
    (
        "not content",
        NOT_CONTENT,
        "a",
    ),
    (
        "hidden",
        '<p hidden>a</p><div style="color:red; display: none">b</div><p style="display:none">c</p><p>d</p>',
        "d",
    ),
    ("ruby", "<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>字", "漢字"),
    ("buttons", "<button>a</button><button>b</button>", "a b"),
    ("definition list", "<dl><dt>a</dt><dd>b</dd></dl>", "a\n\nb"),
    ("broken markup", "<p>a<div>b</p></b>c<li>d", "a\n\nb\n\nc\n\n- d"),
    (
        "shell of an app",
        '<title>App</title><noscript>JavaScript is required.</noscript><div id="root"></div><script src=x></script>',
        "",
    ),
    ("empty", "", ""),
]


@pytest.mark.parametrize(("html", "markdown"), [row[1:] for row in WRITTEN], ids=[row[0] for row in WRITTEN])
def test_markdown(html: str, markdown: str) -> None:
    assert html_to_markdown(html, BASE).markdown == markdown


def test_without_a_base_links_stay_relative() -> None:
    assert html_to_markdown('<a href="b">c</a>').markdown == "[c](b)"


DEEP = ["<div>", "<b>", "<blockquote>", "<ul><li>", "<table><tr><td>", "<a href=x>", "<pre>", "<h1>"]


@pytest.mark.parametrize("tag", DEEP)
def test_deep_trees_are_walked(tag: str) -> None:
    markdown = html_to_markdown(tag * 2000 + "word").markdown
    assert "word" in markdown
    assert len(markdown) < 100_000


PIECES = [
    "<b>",
    "</b>",
    "<p>",
    "</p>",
    "<a href='/x'>",
    "</a>",
    "<li>",
    "<ul>",
    "</ul>",
    "<code>",
    "</code>",
    "<td>",
    "<table>",
    "<tr>",
    "</table>",
    "<pre>",
    "</pre>",
    "<br>",
    "<h2>",
    "</h2>",
    " ",
    "\n",
    "w1",
    "w2",
    "<blockquote>",
    "</blockquote>",
]


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_any_markup_keeps_its_words_and_leaves_no_tag(html: str) -> None:
    markdown = html_to_markdown(html, BASE).markdown
    assert "<" not in markdown.replace("<br>", "")
    for word in ("w1", "w2"):
        assert markdown.count(word) == html.count(word)
    assert markdown == markdown.strip("\n")
