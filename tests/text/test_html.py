"""html: titles, and which pages are challenges."""

import pytest

from agrun_wasm.text.html import html_to_markdown, looks_blocked

TITLES: list[tuple[str, str]] = [
    ("<title>\n Dune &amp; sea </title><h1>x</h1>", "Dune & sea"),
    ("<h1>Dune <em>watch</em></h1>", "Dune watch"),
    ("<svg><title>icon</title></svg><p>a", ""),
    ("<title></title><h1>x</h1>", "x"),
    ("", ""),
    (
        '<?xml version="1.0"?><html><head><script src="x"/><title>X</title></head></html>',
        "X",
    ),
]


@pytest.mark.parametrize(("html", "title"), TITLES, ids=range(len(TITLES)))
def test_title(html: str, title: str) -> None:
    assert html_to_markdown(html).title == title


def test_an_empty_element_of_xhtml_does_not_swallow_the_page() -> None:
    page = '<?xml version="1.0"?><html><head><title/><script src="x"/></head><body><p>Marked up.</p></body></html>'
    assert html_to_markdown(page).markdown == "Marked up."


CLOUDFLARE = (
    "<title>Just a moment...</title><h1>Checking your browser</h1><noscript>Enable JavaScript and cookies</noscript>"
    '<form id="challenge-form" action="/?__cf_chl_f_tk=x1"></form>'
    '<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1?ray=1"></script>'
)
CLOUDFLARE_SHORT = (
    "<title>Just a moment...</title><p>Verifying you are human.</p><script>window._cf_chl_opt={}</script>"
)
ORDINARY_BEHIND_CLOUDFLARE = (
    "<title>Opening hours</title><p>Open from six.</p>"
    '<script src="/cdn-cgi/challenge-platform/h/g/scripts/jsd/main.js"></script>'
)
ARTICLE = (
    "<title>Just a moment</title><h1>How Cloudflare challenges work</h1>"
    "<p>A page titled Just a moment asks you to verify you are human. Its _cf_chl_opt holds the ray id.</p>"
    + "<p>The bot check runs in the browser and takes some seconds before the page is shown.</p>" * 40
    + "<script>window._cf_chl_opt={}</script>"
)

PAGES: list[tuple[str, int | None, str, str | None]] = [
    ("cloudflare", 403, CLOUDFLARE, "challenge"),
    ("cloudflare with 503", 503, CLOUDFLARE, "challenge"),
    ("cloudflare with 200", 200, CLOUDFLARE_SHORT, "challenge"),
    (
        "markup alone",
        200,
        "<title>example.com</title><p>Ein Moment</p><script>window._cf_chl_opt={}</script>",
        "challenge",
    ),
    ("cloudflare in German", 403, "<title>Nur einen Moment…</title><p>Sicherheit der Verbindung</p>", "challenge"),
    (
        "cloudflare block",
        403,
        "<title>Attention Required! | Cloudflare</title><h1>Sorry, you have been blocked</h1>",
        "challenge",
    ),
    (
        "akamai",
        403,
        "<title>Access Denied</title><p>You don't have permission. Reference #18.2d351ab8.1557333295</p>",
        "challenge",
    ),
    (
        "datadome",
        403,
        "<p>Please enable JS and disable any ad blocker</p><script src='https://ct.captcha-delivery.com/c.js'></script>",
        "challenge",
    ),
    (
        "perimeterx",
        403,
        "<title>Access to this page has been denied</title><p>Press &amp; Hold.</p><div id='px-captcha'></div>",
        "captcha",
    ),
    ("incapsula, empty", 200, '<iframe src="/_Incapsula_Resource?CWUDNSAI=5"></iframe>', "challenge"),
    (
        "aws waf",
        202,
        '<title></title><div id="challenge-container"></div><script>var gokuProps = {}</script>',
        "challenge",
    ),
    (
        "anubis",
        200,
        '<title>Making sure you\'re not a bot!</title><p>Loading...</p><script id="anubis_challenge"></script>',
        "captcha",
    ),
    ("captcha", 429, '<title>Are you a robot?</title><p>Solve this.</p><div class="g-recaptcha"></div>', "captcha"),
    (
        "captcha wording and status",
        429,
        "<title>Sorry</title><p>We saw unusual traffic from your network. Confirm you are not a robot.</p>",
        "captcha",
    ),
    ("Chinese captcha", 403, "<title>访问验证</title><p>请完成人机验证</p>", "captcha"),
    ("ordinary page", 200, "<title>Dunes</title><p>The dune grew.</p>", None),
    ("ordinary page behind a vendor", 200, ORDINARY_BEHIND_CLOUDFLARE, None),
    ("ordinary 403", 403, "<title>403 Forbidden</title><h1>Forbidden</h1><p>nginx</p>", None),
    ("ordinary 403, access denied", 403, "<title>Access denied</title><p>Members only.</p>", None),
    ("ordinary 404", 404, "<title>Not found</title><p>Nothing here.</p>", None),
    ("ordinary 503", 503, "<title>Maintenance</title><p>Back at noon.</p>", None),
    ("ordinary 429", 429, "<title>Too many requests</title><p>Slow down.</p>", None),
    ("empty 403", 403, "", None),
    ("empty shell", 200, '<title>App</title><div id="root"></div><script src="/app.js"></script>', None),
    (
        "contact form with captcha",
        200,
        '<title>Contact</title><p>Write to us.</p><form><div class="g-recaptcha"></div></form>',
        None,
    ),
    ("long article that names a vendor", 200, ARTICLE, None),
    ("long article with a bad status", 403, ARTICLE, None),
    (
        "short note about markup",
        200,
        "<title>Note</title><p>The variable <code>_cf_chl_opt</code> is set by challenges.</p>",
        None,
    ),
    ("a title alone", 200, "<title>Just a moment</title><p>A poem about waiting by the sea.</p>", None),
    ("status unknown", None, "<title>Dunes</title><p>x</p>", None),
]


@pytest.mark.parametrize(("status", "html", "kind"), [row[1:] for row in PAGES], ids=[row[0] for row in PAGES])
def test_looks_blocked(status: int | None, html: str, kind: str | None) -> None:
    page = html_to_markdown(html)
    assert looks_blocked(status, page.title, html, page.markdown) == kind
