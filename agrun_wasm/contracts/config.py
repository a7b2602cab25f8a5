"""RuntimeConfig: every setting of a runtime, its default and its limits. Rules: document 2, 2.2.

Host objects (actions, skills, providers, a judge, a search provider) are held as they are and checked where they are
used; ports, hooks and adapters are no part of a config.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, SecretStr, field_validator
from pydantic.json_schema import SkipJsonSchema

from agrun_wasm.contracts.base import Contract
from agrun_wasm.contracts.policy import PolicyAction, PolicyEntry
from agrun_wasm.contracts.request import RequestedCitations

#: a key, or a (sync or async) callable asked for it at each request
ApiKey = SecretStr | SkipJsonSchema[Callable[[], Any]]
AtLeastOne = Annotated[int, Field(ge=1)]


def _a_number(value: object) -> object:
    # 1 and 1.0 alike (JSON has one number), but never "1" or true.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("input should be a number")
    return value


#: a finite number, 0 or more
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=False), BeforeValidator(_a_number)]


class RetryConfig(Contract):
    max_retries: int = Field(default=2, ge=0)
    max_wait_ms: int = Field(default=30_000, ge=0)


class ProviderConfig(Contract):
    """A provider by name. `settings` are passed to the model as they are (temperature, maxTokens, ...)."""

    name: str
    model: str = ""
    base_url: str | None = None
    api_key: ApiKey | None = None
    headers: dict[str, SecretStr] = {}
    settings: dict[str, Any] = {}
    timeout_ms: AtLeastOne = 60_000
    retry: RetryConfig = Field(default_factory=RetryConfig)

    @classmethod
    def of(cls, text: str) -> Self:
        """`"name:model"` in its long form."""
        name, _, model = text.partition(":")
        return cls(name=name, model=model)


class GuardrailConfig(Contract):
    """Mechanical guards against repetition (2.4)."""

    enabled: bool = False
    exact_failure_block_after: AtLeastOne = 3
    same_action_failure_warn_after: AtLeastOne = 2
    no_progress_warn_after: AtLeastOne = 2
    no_progress_block_after: AtLeastOne = 4


class ModelPrice(Contract):
    """US dollars for a million tokens."""

    input_per_m: Amount
    cached_input_per_m: Amount | None = None
    output_per_m: Amount


class WebSearchConfig(Contract):
    """A JSON search API in SearXNG's form, asked by GET."""

    endpoint: str
    headers: dict[str, SecretStr] = {}
    limit: AtLeastOne = 5


class ReadUrlConfig(Contract):
    """Ceilings of read_url; an argument may lower them."""

    timeout_ms: AtLeastOne = 10_000
    max_bytes: AtLeastOne = 200_000


class ResearchConfig(Contract):
    auto_read: int = Field(default=2, ge=0, le=2)
    append_sources: Literal["auto", "never"] = "auto"


class CandidateQuality(Contract):
    source_issue_severity: Literal["advisory", "blocking"] = "advisory"


class WorkspaceConfig(Contract):
    max_file_chars: AtLeastOne = 200_000
    max_files: AtLeastOne = 32


class ContextBudget(Contract):
    """Characters that a model call may hold, and how many of the latest cycles are never compacted."""

    max_chars: AtLeastOne = 120_000
    keep_last_cycles: AtLeastOne = 12


def _named(value: object) -> object:
    if callable(getattr(value, "stream", None)):
        raise ValueError('a transport is registered by name: provider="mine:model", providers={"mine": transport}')
    return value


class RuntimeConfig(Contract):
    """The settings of a Runtime; unknown keys and wrong types are CONFIG_INVALID."""

    provider: Annotated[str | ProviderConfig, BeforeValidator(_named)]
    providers: SkipJsonSchema[dict[str, Any]] = {}
    profile: Literal["legacy", "minimal"] = "legacy"
    planner_mode: Literal["auto", "envelope", "native_tools"] = "auto"
    native_tools_failure_policy: Literal["fallback_to_envelope", "hard_fail"] = "fallback_to_envelope"
    max_steps: AtLeastOne = 8
    max_invalid_decisions: AtLeastOne = 3
    run_deadline_ms: AtLeastOne | None = None
    max_cost_usd: Amount | None = None
    pricing: dict[str, ModelPrice] | None = None
    cost_warn_ratio: Annotated[Amount, Field(le=1)] = 0.8
    max_plan_actions: int = Field(default=10, ge=1, le=20)
    max_plan_parallel: AtLeastOne = 8
    max_section_parallel: AtLeastOne = 4
    actions: SkipJsonSchema[list[Any]] = []
    disabled_actions: list[str] = []
    disabled_capabilities: list[str] = []
    plugins: SkipJsonSchema[list[Any]] = []
    skills: SkipJsonSchema[list[Any]] = []
    skill_sources: SkipJsonSchema[list[Any]] = []
    action_policy: dict[str, PolicyAction | PolicyEntry] = {}
    skill_policy: dict[str, PolicyAction | PolicyEntry] = {}
    action_permission_judge: SkipJsonSchema[Callable[..., Any] | None] = None
    approval_ttl_ms: AtLeastOne = 900_000
    action_guardrail: GuardrailConfig = Field(default_factory=GuardrailConfig)
    prompts: dict[str, str | None] = {}
    planner_directives: list[str] = []
    web_search: WebSearchConfig | SkipJsonSchema[Any] | None = None
    read_url: ReadUrlConfig = Field(default_factory=ReadUrlConfig)
    research: ResearchConfig = Field(default_factory=ResearchConfig)
    requested_citations: RequestedCitations | None = None
    candidate_quality: CandidateQuality = Field(default_factory=CandidateQuality)
    single_tool_fast_path: bool = False
    workspace: WorkspaceConfig = Field(default_factory=WorkspaceConfig)
    context_budget: ContextBudget = Field(default_factory=ContextBudget)
    tool_result_chars: AtLeastOne = 12_000
    finalize_on_exhaustion: bool = True

    @field_validator("web_search", mode="before")
    @classmethod
    def _search_is_config_or_provider(cls, value: object) -> object:
        if isinstance(value, dict):
            return WebSearchConfig.model_validate(value)
        if value is None or isinstance(value, WebSearchConfig) or callable(getattr(value, "search", None)):
            return value
        raise ValueError("input should be {endpoint, headers, limit} or an object with `async search(query, limit)`")

    def provider_config(self) -> ProviderConfig:
        """`"name:model"` in its long form."""
        return self.provider if isinstance(self.provider, ProviderConfig) else ProviderConfig.of(self.provider)
