"""Host names and addresses of URLs, as browsers read them.

Owned here: one normal form for every spelling of a host (WHATWG host parsing: percent-encoding, full-width signs, IDNA,
the numeric forms of IPv4, IPv6), and which hosts are private: those that do not lead to the public internet.

Must not know: URLs around the host, name resolution (the fetch port checks what a public name resolves to).
"""

import unicodedata
from urllib.parse import unquote_to_bytes

__all__ = ["is_private_host", "normal_host"]

_FORBIDDEN = frozenset("\x7f \"#%/:<>?@[\\]^`{|}'") | {chr(code) for code in range(0x20)}
_DOTS = str.maketrans({"\u3002": ".", "\uff0e": ".", "\uff61": "."})
_LONGEST = 253

_PRIVATE_SUFFIXES = ("localhost", "localdomain", "local", "internal", "home.arpa")

_PRIVATE_V4 = (
    ("0.0.0.0", 8),  # this network, unspecified
    ("10.0.0.0", 8),
    ("100.64.0.0", 10),  # carrier-grade NAT
    ("127.0.0.0", 8),
    ("169.254.0.0", 16),  # link-local, cloud metadata
    ("172.16.0.0", 12),
    ("192.0.0.0", 24),
    ("192.0.2.0", 24),  # documentation
    ("192.88.99.0", 24),
    ("192.168.0.0", 16),
    ("198.18.0.0", 15),  # benchmarks
    ("198.51.100.0", 24),  # documentation
    ("203.0.113.0", 24),  # documentation
    ("224.0.0.0", 3),  # multicast, reserved, broadcast
)

_V6_WITH_V4 = (
    # prefix, its length, how many bits stand right of the IPv4 address in it
    (0, 96, 0),  # IPv4-compatible; :: and ::1 are inside and private as 0.0.0.0/8
    (0xFFFF << 32, 96, 0),  # IPv4-mapped
    (0xFFFF << 48, 96, 0),  # IPv4-translated
    (0x0064FF9B << 96, 96, 0),  # NAT64
    (0x2002 << 112, 16, 80),  # 6to4
)

_PRIVATE_GLOBAL_V6 = (
    (0x2001 << 112, 23),  # IETF protocol assignments, Teredo
    (0x20010DB8 << 96, 32),  # documentation
    (0x3FFF << 112, 20),  # documentation
)


def normal_host(host: str) -> str | None:
    """The host in its normal form, None where it is none.

    Names are lower case ASCII (IDNA as `xn--` labels) without the root dot, IPv4 is dotted decimal, IPv6 is compressed
    in brackets with its zone, if any.
    """
    if host.startswith("["):
        return _normal_v6(host)
    name = _mapped(host)
    if name is None:
        return None
    labels = name.removesuffix(".").split(".")
    if not all(labels) or len(name) > _LONGEST:
        return None
    if _is_number(labels[-1]):
        address = _v4_of(labels)
        return None if address is None else _dotted(address)
    ascii_labels = [label if label.isascii() else _punycode(label) for label in labels]
    normal = ".".join(ascii_labels)
    return None if any(char in _FORBIDDEN for char in normal) else normal


def is_private_host(host: str) -> bool:
    """Whether a host in its normal form is private, reserved or local; names without a dot count as local."""
    if host.startswith("["):
        return _is_private_v6(host)
    labels = host.split(".")
    if _is_number(labels[-1]):
        address = _v4_of(labels)
        return address is None or _is_private_v4(address)
    return len(labels) == 1 or any(host == suffix or host.endswith("." + suffix) for suffix in _PRIVATE_SUFFIXES)


def _mapped(host: str) -> str | None:
    """Percent-decoding and the character mapping of IDNA, without its rules about which scripts may mix."""
    if host.isascii() and "%" not in host:
        return host.lower()
    try:
        host = unquote_to_bytes(host).decode()
    except UnicodeDecodeError:
        return None
    visible = "".join(char for char in host if not _is_ignored(char)).translate(_DOTS)
    mapped = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).lower())
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zs", "Zl", "Zp") for char in mapped):
        return None
    return mapped.translate(_DOTS)


def _is_ignored(char: str) -> bool:
    return unicodedata.category(char) == "Cf" or "\ufe00" <= char <= "\ufe0f" or char in "\u034f\u180b\u180c\u180d"


def _punycode(label: str) -> str:
    return "xn--" + label.encode("punycode").decode("ascii")


def _is_number(label: str) -> bool:
    return label.isascii() and (label.isdigit() or _hex_digits(label) is not None)


def _hex_digits(label: str) -> str | None:
    digits = label[2:]
    if label[:2] in ("0x", "0X") and all(char in "0123456789abcdefABCDEF" for char in digits):
        return digits
    return None


def _v4_of(labels: list[str]) -> int | None:
    """The address of a dotted form with one to four decimal, octal or hexadecimal numbers."""
    if len(labels) > 4:
        return None
    numbers: list[int] = []
    for label in labels:
        hex_digits = _hex_digits(label)
        try:
            if hex_digits is not None:
                numbers.append(int(hex_digits or "0", 16))
            elif not label.isascii() or not label.isdigit():
                return None
            else:
                numbers.append(int(label, 8 if len(label) > 1 and label[0] == "0" else 10))
        except ValueError:
            return None
    *leading, last = numbers
    if any(number > 255 for number in leading) or last >= 256 ** (4 - len(leading)):
        return None
    return sum(number << (24 - 8 * place) for place, number in enumerate(leading)) + last


def _dotted(address: int) -> str:
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))


def _is_private_v4(address: int) -> bool:
    for network, length in _PRIVATE_V4:
        base = _v4_of(network.split("."))
        if base is not None and address >> (32 - length) == base >> (32 - length):
            return True
    return False


def _normal_v6(host: str) -> str | None:
    from ipaddress import AddressValueError, IPv6Address

    if not host.endswith("]") or not host.isascii():
        return None
    address, percent, zone = host[1:-1].partition("%")
    try:
        compressed = IPv6Address(address).compressed
    except AddressValueError:
        return None
    return f"[{compressed}%{zone.removeprefix('25')}]" if percent else f"[{compressed}]"


def _is_private_v6(host: str) -> bool:
    from ipaddress import IPv6Address

    address, percent, _ = host[1:-1].partition("%")
    if percent:
        # Only addresses of the local link carry a zone.
        return True
    value = int(IPv6Address(address))
    for prefix, length, right in _V6_WITH_V4:
        if value >> (128 - length) == prefix >> (128 - length):
            return _is_private_v4(value >> right & 0xFFFFFFFF)
    is_global_unicast = value >> 125 == 1
    return not is_global_unicast or any(
        value >> (128 - length) == prefix >> (128 - length) for prefix, length in _PRIVATE_GLOBAL_V6
    )
