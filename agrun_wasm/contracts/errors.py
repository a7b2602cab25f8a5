"""Errors: those raised because the host misused the API, and the table of those that end a run as values.

Rules: document 2, 2.5. Nothing here knows of a provider, an action or a loop.
"""

from __future__ import annotations

from typing import Any, ClassVar

from agrun_wasm.contracts.base import Contract

#: code -> retryable, for every error that a failed run can carry (2.5).
RUN_ERRORS: dict[str, bool] = {
    "PLANNER_OUTPUT_INVALID": False,
    "HANDOFF_CYCLE": False,
    "CITATIONS_BLOCKED": False,
    "PROVIDER_AUTH": False,
    "PROVIDER_TIMEOUT": True,
    "PROVIDER_RATE_LIMITED": True,
    "PROVIDER_UNAVAILABLE": True,
    "CONTEXT_OVERFLOW": False,
    "PROVIDER_BAD_RESPONSE": False,
    "NETWORK_OR_CORS": True,
    "CONTENT_FILTERED": False,
    "INTERNAL": False,
}


class ErrorInfo(Contract):
    """The `error` of a failed run: a stable code, words for a person, and what to do."""

    code: str
    message: str
    retryable: bool = False
    hint: str = ""
    details: dict[str, Any] = {}


class AgrunError(Exception):
    """The host misused the API or gave a bad state. `code` is stable; `message` says what, where and what to do."""

    code: ClassVar[str] = "AGRUN_ERROR"

    def __init__(self, message: str, *, hint: str = "", details: dict[str, Any] | None = None) -> None:
        super().__init__(f"{message}\n{hint}" if hint else message)
        self.message = message
        self.hint = hint
        self.details = details or {}

    def info(self) -> ErrorInfo:
        return ErrorInfo(code=self.code, message=self.message, hint=self.hint, details=self.details)


class ConfigInvalid(AgrunError):
    """A config, an action, a skill or a run's input is not valid."""

    code = "CONFIG_INVALID"


class CompositionInvalid(AgrunError):
    """Plugins, capabilities and host parts do not fit together; every conflict is listed."""

    code = "COMPOSITION_INVALID"


class ApprovalInvalid(AgrunError):
    """An approval cannot be used. `details.reason`: unknown, used, expired, args_changed or wrong_run."""

    code = "APPROVAL_INVALID"

    def __init__(self, message: str, *, reason: str, hint: str = "") -> None:
        super().__init__(message, hint=hint, details={"reason": reason})
        self.reason = reason


class StateInvalid(AgrunError):
    """A state handed in is not one of ours."""

    code = "STATE_INVALID"


class StateConflict(StateInvalid):
    """Somebody else has moved this run (or session) on in the store since it was read. `details.reason`: conflict."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint, details={"reason": "conflict"})


class StateVersionUnsupported(AgrunError):
    """A state was written by a newer version than this one can read."""

    code = "STATE_VERSION_UNSUPPORTED"


class SessionBusy(AgrunError):
    """A session opened with `busy="refuse"` already has a run."""

    code = "SESSION_BUSY"


class ProviderError(Exception):
    """A model call failed. Raised by providers only; the runtime turns it into the run's `error`.

    `code` is one of RUN_ERRORS. `retry_after_ms` is what the server asked for (None: it said nothing, which is not 0).
    `partial_text` is what had been streamed. `protocol_failure` marks a 400, 404 or 422 whose body names tools or
    functions: the one kind of failure that lets the planner fall back to envelope mode (2.3).
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        retry_after_ms: float | None = None,
        partial_text: str = "",
        protocol_failure: bool = False,
        hint: str = "",
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.retry_after_ms = retry_after_ms
        self.partial_text = partial_text
        self.protocol_failure = protocol_failure
        self.hint = hint
        self.details = details or {}

    @property
    def retryable(self) -> bool:
        return RUN_ERRORS.get(self.code, False)

    def info(self) -> ErrorInfo:
        details = dict(self.details)
        if self.status is not None:
            details["status"] = self.status
        return ErrorInfo(
            code=self.code, message=self.message, retryable=self.retryable, hint=self.hint, details=details
        )
