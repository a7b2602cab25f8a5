"""URLs: their one canonical spelling, and whether one may be fetched at all.

Owned here: canonical form (contract 2.10, Sources), the refusal of URLs that are no public http(s) address. Hosts are
`hosts`' matter, finding URLs in a text is `urls_in_text`'s.

Must not know: requests, redirects, sources. A caller that follows a redirect checks the new URL again.
"""

import re
from typing import Literal, NamedTuple
from urllib.parse import quote, unquote_plus

from agrun_wasm.text.hosts import is_private_host, normal_host

__all__ = ["UrlFault", "canonical_url", "check_public_url", "is_http_url"]

UrlFault = Literal["invalid_url", "private_address"]

_URL = re.compile(
    r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#.*)?",
    re.IGNORECASE | re.DOTALL,
)
_AUTHORITY = re.compile(r"(?:(?P<user>.*)@)?(?P<host>\[[^\]]*\]|[^:@\[\]]*)(?::(?P<port>[0-9]*))?", re.DOTALL)
_CONTROL = r"[\x00-\x1f\x7f\u0080-\u009f\u2028\u2029]"
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


class _Parts(NamedTuple):
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
    if re.search(_CONTROL, url):
        return "invalid_url"
    parts = _split(url)
    if parts is None or parts.user is not None:
        return "invalid_url"
    return "private_address" if is_private_host(parts.host) else None


def is_http_url(text: str) -> bool:
    """Whether the text is an http(s) URL of any host."""
    return _split(text) is not None


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
