"""hosts: spellings of one host, and what counts as private."""

import pytest

from agrun_wasm.text.hosts import is_private_host, normal_host

NORMAL: list[tuple[str, str | None]] = [
    ("Example.COM", "example.com"),
    ("example.com.", "example.com"),
    ("例え.jp", "xn--r8jz45g.jp"),
    ("xn--r8jz45g.JP", "xn--r8jz45g.jp"),
    ("MÜNCHEN.de", "xn--mnchen-3ya.de"),
    ("mu\u0308nchen.de", "xn--mnchen-3ya.de"),
    ("straße.de", "xn--strae-oqa.de"),
    ("ｅｘａｍｐｌｅ．com", "example.com"),
    ("exa\u00admple.com", "example.com"),
    ("a%2Ecom", "a.com"),
    ("1.2.3.4", "1.2.3.4"),
    ("0x01020304", "1.2.3.4"),
    ("16909060", "1.2.3.4"),
    ("1.2.772", "1.2.3.4"),
    ("01.0x2.3.04", "1.2.3.4"),
    ("１２７。０。０。１", "127.0.0.1"),
    ("[0:0::1]", "[::1]"),
    ("[2001:DB8::A]", "[2001:db8::a]"),
    ("[fe80::1%25eth0]", "[fe80::1%eth0]"),
    ("1.2.3.4.5", None),
    ("256.1.1.1", None),
    ("1.2.3.08", None),
    ("4294967296", None),
    ("a.0x", None),
    ("", None),
    (".", None),
    ("a..b", None),
    (".a", None),
    ("a b", None),
    ("a%00b", None),
    ("a%ff", None),
    ("a\u3000b", None),
    ("[::1", None),
    ("[::g]", None),
    ("[1.2.3.4]", None),
    ("a" * 300, None),
]


@pytest.mark.parametrize(("host", "normal"), NORMAL, ids=range(len(NORMAL)))
def test_normal_host(host: str, normal: str | None) -> None:
    assert normal_host(host) == normal
    if normal is not None:
        assert normal_host(normal) == normal


PRIVATE = [
    *("localhost", "LOCALHOST", "localhost.", "db.localhost", "printer.local", "metadata.google.internal.", "intranet"),
    *("router.home.arpa", "localhost.localdomain", "ｌｏｃａｌｈｏｓｔ", "loc\u200balhost", "ⓛocalhost", "%6cocalhost"),
    *("2130706433", "0x7f000001", "0x7F.1", "0177.0.0.1", "127.1", "127.255.255.254", "0", "0.0.0.0", "017700000001"),
    *("10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.4.20", "192.168.1028", "169.254.169.254"),
    *("169.254.169.254.",),
    *("100.64.0.1", "100.127.255.255", "192.0.0.8", "198.18.0.1", "192.0.2.1", "224.0.0.1", "240.0.0.1", "4294967295"),
    *("127。0。0。1", "①②⑦.0.0.1", "0xA9FEA9FE", "2852039166", "0251.0376.0251.0376"),
    *("[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]"),
    *("[::127.0.0.1]",),
    *("[64:ff9b::7f00:1]", "[64:ff9b::169.254.169.254]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2002:c0a8:101::1]"),
    *("[fe80::1]", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[febf::1]", "[fec0::1]", "[fc00::1]", "[fd12:3456::1]"),
    *("[ff02::1]",),
    *("[2001:db8::1]", "[2001::1]", "[100::1]", "[::ffff:0:127.0.0.1]", "[4000::1]"),
]

PUBLIC = [
    *("example.com", "localhost.example", "internal.example", "mylocalhost.com", "local.host.de", "xn--r8jz45g.jp"),
    *("93.184.216.34", "1.1.1.1", "172.32.0.1", "172.15.0.1", "100.63.0.1", "100.128.0.1", "11.0.0.1", "169.253.0.1"),
    *("223.255.255.1", "0x08080808", "134744072", "[2606:4700::1111]", "[::ffff:8.8.8.8]", "[64:ff9b::8.8.8.8]"),
    *("[2002:808:808::1]", "127.0.0.1.example.com", "0x7f.example", "10.example"),
]


@pytest.mark.parametrize(("host", "private"), [*((h, True) for h in PRIVATE), *((h, False) for h in PUBLIC)])
def test_is_private_host(host: str, private: bool) -> None:
    normal = normal_host(host)
    assert normal is not None
    assert is_private_host(normal) is private
