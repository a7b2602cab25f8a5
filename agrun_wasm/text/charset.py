"""Bytes of a page to text.

Owned here: which encoding a body has (byte order mark, header, meta or XML declaration, UTF-8), the WHATWG labels, and
a cut that never splits a character. Decoding never fails on broken bytes: they become U+FFFD.

Must not know: HTTP, HTML beyond the declaration in its first bytes, limits. The mark goes before the header, as in
browsers: the bytes themselves say what they are, and a header that contradicts them is wrong.
"""

import codecs
import re

__all__ = ["DecodeFailure", "cut_bytes", "decode_body"]

_PRESCAN = 4096
"""Bytes searched for a declaration; browsers look at 1024, pages with long comments put it later."""

_SENSIBLE = 0.05
"""Largest share of unreadable characters in a text of an unknown charset that is still given out."""

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))

_CHARSET = re.compile(r"""charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;,"'>]+))""", re.IGNORECASE)
_XML_DECLARATION = re.compile(r"""\s*<\?xml\s[^>]*?encoding\s*=\s*["']([^"']+)["']""")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_META = re.compile(r"<meta[\s/][^>]*>", re.IGNORECASE)
_CONTENT_TYPE_META = re.compile(r"""http-equiv\s*=\s*["']?content-type\b""", re.IGNORECASE)
_CONTENT_ATTRIBUTE = re.compile(r"""\bcontent\s*=""", re.IGNORECASE)

_ISO_8859 = re.compile(r"iso[-_]?8859[-_]?(\d{1,2})(?::\d{4})?(?:-[ei])?")
_WINDOWS = re.compile(r"(?:windows-|cp|x-cp)(125[0-8])")
# Labels read as a superset, as browsers do: who writes the smaller name often sends the larger set.
_ISO_SUPERSETS = {"1": "cp1252", "9": "cp1254", "11": "cp874"}
_LABELS = {
    label: codec
    for codec, labels in {
        "utf-8": "utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
        "utf-16-le": "utf-16 utf-16le unicode ucs-2 csunicode iso-10646-ucs-2 unicodefeff",
        "utf-16-be": "utf-16be unicodefffe",
        "cp1252": "latin1 l1 ascii us-ascii ansi_x3.4-1968 cp819 ibm819 csisolatin1 iso-ir-100",
        "iso8859-2": "latin2 l2 csisolatin2 iso-ir-101",
        "iso8859-3": "latin3 l3 csisolatin3 iso-ir-109",
        "iso8859-4": "latin4 l4 csisolatin4 iso-ir-110",
        "iso8859-5": "cyrillic csisolatincyrillic iso-ir-144",
        "iso8859-6": "arabic asmo-708 ecma-114 csisolatinarabic csiso88596e csiso88596i iso-ir-127",
        "iso8859-7": "greek greek8 elot_928 ecma-118 csisolatingreek sun_eu_greek iso-ir-126",
        "iso8859-8": "hebrew visual logical csisolatinhebrew csiso88598e csiso88598i iso-ir-138",
        "cp1254": "latin5 l5 csisolatin5 iso-ir-148",
        "iso8859-10": "latin6 l6 csisolatin6 iso-ir-157",
        "iso8859-15": "l9 csisolatin9",
        "cp866": "cp866 ibm866 866 csibm866",
        "cp874": "windows-874 dos-874 tis-620",
        "koi8-r": "koi8-r koi8_r koi8 koi cskoi8r",
        "koi8-u": "koi8-u koi8-ru",
        "mac-roman": "macintosh mac x-mac-roman csmacintosh",
        "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
        "gb18030": "gb18030 gbk x-gbk gb2312 gb_2312 gb_2312-80 chinese csgb2312 csiso58gb231280 iso-ir-58",
        "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
        "cp932": "shift_jis shift-jis sjis x-sjis ms_kanji ms932 windows-31j csshiftjis",
        "euc_jp": "euc-jp x-euc-jp cseucpkdfmtjapanese",
        "iso2022_jp": "iso-2022-jp csiso2022jp",
        "cp949": "euc-kr korean windows-949 ksc5601 ksc_5601 ks_c_5601-1987 ks_c_5601-1989 cseuckr csksc56011987",
    }.items()
    for label in labels.split()
}


class DecodeFailure(Exception):
    """The declared charset is unknown and the bytes are no UTF-8 either; `charset` is the label."""

    def __init__(self, charset: str) -> None:
        super().__init__(f"unknown charset {charset!r} and the body is not UTF-8")
        self.charset = charset


def decode_body(body: bytes, content_type: str | None, *, is_html: bool) -> str:
    """The text of a body without its byte order mark.

    `content_type` is the header's value; meta elements count when `is_html`. Raises `DecodeFailure`.
    """
    codec, unknown = _codec_of(body, content_type, is_html=is_html)
    text = body.decode(codec, "replace").removeprefix("\ufeff")
    if unknown is not None and text.count("\ufffd") > _SENSIBLE * len(text):
        raise DecodeFailure(unknown)
    return text


def cut_bytes(body: bytes, limit: int, content_type: str | None, *, is_html: bool) -> tuple[bytes, bool]:
    """At most `limit` bytes of the body, ending with a whole character, and whether anything was cut.

    `is_html` as it is decoded later: the charset of the cut must be that of the text.
    """
    limit = max(limit, 0)
    if len(body) <= limit:
        return body, False
    codec, _ = _codec_of(body, content_type, is_html=is_html)
    decoder = codecs.getincrementaldecoder(codec)("replace")
    decoder.decode(body[:limit])
    # What the decoder still holds back is the beginning of a character.
    unfinished, _ = decoder.getstate()
    return body[: limit - len(unfinished)], True


def _codec_of(body: bytes, content_type: str | None, *, is_html: bool) -> tuple[str, str | None]:
    """The codec of a body, and the header's label if that was of no use."""
    for mark, marked in _MARKS:
        if body.startswith(mark):
            return marked, None
    label = _charset_label(content_type or "")
    codec = _codec_named(label) if label else None
    if codec is not None:
        return codec, None
    declared = _declared_label(body[:_PRESCAN].decode("latin-1"), is_html=is_html)
    codec = _codec_named(declared) if declared else None
    if codec is None:
        return "utf-8", label or declared
    # A declaration that could be read as ASCII is no UTF-16.
    return ("utf-8" if codec.startswith("utf-16") else codec), None


def _charset_label(text: str) -> str | None:
    match = _CHARSET.search(text)
    return next(group for group in match.groups() if group is not None).strip().lower() if match else None


def _declared_label(head: str, *, is_html: bool) -> str | None:
    declaration = _XML_DECLARATION.match(head)
    if declaration:
        return declaration[1].strip().lower()
    if not is_html:
        return None
    for meta in _META.findall(_COMMENT.sub("", head)):
        if _CONTENT_ATTRIBUTE.search(meta) and not _CONTENT_TYPE_META.search(meta):
            continue
        label = _charset_label(meta)
        if label:
            return label
    return None


def _codec_named(label: str) -> str | None:
    codec = _LABELS.get(label)
    if codec is None:
        iso = _ISO_8859.fullmatch(label)
        windows = _WINDOWS.fullmatch(label)
        if iso:
            codec = _ISO_SUPERSETS.get(iso[1], f"iso8859-{iso[1]}")
        elif windows:
            codec = f"cp{windows[1]}"
        else:
            return None
    try:
        codecs.lookup(codec)
    except LookupError:
        return None
    return codec
