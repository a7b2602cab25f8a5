# ruff: noqa: E501 (tables of cases)
"""Where a read may lead: every spelling of every address that is not public, as a URL, as a name, as a redirect."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agrun_host.reading_guard import NotPublicError, check_addresses, check_url
from agrun_host.transport import _parsed
from agrun_wasm.contracts.ports import FetchError
from agrun_wasm.text.urls import check_public_url
from tests.host.guard.site import PUBLIC, PUBLIC_V6, answer, reading, running, saying

#: IANA's special-purpose networks, and what clouds keep their secrets at
V4 = {
    "this network": "0.0.0.0/8",
    "private A": "10.0.0.0/8",
    "carrier": "100.64.0.0/10",
    "loopback": "127.0.0.0/8",
    "link-local": "169.254.0.0/16",
    "metadata": "169.254.169.254/32",
    "metadata of Alibaba": "100.100.100.200/32",
    "private B": "172.16.0.0/12",
    "protocol assignments": "192.0.0.0/24",
    "documentation 1": "192.0.2.0/24",
    "6to4 relays": "192.88.99.0/24",
    "private C": "192.168.0.0/16",
    "benchmarks": "198.18.0.0/15",
    "documentation 2": "198.51.100.0/24",
    "documentation 3": "203.0.113.0/24",
    "multicast": "224.0.0.0/4",
    "reserved": "240.0.0.0/4",
    "broadcast": "255.255.255.255/32",
}
V6 = {
    "unspecified": "::/128",
    "loopback": "::1/128",
    "local NAT64": "64:ff9b:1::/48",
    "discard": "100::/64",
    "Teredo": "2001::/32",
    "benchmarks": "2001:2::/48",
    "ORCHID": "2001:20::/28",
    "documentation": "2001:db8::/32",
    "documentation 2": "3fff::/20",
    "segment routing": "5f00::/16",
    "unique local": "fc00::/7",
    "metadata": "fd00:ec2::254/128",
    "link-local": "fe80::/10",
    "site-local": "fec0::/10",
    "multicast": "ff00::/8",
}


def parts(address: int, count: int) -> list[int]:
    """An IPv4 address as one to four numbers, of which the last takes what is left."""
    leading = [address >> shift & 255 for shift in (24, 16, 8)][: count - 1]
    return [*leading, address & (1 << 8 * (5 - count)) - 1]


def wide(text: str) -> str:
    return text.translate({code: code + 0xFEE0 for code in range(0x21, 0x7F)})


def circled(text: str) -> str:
    return text.translate({ord("0"): "⓪"} | {ord("1") + n: chr(0x2460 + n) for n in range(9)})


def in_v6(prefix: int, shift: int = 0) -> Callable[[int], str]:
    return lambda address: f"[{ipaddress.IPv6Address(prefix | address << shift)}]"


#: every way to write an IPv4 address into a URL that some resolver, browser or library takes
SPELLINGS: dict[str, Callable[[int], str]] = {
    "dotted": lambda a: ".".join(map(str, parts(a, 4))),
    "root dot": lambda a: ".".join(map(str, parts(a, 4))) + ".",
    "one number": str,
    "two numbers": lambda a: ".".join(map(str, parts(a, 2))),
    "three numbers": lambda a: ".".join(map(str, parts(a, 3))),
    "hex": hex,
    "hex upper": lambda a: f"0X{a:08X}",
    "dotted hex": lambda a: ".".join(map(hex, parts(a, 4))),
    "octal": lambda a: f"0{a:o}",
    "dotted octal, padded": lambda a: ".".join(f"000{n:o}" for n in parts(a, 4)),
    "mixed": lambda a: "{:#x}.0{:o}.{}.{}".format(*parts(a, 4)),
    "full width": lambda a: wide(".".join(map(str, parts(a, 4)))),
    "ideographic dots": lambda a: "。".join(map(str, parts(a, 4))),
    "circled": lambda a: circled(".".join(map(str, parts(a, 4)))),
    "escaped": lambda a: "".join(f"%{ord(char):02x}" for char in ".".join(map(str, parts(a, 4)))),
    "soft hyphens": lambda a: "\u00ad".join(".".join(map(str, parts(a, 4)))),
    "mapped": in_v6(0xFFFF << 32),
    "mapped, dotted": lambda a: f"[::ffff:{ipaddress.IPv4Address(a)}]",
    "mapped, whole": lambda a: f"[{ipaddress.IPv6Address(0xFFFF << 32 | a).exploded.upper()}]",
    "compatible": in_v6(0),
    "translated": in_v6(0xFFFF << 48),
    "NAT64": in_v6(0x64FF9B << 96),
    "NAT64, local": in_v6(0x64FF9B0001 << 80),
    "6to4": in_v6(0x2002 << 112, 80),
    "Teredo": lambda a: f"[{ipaddress.IPv6Address(0x20010000 << 96 | a ^ 0xFFFFFFFF)}]",
}
many = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


def v4_in(network: str) -> st.SearchStrategy[int]:
    places = ipaddress.IPv4Network(network)
    return st.sampled_from([places[0], places[-1]]).map(int) | st.integers(int(places[0]), int(places[-1]))


def refused(url: str) -> bool:
    try:
        check_url(url)
    except (NotPublicError, FetchError):
        return True
    return False


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("network", V4)
@many
@given(data=st.data())
def test_no_spelling_of_a_private_address_is_let_through(network: str, spelling: str, data: st.DataObject) -> None:
    host = SPELLINGS[spelling](data.draw(v4_in(V4[network])))
    assert refused(f"http://{host}/"), host
    assert refused(f"https://{host}:443/x?y"), host


@pytest.mark.parametrize("network", V6)
@many
@given(data=st.data())
def test_no_private_v6_is_let_through_as_a_host_or_an_answer(network: str, data: st.DataObject) -> None:
    places = ipaddress.IPv6Network(V6[network])
    found = ipaddress.IPv6Address(data.draw(st.integers(int(places[0]), int(places[-1]))))
    for host in (f"[{found}]", f"[{found.exploded}]", f"[{found}%25eth0]", f"[{found}%1]"):
        assert refused(f"http://{host}/"), host
    for answered in (str(found), f"{found}%2"):
        with pytest.raises(NotPublicError):
            check_addresses("www.example.org", [PUBLIC, answered])


@pytest.mark.parametrize("network", V4)
@many
@given(data=st.data())
def test_no_private_answer_of_a_resolver_is_let_through(network: str, data: st.DataObject) -> None:
    address = data.draw(v4_in(V4[network]))
    dotted = str(ipaddress.IPv4Address(address))
    carried = [SPELLINGS[name](address)[1:-1] for name in ("mapped", "compatible", "NAT64", "NAT64, local", "6to4")]
    for answered in (dotted, *carried, f"::ffff:{dotted}"):
        with pytest.raises(NotPublicError):
            check_addresses("www.example.org", [PUBLIC_V6, answered, PUBLIC])


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST", "localhost.", "a.localhost", "x.local", "printer", "host.internal", "router.home.arpa",
     "metadata.google.internal", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "local\u200bhost", "%6c%6f%63alhost", "localhost。", "ｌocalhost"],
)  # fmt: skip
def test_names_of_this_machine_and_network_are_not_asked_for(host: str) -> None:
    assert refused(f"http://{host}/")


@pytest.mark.parametrize(
    "host",
    [PUBLIC, f"[{PUBLIC_V6}]", "www.example.org", "1.1.1.1", "bücher.example", "xn--bcher-kva.example", "8.8.8.8."],
)
def test_what_is_public_is_not_refused(host: str) -> None:
    check_url(f"https://{host}/")


def test_a_public_address_through_nat64_is_public() -> None:
    check_addresses("www.example.org", [SPELLINGS["NAT64"](int(ipaddress.IPv4Address(PUBLIC)))[1:-1]])


#: what makes URLs that are read in two ways
_AWKWARD = st.lists(
    st.sampled_from(
        ["http", "https", ":", "//", "/", "\\", "@", "?", "#", "[", "]", "::1", "127.0.0.1", "10.0.0.1", "example.org",
         "www.example.org", ":80", ":443", ".", "%", "%2f", "%40", "%00", "\t", "\n", "\r", " ", "\u3000", "。", "０",
         "ⓐ", "\u00ad", "user", ":pw", ";", "&", "=", "ftp", "0x7f", "1", "𝟙", "\u202e", "\ufeff"]
    ),
    max_size=9,
).map("".join)  # fmt: skip


@settings(max_examples=1500, deadline=None)
@given(_AWKWARD | st.text(max_size=20).map(lambda text: f"http://{text}/"), st.booleans())
def test_the_host_that_is_checked_is_the_host_that_is_called(text: str, whole: bool) -> None:
    """Two parsers look at a URL: the check's, and the one that says where to connect."""
    url = text if whole else f"http://{text}"
    if check_public_url(url) is not None:
        return
    try:
        place = _parsed(url)
    except FetchError:  # the stricter of the two refuses: nobody is called
        return
    host = place.host.decode()
    assert check_public_url(f"http://{f'[{host}]' if ':' in host else host}/") is None
    assert b"@" not in place.host
    assert place.target.isascii()
    assert not set(place.target) & set(b"\r\n \t\0")


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "localhost", "169.254.169.254"])
@pytest.mark.parametrize("rest", ["", ":80", ":443", "/x", ":PORT/"])
async def test_nobody_is_dialled_for_a_private_address(monkeypatch: pytest.MonkeyPatch, host: str, rest: str) -> None:
    async with running(saying(answer(b"inside"))) as site, reading(monkeypatch, site) as reader:
        fault = await reader.fault(f"http://{host}{rest.replace('PORT', str(site.port))}")
        assert fault.kind == "private_address"
        assert "private or local" in fault.message
        assert "public network" in fault.message
        assert (reader.net.asked, reader.net.dialled, site.taken) == ([], [], 0)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("port", [0, 1, 22, 25, 81, 442, 444, 3306, 8080, 8443, 65535])
async def test_nobody_is_dialled_on_another_port(monkeypatch: pytest.MonkeyPatch, scheme: str, port: int) -> None:
    async with running(saying(answer(b"x"))) as site, reading(monkeypatch, site) as reader:
        for host in ("www.example.org", PUBLIC, f"[{PUBLIC_V6}]"):
            fault = await reader.fault(f"{scheme}://{host}:{port}/")
            assert fault.kind == "private_address"
            assert f"port {port} " in fault.message
            assert "80, 443" in fault.message
        assert (reader.net.asked, reader.net.dialled) == ([], [])


@pytest.mark.parametrize(
    "url",
    ["http://user@www.example.org/", "http://user:pw@www.example.org/", "http://@www.example.org/", "ftp://www.example.org/",
     "file:///etc/passwd", "//www.example.org/", "http:///x", "http://", "www.example.org", "gopher://www.example.org/",
     "http://www.example.org/\r\nx-mine: y", "http://www.example.org\r\n/", "http://www.example.org/\t", "http://www.ex\nample.org/",
     "http://www.example.org/\x00", "http://www.example.org/\x85", "http://www.example.org/\u2028", "http://www.example.org:65536/",
     "http://www.example.org:-1/", "http://www.example.org:٨٠/", "http://www.example.org\\@10.0.0.1/", "http://[::1/", "http://1.2.3.4.5/",
     "http://a..example.org/", "http://.example.org/", "http://www.exa mple.org/", "javascript:alert(1)", "http:www.example.org"],
)  # fmt: skip
async def test_what_is_no_url_to_read_is_told_and_nobody_is_dialled(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    async with running(saying(answer(b"x"))) as site, reading(monkeypatch, site) as reader:
        fault = await reader.fault(url)
        assert fault.kind == "network_or_cors"
        assert "http and https" in fault.message
        assert (reader.net.asked, reader.net.dialled, site.taken) == ([], [], 0)
