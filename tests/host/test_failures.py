"""What a person reads when a call fails: plain words, said once, without the names of exception classes."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import ssl
import subprocess
from pathlib import Path

import httpcore2
import pytest

from agrun_host.failures import failure_of
from agrun_wasm import RunResult
from tests.fakes.providers import FakeProviders
from tests.host.kit import counting, fetching, get, refused

NAMES = re.compile(r"\w*(Error|Exception|gaierror|Errno)\b|_ssl\.c|\[|\(")

URL = "https://api.example/v1?key=sk-secret"
EXPIRED = ssl.SSLCertVerificationError(1, "certificate verify failed")
EXPIRED.verify_message = "certificate has expired"
WRAPPED = httpcore2.ConnectError("sk-secret")
WRAPPED.__cause__ = ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 9)")

WORDS = [
    (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed"), "connection refused"),
    (ConnectionResetError(errno.ECONNRESET, "reset by peer"), "the connection was reset"),
    (BrokenPipeError(errno.EPIPE, "Broken pipe"), "the connection was reset"),
    (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "the name api.example cannot be resolved"),
    (OSError(errno.EHOSTUNREACH, "No route"), "there is no route to the host"),
    (OSError(errno.ENETUNREACH, "unreachable"), "the network cannot be reached"),
    (OSError(errno.EMFILE, "Too many open files"), "this process has too many open connections"),
    (OSError(errno.EACCES, "Permission denied"), "permission denied"),
    (OSError("nobody knows"), "the connection failed"),
    (EXPIRED, "the server's certificate is not accepted: certificate has expired"),
    (
        ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)"),
        "the TLS connection failed; does the server speak https on this port?",
    ),
    (WRAPPED, "connection refused"),
    (
        httpcore2.RemoteProtocolError("Server disconnected without sending a response."),
        "the server closed the connection too early",
    ),
    (
        httpcore2.RemoteProtocolError("peer closed connection without sending complete message body"),
        "the server closed the connection too early",
    ),
    (httpcore2.RemoteProtocolError("illegal status line: sk-secret"), "the answer is no valid HTTP"),
    (httpcore2.ProxyError("407 Proxy Authentication Required"), "the proxy answered 407 Proxy Authentication Required"),
    (
        httpcore2.LocalProtocolError("Illegal header value b'sk-secret\\n'"),
        "the request cannot be sent: its URL or a header holds characters that HTTP does not allow",
    ),
    (RuntimeError("sk-secret"), "the connection failed"),
]


@pytest.mark.parametrize(("fault", "words"), WORDS, ids=lambda part: type(part).__name__)
def test_the_words_of_a_failure(fault: Exception, words: str) -> None:
    failure = failure_of(fault, URL)
    assert (failure.kind, failure.message, failure.url) == ("network_or_cors", words, URL)
    assert not NAMES.search(words)
    assert "secret" not in words


@pytest.mark.parametrize("fault", [TimeoutError(), TimeoutError(errno.ETIMEDOUT, "x"), httpcore2.ReadTimeout()])
def test_time_that_is_over_is_a_kind_of_its_own(fault: Exception) -> None:
    failure = failure_of(fault, URL)
    assert (failure.kind, failure.message) == ("timeout", "no answer came in time")


async def test_a_request_that_is_none_is_not_called_aborted() -> None:
    async with counting(lambda writer, number: None) as server, fetching() as fetch:
        fault = await refused(fetch, get(server.url, headers={"authorization": "sk-secret\r\nx: y"}))
        assert fault.kind != "aborted"
        assert "header" in fault.message
        assert "secret" not in fault.message


async def test_a_redirect_to_a_name_that_is_none_says_which() -> None:
    def away(writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(b"HTTP/1.1 302 Found\r\nlocation: http://no-such-host.invalid/\r\ncontent-length: 0\r\n\r\n")

    async with counting(away) as server, fetching() as fetch:
        fault = await refused(fetch, get(server.url))
        assert fault.message == "the name no-such-host.invalid cannot be resolved"


@pytest.mark.parametrize("place", ["http://[::1/", "mailto:a@b.example"])
async def test_a_redirect_to_what_is_no_url_says_so(place: str) -> None:
    def away(writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(f"HTTP/1.1 302 Found\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n".encode())

    async with counting(away) as server, fetching() as fetch:
        fault = await refused(fetch, get(server.url))
        assert (fault.kind, "no http(s) URL" in fault.message) == ("network_or_cors", True)


async def run_at(base_url: str) -> RunResult:
    from agrun_host import Runtime

    provider = {"name": "openai-compatible", "model": "m", "baseUrl": base_url, "retry": {"maxRetries": 0}}
    async with Runtime(provider=provider) as runtime:
        return await runtime.run("hi")


async def test_what_a_person_reads_names_the_host_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = (await run_at(f"http://127.0.0.1:{port}")).error
    assert error is not None
    assert error.message.endswith("no response from 127.0.0.1: connection refused")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"text": "Hello there.", "cutAfter": 30}, "the server closed the connection too early"),
        ({"raw": ["data: {}\n\n"], "cutAfter": 0}, "the server closed the connection too early"),
    ],
)
async def test_a_reply_that_breaks_off_in_plain_words(reply: dict[str, object], words: str) -> None:
    async with FakeProviders([reply]) as server:
        error = (await run_at(server.url)).error
    assert error is not None
    assert words in error.message
    assert not re.search(r"Error\b|Errno", error.message)


@pytest.fixture
def own_certificate(tmp_path: Path) -> ssl.SSLContext:
    """What a server shows whose certificate nobody has signed."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"),
            *("-keyout", key, "-out", certificate),
        ],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("openssl made no certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


async def test_a_certificate_that_nobody_signed(own_certificate: ssl.SSLContext) -> None:
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0, ssl=own_certificate)
    async with fetching() as fetch:
        fault = await refused(fetch, get(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"))
        assert fault.message.startswith("the server's certificate is not accepted: self")
        assert not NAMES.search(fault.message)
    server.close()


async def test_https_asked_of_a_server_that_speaks_http() -> None:
    def answer(writer: asyncio.StreamWriter, number: int) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(16)
        answer(writer, 1)
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with fetching() as fetch:
        fault = await refused(fetch, get(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"))
        assert fault.message == "the TLS connection failed; does the server speak https on this port?"
    server.close()
