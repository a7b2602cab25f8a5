"""Errors as a client is told them: one shape, the core's codes, never a trace and never a key."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from agrun_host.runs import NoSuchRun
from agrun_wasm.contracts.errors import AgrunError, ErrorInfo

__all__ = ["Refused", "answer_for", "problem"]

#: code -> status; other codes of AgrunError are the server's own trouble
STATUS = {
    "CONFIG_INVALID": 400,
    "COMPOSITION_INVALID": 500,
    "STATE_INVALID": 409,
    "STATE_VERSION_UNSUPPORTED": 409,
    "STATE_CONFLICT": 409,
    "APPROVAL_INVALID": 409,
    "SESSION_BUSY": 409,
    "RUN_ID_TAKEN": 422,
    "DATABASE_UNAVAILABLE": 503,
}


class Refused(Exception):
    """A request that is not taken up. `code` and `message` are told; `headers` go with them."""

    def __init__(
        self, status: int, code: str, message: str, *, hint: str = "", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
        self.info = ErrorInfo(code=code, message=message, hint=hint, retryable=status in (408, 429, 503))

    def response(self) -> Response:
        return problem(self.status, self.info, self.headers)


def problem(status: int, info: ErrorInfo, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": info.to_json()}, status, headers)


async def answer_for(_request: Request, error: Exception) -> Response:
    """The answer to what an endpoint refuses; everything else is a fault, which the guard answers."""
    if isinstance(error, Refused):
        return error.response()
    if isinstance(error, NoSuchRun):
        return _not_found("there is no run of this id")
    if isinstance(error, AgrunError):
        return problem(STATUS.get(error.code, 500), error.info())
    raise error


async def not_found(_request: Request, _error: Any) -> Response:
    return _not_found("there is nothing at this path")


async def method_not_allowed(_request: Request, error: Any) -> Response:
    info = ErrorInfo(code="METHOD_NOT_ALLOWED", message="this path takes other methods", hint="See /openapi.json.")
    return problem(405, info, dict(error.headers or {}))


def _not_found(message: str) -> Response:
    return problem(404, ErrorInfo(code="NOT_FOUND", message=message))
