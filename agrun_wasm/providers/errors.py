"""What a failed model call means: status, kind or silence to an error code. Rules: document 2, 2.5 and "Falling back".

Owned here: the tables and the words for a person. Must not know: the shapes of bodies (`error_body`), the dialects'
streams, and how often a call is tried (`retry`). No key comes here; `http_provider` redacts what servers echo.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from agrun_wasm.contracts.errors import ProviderError
from agrun_wasm.contracts.ports import FetchError
from agrun_wasm.providers.error_body import ErrorBody, read_payload, read_text
from agrun_wasm.providers.retry_after import retry_after_ms

__all__ = [
    "CONTEXT_KINDS",
    "HINTS",
    "KIND_STATUS",
    "STATUS_CODES",
    "bad_response",
    "code_of_status",
    "fetch_error",
    "http_error",
    "inner_error",
    "names_tools",
]

#: statuses with a code of their own; any 5xx is PROVIDER_UNAVAILABLE, the rest PROVIDER_BAD_RESPONSE
STATUS_CODES: dict[int, str] = {
    401: "PROVIDER_AUTH",
    403: "PROVIDER_AUTH",
    408: "PROVIDER_TIMEOUT",
    413: "CONTEXT_OVERFLOW",
    429: "PROVIDER_RATE_LIMITED",
}

#: the kinds providers name an error by, and the status their documents give it. Keys are in letters and digits only,
#: lower case, without a last "error" or "exception": rate_limit_error and RateLimitError are both "ratelimit".
KIND_STATUS: dict[str, int] = {
    "badrequest": 400,
    "failedprecondition": 400,
    "invalidargument": 400,
    "invalidprompt": 400,
    "invalidrequest": 400,
    "outofrange": 400,
    "unsupportedparameter": 400,
    "unsupportedvalue": 400,
    "apikeyinvalid": 401,
    "authentication": 401,
    "invalidapikey": 401,
    "unauthenticated": 401,
    "unauthorized": 401,
    "billing": 402,
    "forbidden": 403,
    "permission": 403,
    "permissiondenied": 403,
    "modelnotfound": 404,
    "notfound": 404,
    # what says that time was over, whatever status its API gives it, is a timeout (2.5)
    "deadlineexceeded": 408,
    "requesttimeout": 408,
    "timedout": 408,
    "timeout": 408,
    "aborted": 409,
    "conflict": 409,
    "requesttoolarge": 413,
    "unprocessableentity": 422,
    "insufficientquota": 429,
    "quotaexceeded": 429,
    "ratelimit": 429,
    "ratelimited": 429,
    "ratelimitexceeded": 429,
    "requests": 429,
    "resourceexhausted": 429,
    "throttling": 429,
    "tokens": 429,
    "toomanyrequests": 429,
    "api": 500,
    "dataloss": 500,
    "internal": 500,
    "internalserver": 500,
    "server": 500,
    "unimplemented": 501,
    "badgateway": 502,
    "engineoverloaded": 503,
    "serviceunavailable": 503,
    "unavailable": 503,
    "gatewaytimeout": 504,
    "overloaded": 529,
}

#: kinds, in the same spelling, that say that the request is longer than the model can read
CONTEXT_KINDS = frozenset(
    {
        "contextlength",
        "contextlengthexceeded",
        "contextoverflow",
        "contextwindowexceeded",
        "exceedcontextsize",
        "inputtoolong",
        "maxcontextlengthexceeded",
        "modelcontextwindowexceeded",
        "modelmaxprompttokensexceeded",
        "prompttoolong",
        "stringabovemaxlength",
    }
)

#: what a person can do about each code
HINTS: dict[str, str] = {
    "PROVIDER_AUTH": "Check provider.apiKey, and that it may use this model.",
    "PROVIDER_TIMEOUT": "Try again, or raise provider.timeoutMs.",
    "PROVIDER_RATE_LIMITED": "Wait and try again, or check the quota of this key.",
    "PROVIDER_UNAVAILABLE": "The provider has a fault of its own; try again later.",
    "CONTEXT_OVERFLOW": "Shorten the input, or lower contextBudget.maxChars.",
    "PROVIDER_BAD_RESPONSE": "Check provider.baseUrl, the model's name and provider.settings.",
    "NETWORK_OR_CORS": "Check the connection and provider.baseUrl.",
}

_FALLBACK_STATUS = frozenset({400, 404, 422})
#: "tool" or "function" as a word, or inside a name: tool_choice, functionCall, supportsTools; not in "functionality"
_TOOL_WORD = r"(?:(?<![A-Za-z])(?i:tool|function)|(?<=[a-z])(?:Tool|Function))(?i:s|[ _-]?call(?:s|ing)?)?(?![a-z])"


def http_error(status: int, headers: Mapping[str, str], body: str, *, now: float) -> ProviderError:
    """The error of a response that is no success. `now` is ms since the epoch, for dates in Retry-After."""
    if 300 <= status < 400:
        place = urlsplit(next((v for k, v in headers.items() if k.lower() == "location"), "")).hostname
        return bad_response(f"answered {status}, a redirect{f' to {place}' if place else ''}, which is not followed")
    read = read_text(body)
    waits = [wait for wait in (retry_after_ms(headers, now), read.retry_delay_ms) if wait is not None]
    return _error(status, read, f"answered {status}", max(waits) if waits else None)


def inner_error(payload: Any, headers: Mapping[str, str] | None = None, *, now: float = 0) -> ProviderError:
    """The error inside a 200 or its stream, by what it names (2.5). Where it names nothing: PROVIDER_BAD_RESPONSE."""
    read = read_payload(payload)
    status = read.number or next((KIND_STATUS[k] for k in map(_spelled, read.kinds) if k in KIND_STATUS), None)
    wait = read.retry_delay_ms
    if wait is None and headers:
        wait = retry_after_ms(headers, now)
    said = f"reported an error inside a 200{f', {read.number}' if read.number else ''}"
    return _error(status, read, said, wait)


def code_of_status(status: int | None, kinds: tuple[str, ...] = ()) -> str:
    """The error code of a status; `kinds` are the words the error names itself by."""
    refused = status is None or (400 <= status < 500 and status not in (401, 403))
    if refused and any(_spelled(kind) in CONTEXT_KINDS for kind in kinds):
        return "CONTEXT_OVERFLOW"
    if status is not None and status >= 500:
        return "PROVIDER_UNAVAILABLE"
    return STATUS_CODES.get(status or 0, "PROVIDER_BAD_RESPONSE")


def names_tools(words: str) -> bool:
    """Does the text of an error body name tools or functions?"""
    return re.search(_TOOL_WORD, words) is not None


def bad_response(message: str, *, partial_text: str = "") -> ProviderError:
    """A response that cannot be used."""
    return ProviderError(
        "PROVIDER_BAD_RESPONSE", message, partial_text=partial_text, hint=HINTS["PROVIDER_BAD_RESPONSE"]
    )


def fetch_error(failure: FetchError, *, url: str, platform: str, head_came: bool, timeout_ms: int) -> ProviderError:
    """The error of a call that the fetch port could not finish. `head_came`: the response had begun."""
    host = urlsplit(url).hostname or "the provider"
    if failure.kind == "timeout":
        what = "sent nothing more" if head_came else "did not answer"
        return ProviderError("PROVIDER_TIMEOUT", f"{what} for {timeout_ms} ms", hint=HINTS["PROVIDER_TIMEOUT"])
    if failure.kind == "network_or_cors" and not head_came:
        if platform == "browser" and not failure.relayed:
            return ProviderError(
                "NETWORK_OR_CORS", _CORS.format(host=host), hint=_LOCAL_HINT if _is_local(host) else _CORS_HINT
            )
        return ProviderError(
            "NETWORK_OR_CORS", f"no response from {host}: {failure.message}", hint=HINTS["NETWORK_OR_CORS"]
        )
    if failure.kind == "network_or_cors":
        return bad_response(f"the connection to {host} broke before the reply had ended: {failure.message}")
    return bad_response(f"no readable reply from {host} ({failure.kind}): {failure.message}")


_CORS_HINT = "Use a provider that allows calls from web pages, or set `proxyUrl` to a proxy (agrun_host serves one)."
_LOCAL_HINT = (
    "Is the server on this machine running? Then let it allow this page's origin, by its setting for allowed origins "
    "or CORS (for example OLLAMA_ORIGINS of Ollama, a switch of LM Studio), and start it anew."
)
_CORS = (
    "no response from {host}. The browser does not say why: the server may be unreachable, or it may not allow calls "
    "from this page (CORS). Two ways out: a provider that allows calls from web pages, or a proxy (`proxyUrl`, which "
    "agrun_host serves)"
)


def _is_local(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost") or host == "::1" or host.startswith("127.")


def _error(status: int | None, read: ErrorBody, said: str, wait: float | None) -> ProviderError:
    code = code_of_status(status, read.kinds)
    kinds = [kind for kind in dict.fromkeys(read.kinds) if kind not in read.message]
    message = said + (f" ({', '.join(kinds[:3])})" if kinds else "")
    return ProviderError(
        code,
        f"{message}: {read.message}" if read.message else message,
        status=status,
        retry_after_ms=wait,
        protocol_failure=code == "PROVIDER_BAD_RESPONSE" and status in _FALLBACK_STATUS and names_tools(read.words),
        hint=HINTS[code],
    )


def _spelled(kind: str) -> str:
    letters = "".join(char for char in kind.lower() if char.isascii() and char.isalnum())
    return letters.removesuffix("error").removesuffix("exception")
