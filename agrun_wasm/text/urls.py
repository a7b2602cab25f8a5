"""URLs: their one canonical spelling, those that stand in a text, and whether one may be fetched at all.

Owned here: canonical form (contract 2.10, Sources), finding URLs in prose and Markdown, the refusal of URLs that are no
public http(s) address. Hosts are `hosts`' matter.

Must not know: requests, redirects, sources. A caller that follows a redirect checks the new URL again.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote, unquote_plus

from agrun_wasm.text.hosts import is_private_host, normal_host

__all__ = ["UrlFault", "canonical_url", "check_public_url", "find_urls", "first_url"]

UrlFault = Literal["invalid_url", "private_address"]

_URL = re.compile(
    r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#.*)?",
    re.IGNORECASE | re.DOTALL,
)
_AUTHORITY = re.compile(r"(?:(?P<user>.*)@)?(?P<host>\[[^\]]*\]|[^:@\[\]]*)(?::(?P<port>[0-9]*))?", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u0080-\u009f\u2028\u2029]")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HIGHEST_PORT = 65535

_TRACKING_PREFIXES = ("utm_", "hsa_", "mtm_")
_TRACKING = frozenset(
    (
        *(
            "gclid",
            "gclsrc",
            "dclid",
            "gbraid",
            "wbraid",
            "srsltid",
            "_ga",
            "_gl",
            "s_kwcid",
            "fbclid",
            "igshid",
            "igsh",
        ),
        *("msclkid", "yclid", "ysclid", "twclid", "ttclid", "li_fat_id", "epik", "rb_clickid", "mc_cid", "mc_eid"),
        *("mkt_tok", "vero_id", "vero_conv", "wickedid", "oly_anon_id", "oly_enc_id", "_openstat", "_hsenc", "_hsmi"),
        *("__hstc", "__hssc", "__hsfp", "hsctatracking", "ml_subscriber", "ml_subscriber_hash"),
        *("pk_campaign", "pk_kwd", "pk_source", "pk_medium", "pk_content"),
    )
)
_PERCENT = re.compile(r"%[0-9a-fA-F]{2}")
_NOT_ASCII = re.compile(r"[^\x21-\x7e]+")

_START = re.compile(r"(?<![A-Za-z0-9])https?://", re.IGNORECASE)
_BARE = re.compile(
    r"[^\s\x00-\x1f\x7f<>\"`|\\^\u00ab\u00bb\u060c\u061f\u06d4\u0964\u200b\u2014\u2018\u201c-\u201f\u2026\u2060"
    r"\u3000-\u3002\u3008-\u3011\u3014-\u301b\ufeff\uff01\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff3b\uff3d\uff5b"
    r"\uff5d-\uff64]+"
)
_DESTINATION = re.compile(r"[^\s\x00-\x1f\x7f<>\"`\\]+")
_ANGLE = re.compile(r"[^<>\n]+(?=>)")
_TRAILING = ".,:;!?'*_~\u2019"
_CLOSERS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True, slots=True)
class _Parts:
    scheme: str
    user: str | None
    host: str
    port: int | None
    path: str
    query: str | None


def check_public_url(url: str) -> UrlFault | None:
    """Why the URL may not be fetched, None when it may; outer blanks do not count.

    invalid_url: a scheme other than http and https, user info, no host, a control character, whatever browsers and
    Python could read in two ways. private_address: a host that is local, private or reserved in any spelling.
    """
    url = url.strip(" ")
    if _CONTROL.search(url):
        return "invalid_url"
    parts = _split(url)
    if parts is None or parts.user is not None:
        return "invalid_url"
    return "private_address" if is_private_host(parts.host) else None


def canonical_url(url: str) -> str:
    """The spelling that all spellings of one page share; a text that is no http(s) URL comes back stripped.

    Scheme, host and default port are normalised, fragment, trailing slashes and tracking parameters dropped, the other
    parameters kept in order. Idempotent.
    """
    url = url.strip()
    parts = _split(url)
    if parts is None:
        return url
    user = "" if parts.user is None else parts.user + "@"
    port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    pairs = [pair for pair in (parts.query or "").split("&") if not _is_tracking(pair)]
    query = "&".join(pairs).strip("&")
    path = _encoded(parts.path).rstrip("/")
    return f"{parts.scheme}://{user}{parts.host}{port}{path}" + (f"?{_encoded(query)}" if query else "")


def find_urls(text: str) -> list[str]:
    """Every http(s) URL of the text in order, as it stands there: bare, in Markdown links and autolinks.

    Of a bare URL trailing punctuation and an unbalanced closing bracket are no part; a link's destination is taken
    whole. A URL that stands twice comes twice.
    """
    return list(_urls(text))


def first_url(text: str) -> str | None:
    """The first URL of the text, None without one."""
    return next(_urls(text), None)


def _urls(text: str) -> Iterator[str]:
    position = 0
    while start := _START.search(text, position):
        url = _url_at(text, start.start())
        if _split(url) is not None:
            yield url
        position = max(start.start() + len(url), start.end())


def _split(url: str) -> _Parts | None:
    match = _URL.fullmatch(url)
    if match is None or "\\" in match["authority"]:
        return None
    authority = _AUTHORITY.fullmatch(match["authority"])
    if authority is None:
        return None
    host = normal_host(authority["host"])
    digits = (authority["port"] or "").lstrip("0")
    port = int(digits[:6] or "0") if authority["port"] else None
    if host is None or (port is not None and port > _HIGHEST_PORT):
        return None
    return _Parts(match["scheme"].lower(), authority["user"], host, port, match["path"], match["query"])


def _is_tracking(pair: str) -> bool:
    key = unquote_plus(pair.partition("=")[0]).lower()
    return key in _TRACKING or key.startswith(_TRACKING_PREFIXES)


def _encoded(part: str) -> str:
    """Non-ASCII percent-encoded, as browsers send it, and hexadecimal digits in upper case."""
    ascii_only = _NOT_ASCII.sub(lambda match: quote(match.group(), safe="", errors="replace"), part)
    return _PERCENT.sub(lambda match: match.group().upper(), ascii_only)


def _url_at(text: str, start: int) -> str:
    before = text[max(start - 2, 0) : start]
    if before.endswith("<"):
        angle = _ANGLE.match(text, start)
        if angle and (before == "(<" or not re.search(r"\s", angle.group())):
            return angle.group().rstrip()
    if before == "](":
        destination = _DESTINATION.match(text, start)
        return _balanced(destination.group()) if destination else ""
    bare = _BARE.match(text, start)
    return _without_trailing(_ascii_ended_host(_balanced(bare.group()))) if bare else ""


def _balanced(run: str) -> str:
    """The run up to the first closing bracket that nothing in it opens."""
    if not any(closer in run for closer in _CLOSERS):
        return run
    opened: dict[str, int] = {}
    for place, char in enumerate(run):
        if char in _CLOSERS:
            opener = _CLOSERS[char]
            if not opened.get(opener):
                return run[:place]
            opened[opener] -= 1
        elif char in "([{":
            opened[char] = opened.get(char, 0) + 1
    return run


def _ascii_ended_host(url: str) -> str:
    """Without the words that follow a bare host directly: a top-level domain is ASCII or not, never mixed."""
    if url.isascii():
        return url
    begin = url.index("//") + 2
    end = min((place for sign in "/?#" if (place := url.find(sign, begin)) >= 0), default=len(url))
    last_label = max(url.rfind(".", begin, end), begin - 1) + 1
    tail = url[last_label:end]
    if tail[:1].isascii() and not tail.isascii():
        return url[:last_label] + re.split(r"[^\x00-\x7f]", tail, maxsplit=1)[0]
    return url


def _without_trailing(url: str) -> str:
    while True:
        shorter = url.rstrip(_TRAILING)
        # The sign before the end may have belonged to a character reference: `&gt;`.
        ampersand = url.rfind("&") if url.endswith(";") else -1
        if ampersand >= 0 and url[ampersand + 1 : -1].isalnum():
            shorter = url[:ampersand]
        if shorter == url:
            return url
        url = shorter
