"""agrun_wasm: a general agent runtime whose one pure core runs in a browser, in a notebook and on a server."""

from agrun_wasm.actions.context import ActionContext
from agrun_wasm.actions.decorator import action
from agrun_wasm.actions.definition import Action
from agrun_wasm.contracts.config import RuntimeConfig
from agrun_wasm.contracts.errors import (
    AgrunError,
    ApprovalInvalid,
    CompositionInvalid,
    ConfigInvalid,
    ErrorInfo,
    ProviderError,
    SessionBusy,
    StateConflict,
    StateInvalid,
    StateVersionUnsupported,
)
from agrun_wasm.contracts.events import RunEvent
from agrun_wasm.contracts.model import (
    Finished,
    Message,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    TokenUsage,
    ToolArgsDelta,
    ToolCall,
    ToolCallDone,
    ToolSpec,
)
from agrun_wasm.contracts.ports import (
    Clock,
    Fetch,
    FetchError,
    FetchRequest,
    FetchResponse,
    Ids,
    Journal,
    ModelProvider,
    SearchProvider,
    SharedStore,
    SkillSource,
    Store,
)
from agrun_wasm.contracts.request import RunInput
from agrun_wasm.contracts.result import RunResult
from agrun_wasm.runtime.plugin import Plugin
from agrun_wasm.runtime.run import Run
from agrun_wasm.runtime.runtime import Runtime
from agrun_wasm.skills.skill import Skill
from agrun_wasm.skills.tools import skill_tool

__all__ = [
    "Action",
    "ActionContext",
    "AgrunError",
    "ApprovalInvalid",
    "Clock",
    "CompositionInvalid",
    "ConfigInvalid",
    "ErrorInfo",
    "Fetch",
    "FetchError",
    "FetchRequest",
    "FetchResponse",
    "Finished",
    "Ids",
    "Journal",
    "Message",
    "ModelProvider",
    "ModelRequest",
    "Plugin",
    "ProviderError",
    "ReasoningDelta",
    "Run",
    "RunEvent",
    "RunInput",
    "RunResult",
    "Runtime",
    "RuntimeConfig",
    "SearchProvider",
    "SessionBusy",
    "SharedStore",
    "Skill",
    "SkillSource",
    "StateConflict",
    "StateInvalid",
    "StateVersionUnsupported",
    "Store",
    "TextDelta",
    "TokenUsage",
    "ToolArgsDelta",
    "ToolCall",
    "ToolCallDone",
    "ToolSpec",
    "action",
    "skill_tool",
]
