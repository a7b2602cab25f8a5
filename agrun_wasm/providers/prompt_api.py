"""The browser's own model: a neutral request as prompts of the W3C Prompt API, its pieces as model events.

Owned here: the dialect (roles, images, the constraint, settings) and what each of the browser's errors means. Must not
know: LanguageModel itself, sessions and downloads. Those are the page's, reached through the port.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar, Protocol

from agrun_wasm.contracts.errors import ConfigInvalid, ProviderError
from agrun_wasm.contracts.model import Finished, Message, ModelEvent, ModelRequest, TextDelta, TokenUsage
from agrun_wasm.contracts.naming import did_you_mean
from agrun_wasm.providers.errors import bad_response
from agrun_wasm.providers.turns import Turn, turns

__all__ = ["SETTINGS", "PromptApi", "PromptFault", "PromptPort", "prompt_call"]

NAME = "prompt-api"
#: what `provider.settings` may hold: options of LanguageModel.create
SETTINGS = ("expectedInputs", "expectedOutputs", "samplingMode", "temperature", "topK")

_TOO_LONG = "Shorten the input, lower contextBudget.maxChars, or use a provider with a larger context."
_LATER = "Try again; if it stays so, restart the browser or choose another provider."
#: name of the browser's error -> our code, and what a person can do
FAULTS: dict[str, tuple[str, str]] = {
    "AbortError": ("PROVIDER_UNAVAILABLE", _LATER),
    "InvalidStateError": ("PROVIDER_UNAVAILABLE", "The page or the session has been closed; start the run again."),
    "NetworkError": ("NETWORK_OR_CORS", "The model could not be downloaded: check the connection and the free space."),
    "NotAllowedError": (
        "PROVIDER_UNAVAILABLE",
        (
            "A download of the model begins only in answer to a click (`prepareModel()`), and only where the browser's "
            "settings and the page's permissions policy (language-model) allow it."
        ),
    ),
    "NotReadableError": ("CONTENT_FILTERED", "The browser has withheld what its model wrote; ask in another way."),
    "NotSupportedError": (
        "PROVIDER_BAD_RESPONSE",
        "The browser's model supports fewer languages, kinds of input and schemas than others; see provider.settings.",
    ),
    "OperationError": ("PROVIDER_UNAVAILABLE", _LATER),
    "QuotaExceededError": ("CONTEXT_OVERFLOW", _TOO_LONG),
    "SyntaxError": ("PROVIDER_BAD_RESPONSE", "Check provider.settings."),
    "TimeoutError": ("PROVIDER_TIMEOUT", "Try again, or raise provider.timeoutMs."),
    "TypeError": ("PROVIDER_BAD_RESPONSE", "Check provider.settings."),
    "UnknownError": ("PROVIDER_UNAVAILABLE", _LATER),
}


class PromptFault(Exception):
    """The page's model failed. `name` is the DOMException's (or the error's), `details` what it counted in tokens."""

    def __init__(self, name: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.name = name
        self.details = dict(details or {})


class PromptPort(Protocol):
    """The page's part: one call, in a session of its own that ends with the iteration."""

    def stream(self, call: Mapping[str, Any]) -> AsyncIterator[Any]:
        """`call` is `prompt_call`'s. Gives `{"text"}` for each piece, then one `{"done": true, "inputTokens",
        "outputTokens", "truncated"}` with None for what the browser did not count. Raises PromptFault."""
        ...


class PromptApi:
    """The transport named "prompt-api". Raises ConfigInvalid for settings that the API does not know."""

    native_tools: ClassVar[bool] = False

    def __init__(self, port: PromptPort, settings: Mapping[str, Any] | None = None) -> None:
        for key in settings or {}:
            if key not in SETTINGS:
                raise ConfigInvalid(
                    f"config: provider {NAME!r} has no setting {key!r}{did_you_mean(key, SETTINGS)}",
                    hint=f"It takes {', '.join(SETTINGS)}, as LanguageModel.create does.",
                )
        self._port = port

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The events of one call. Raises ProviderError."""
        if request.tools:
            raise ProviderError(
                "PROVIDER_BAD_RESPONSE",
                f"{NAME}: the browser's model has no native tools",
                protocol_failure=True,
                hint='Use plannerMode "auto" or "envelope".',
            )
        pieces = self._port.stream(prompt_call(request))
        try:
            async for piece in pieces:
                event = _event(piece)
                yield event
                if isinstance(event, Finished):
                    return
            raise bad_response(f"{NAME}: the stream ended without its end mark")
        except PromptFault as fault:
            raise _told(fault) from None
        finally:
            close = getattr(pieces, "aclose", None)
            if close is not None:
                await close()


def prompt_call(request: ModelRequest) -> dict[str, Any]:
    """JSON for the page: `system`, `prompts` (LanguageModelMessage, an image's value as its URL), `responseConstraint`
    or None, and `options` of create. The conversation's other half speaks last."""
    prompts = [prompt for turn in turns(request.messages) if (prompt := _prompt(turn))]
    return {
        "system": request.system,
        "prompts": prompts,
        "responseConstraint": request.response_schema,
        "options": _options(request, prompts),
    }


def _options(request: ModelRequest, prompts: list[dict[str, Any]]) -> dict[str, Any]:
    options = dict(request.settings)
    images = any(isinstance(prompt["content"], list) for prompt in prompts)
    expected = [*options.get("expectedInputs", [])]
    if images and all(kind.get("type") != "image" for kind in expected):
        options["expectedInputs"] = [*expected, {"type": "image"}]
    return options


def _prompt(turn: Turn) -> dict[str, Any] | None:
    """One message of the API for a turn; it knows no results, so they are told as text."""
    messages = [message for _, message in (*turn.results, *turn.others)]
    text = "\n\n".join(words for message in messages if (words := _words(message)))
    images = [{"type": "image", "value": image.url} for message in messages for image in message.images]
    if turn.by_model:
        return {"role": "assistant", "content": text} if text else None
    if images:
        return {"role": "user", "content": [*([{"type": "text", "value": text}] if text else []), *images]}
    return {"role": "user", "content": text} if text else None


def _words(message: Message) -> str:
    if message.role == "tool":
        return f"Result of {message.tool_name}{' (failed)' if message.is_error else ''}:\n{message.text}"
    calls = [f"Called {call.name} with {call.args_text or '{}'}" for call in message.tool_calls]
    return "\n".join(part for part in (message.text, *calls) if part)


def _event(piece: Any) -> ModelEvent:
    if isinstance(piece, Mapping):
        if piece.get("done") is True:
            usage = TokenUsage(input_tokens=_count(piece, "inputTokens"), output_tokens=_count(piece, "outputTokens"))
            return Finished("length" if piece.get("truncated") else "stop", usage)
        if isinstance(piece.get("text"), str):
            return TextDelta(piece["text"])
    raise bad_response(f"{NAME}: the page gave a piece that is neither text nor the end")


def _count(piece: Mapping[str, Any], key: str) -> int | None:
    value = piece.get(key)
    return round(value) if isinstance(value, int | float) and value >= 0 else None


def _told(fault: PromptFault) -> ProviderError:
    code, hint = FAULTS.get(fault.name, ("PROVIDER_BAD_RESPONSE", _LATER))
    said = f"{NAME}: {fault}" if str(fault) else f"{NAME}: {fault.name}"
    numbers = {key: fault.details[key] for key in ("requested", "quota") if fault.details.get(key) is not None}
    if code == "CONTEXT_OVERFLOW" and len(numbers) == 2:
        said = f"{NAME}: the request takes {numbers['requested']} tokens of a context of {numbers['quota']}"
    return ProviderError(code, said, hint=str(fault.details.get("hint") or hint), details=numbers)
