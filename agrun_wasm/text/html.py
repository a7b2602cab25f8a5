"""What an HTML page says, and whether it is the page at all.

Owned here: title and Markdown of a page, and the recognition of challenge and captcha pages by signs that come together
(contract 2.10). The walk itself is `html_blocks`'.

Must not know: HTTP beyond a status, charsets, limits, sources.
"""

import re
from typing import Literal, NamedTuple
from urllib.parse import urljoin

from agrun_wasm.text.html_blocks import tree_to_markdown
from agrun_wasm.text.html_tree import collapsed, descendants, text_of

__all__ = ["BlockKind", "HtmlText", "html_to_markdown", "looks_blocked"]

BlockKind = Literal["challenge", "captcha"]

# XML closes an empty element in its own tag; to an HTML parser these would swallow the page.
_SELF_CLOSED = re.compile(r"<(script|style|title|iframe|textarea|noscript)\b([^<>]*)/>", re.IGNORECASE)

_LITTLE_TEXT = 1200
_CHALLENGE_TEXT = 400
_LONGEST_TITLE = 200
_BLOCK_STATUSES = frozenset({202, 401, 403, 405, 429, 503})

_CHALLENGE_SIGNS = (
    *("_cf_chl_opt", "cf_chl_", "/orchestrate/chl_page", "/orchestrate/jsch", "/orchestrate/managed"),
    *("/orchestrate/captcha", 'id="challenge-form"', "cf-browser-verification", "cf-im-under-attack"),
    *("captcha-delivery.com", "px-captcha", "captcha.px-cdn.net", "awsWafCookieDomainList", "gokuProps"),
    *("captcha.awswaf.com", "sucuri_cloudproxy_js", "anubis_challenge", ".within.website/x/cmd/anubis"),
    *("check.ddos-guard.net", "ddos-guard/js-challenge", "sec-if-cpt-container", "bm-verify=", "KPSDK"),
)
"""Markup that stands on challenge pages only."""

_VENDOR_SIGNS = (
    *("_Incapsula_Resource", "perimeterx", "_pxAppId", "datadome", "errors.edgesuite.net", "cf-error-details"),
    *("cdn-cgi/challenge-platform", "awswaf.com", "ddos-guard", "__qrator"),
)
"""Markup of vendors that also stands on ordinary pages behind them."""

_CAPTCHA_SIGNS = (
    *("g-recaptcha", "recaptcha/api.js", "h-captcha", "hcaptcha.com", "cf-turnstile", "challenges.cloudflare.com"),
    *("geetest", "arkoselabs.com", "funcaptcha", "smartcaptcha", "friendly-challenge"),
)
"""Captchas, which also stand in ordinary forms."""

# Patterns as text: they are compiled for pages with little text only.
_BLOCK_TITLE = (
    r"(?:just a moment|attention required|one moment,? please|please wait|checking your browser.*|one more step"
    r"|verify(?:ing)? (?:that )?you are (?:a )?human|are you (?:a )?(?:human|robot)|robot (?:check|or human)"
    r"|(?:human|bot) verification|security (?:check|verification|challenge)|pardon our interruption"
    r"|access to this page has been denied|ddos-guard|ddos protection by .*|you have been blocked|client challenge"
    r"|making sure you['’]re not a bot|unusual traffic.*|nur einen moment|un instant|un momento|um momento"
    r"|even geduld|jeszcze chwila|bir dakika lütfen|один момент|しばらくお待ちください|请稍候|請稍候"
    r"|잠시만 기다리십시오)"
    r"[\s.!?…]*(?:\|.*)?"
)
_BLOCK_WORDING = (
    r"(?:verify(?:ing)?|confirm|prove) (?:that )?you(?:['’]re| are) (?:a )?(?:human|not a (?:ro)?bot)"
    r"|checking (?:your browser|if the site connection)|enable javascript and cookies to continue"
    r"|enable js and disable any ad ?blocker|complete the (?:security check|captcha|challenge)"
    r"|unusual (?:traffic|activity) from|press (?:&|and) hold|not a robot|review the security of your connection"
    r"|access to this page has been denied|you have been blocked|incapsula incident|reference #[0-9a-f]+\.[0-9a-f]"
    r"|\bray id\b|automated (?:access|requests|queries)|ein mensch sind|êtes (?:un )?humain|eres (?:un )?humano"
    r"|не робот|人机验证|是真人|ロボットではありません"
)
_CAPTCHA_WORDING = r"captcha|not a (?:ro)?bot|robot|press (?:&|and) hold|не робот|人机验证|ロボット"


class HtmlText(NamedTuple):
    """The page's title (its first heading where it has none, else "") and its content as Markdown ("" if none)."""

    title: str
    markdown: str


def html_to_markdown(html: str, base_url: str | None = None) -> HtmlText:
    """Headings, lists, tables, code and links of a page; scripts, styles, noscript, templates and hidden parts go.

    Relative links are made absolute with the page's `base` element and `base_url`; without either they stay relative.
    """
    from justhtml import JustHTML

    if html.lstrip().startswith("<?xml"):
        html = _SELF_CLOSED.sub(r"<\1\2></\1>", html)
    root = JustHTML(html, sanitize=False).root
    title = heading = ""
    for node in descendants(root):
        if node.name == "base" and node.attrs.get("href"):
            base_url = _joined_url(base_url, node.attrs["href"])
        elif node.name == "title" and node.namespace == "html" and not title:
            title = collapsed(text_of(node))
        elif node.name == "h1" and not heading:
            heading = collapsed(text_of(node))
    return HtmlText(title or heading, tree_to_markdown(root, base_url))


def looks_blocked(status: int | None, title: str, html: str, text: str) -> BlockKind | None:
    """What kind of block page this is, None for a page of its own; `text` is the page's converted text.

    Always signs that come together: little text, and markup that only challenge pages have, or two of the others
    (status, vendor's or captcha's markup, title, wording). A text of some length is never a block page, whatever it
    names; markup counts only where it is not what the text talks about.
    """
    if len(text) > _LITTLE_TEXT:
        return None
    is_short = len(text) <= _CHALLENGE_TEXT

    def stands_in_markup(signs: tuple[str, ...]) -> bool:
        return any(sign in html and sign not in text for sign in signs)

    has_captcha = is_short and stands_in_markup(_CAPTCHA_SIGNS)
    has_vendor = stands_in_markup(_VENDOR_SIGNS)
    signs_together = sum(
        (
            status in _BLOCK_STATUSES,
            re.fullmatch(_BLOCK_TITLE, title.strip()[:_LONGEST_TITLE], re.IGNORECASE) is not None,
            re.search(_BLOCK_WORDING, text, re.IGNORECASE) is not None,
            has_vendor or has_captcha,
        )
    )
    is_challenge = is_short and stands_in_markup(_CHALLENGE_SIGNS)
    is_barren = not text.strip() and has_vendor
    if signs_together < 2 and not is_challenge and not is_barren:
        return None
    names_captcha = re.search(_CAPTCHA_WORDING, f"{title}\n{text}", re.IGNORECASE)
    return "captcha" if has_captcha or names_captcha else "challenge"


def _joined_url(base_url: str | None, href: str) -> str | None:
    try:
        return urljoin(base_url or "", href.strip())
    except ValueError:
        return base_url
