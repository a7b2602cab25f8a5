"""What goes wrong on the wire: its kind in the fetch port's words, and a sentence that a person can act on.

Owned here: the wording. Header values stand in some messages of the engine and never in ours; neither do the names of
exception classes. Must not know: when a call is made and what for.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import ssl
from urllib.parse import urlsplit

import httpcore2

from agrun_wasm.contracts.ports import FetchError

__all__ = ["failure_of"]

#: the first that fits; a class stands for the error numbers of every platform
_BY_CLASS: tuple[tuple[type[OSError], str], ...] = (
    (ConnectionRefusedError, "connection refused"),
    (ConnectionError, "the connection was reset"),
    (ssl.SSLError, "the TLS connection failed; does the server speak https on this port?"),
)
_BY_NUMBER = {
    errno.ECONNREFUSED: "connection refused",
    errno.ECONNRESET: "the connection was reset",
    errno.EHOSTUNREACH: "there is no route to the host",
    errno.ENETUNREACH: "the network cannot be reached",
    errno.EMFILE: "this process has too many open connections",
}
#: the engine's own word for one head that does not end, and ours for any number of them
_HEAD_TOO_LARGE = re.compile(r"receive buffer too long|head does not end", re.IGNORECASE)
_CLOSED_EARLY = re.compile(r"disconnected without|incomplete|peer closed", re.IGNORECASE)


def failure_of(fault: Exception, url: str) -> FetchError:
    """Why there is no (more) response, for whatever the engine, the network or the machine raised."""
    cause = fault.__cause__ if isinstance(fault, httpcore2.NetworkError) else None
    if isinstance(cause, Exception):
        return failure_of(cause, url)
    if isinstance(fault, (TimeoutError, httpcore2.TimeoutException)):
        return FetchError("timeout", "no answer came in time", url=url)
    if isinstance(fault, OSError):
        return FetchError("network_or_cors", _words(fault, url), url=url)
    if isinstance(fault, httpcore2.RemoteProtocolError):
        if _HEAD_TOO_LARGE.search(str(fault)):
            return FetchError("network_or_cors", "the head of the answer is too large", url=url)
        closed = _CLOSED_EARLY.search(str(fault)) is not None
        said = "the server closed the connection too early" if closed else "the answer is no valid HTTP"
        return FetchError("network_or_cors", said, url=url)
    if isinstance(fault, httpcore2.ProxyError):
        return FetchError("network_or_cors", f"the proxy answered {fault}", url=url)
    if isinstance(fault, (httpcore2.LocalProtocolError, ValueError)):
        said = "the request cannot be sent: its URL or a header holds characters that HTTP does not allow"
        return FetchError("network_or_cors", said, url=url)
    return FetchError("network_or_cors", "the connection failed", url=url)


def _words(fault: OSError, url: str) -> str:
    if isinstance(fault, socket.gaierror):
        return f"the name {urlsplit(url).hostname} cannot be resolved"
    if isinstance(fault, ssl.SSLCertVerificationError):
        why = fault.verify_message.rstrip(".")
        return f"the server's certificate is not accepted: {why[:1].lower()}{why[1:]}"
    for class_, words in _BY_CLASS:
        if isinstance(fault, class_):
            return words
    known = _BY_NUMBER.get(fault.errno or 0)
    return known or (os.strerror(fault.errno).lower() if fault.errno else "the connection failed")
