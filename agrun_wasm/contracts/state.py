"""The whole state of a run: one model, JSON at any moment, versioned. Rules: document 2, 2.5 State.

Only the loop and the effects of built-in actions change it. It holds no secret.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pydantic import Field, PrivateAttr

from agrun_wasm.contracts.base import Contract
from agrun_wasm.contracts.decision import Call, Decision
from agrun_wasm.contracts.errors import ErrorInfo
from agrun_wasm.contracts.events import RunEvent
from agrun_wasm.contracts.model import Message
from agrun_wasm.contracts.outcome import Acted
from agrun_wasm.contracts.policy import PolicyDecision
from agrun_wasm.contracts.request import PastTurn, RunInput
from agrun_wasm.contracts.result import AnswerSource, CycleRecord, RunStatus, Usage
from agrun_wasm.contracts.workspace import VirtualWorkspace

SCHEMA_VERSION = 1

#: one sentence for each bump of SCHEMA_VERSION; a golden file of each version stands in tests/contracts/golden
SCHEMA_CHANGES: dict[int, str] = {1: "The first saved form."}

OutcomeKind = Literal[
    "executed",
    "invalid",
    "args_invalid",
    "policy_denied",
    "approval_denied",
    "failed",
    "timeout",
    "protocol_error",
    "guardrail_blocked",
    "not_run",
    "deadline",
]


class ToolRecord(Contract):
    """One output of one action, in call order."""

    action_name: str
    plan_index: int | None = None
    output: Any = None
    cycle: int = 0


class ToolContext(Contract):
    last_result: ToolRecord | None = None
    history: list[ToolRecord] = []


class Source(Contract):
    """One record for each canonical URL; `url` as first asked for or found."""

    id: str
    url: str
    canonical: str
    title: str = ""
    state: Literal["found", "read", "failed", "blocked"] = "found"


class ResearchContext(Contract):
    search_results: list[dict[str, Any]] = []
    read_sources: list[dict[str, Any]] = []
    sources: list[Source] = []
    #: canonical URLs that the latest search found and that were not read by the runtime yet (2.10 autoRead)
    auto_read_candidates: list[str] = []


class AgentSkillContext(Contract):
    last_read: str | None = None
    read: list[str] = []
    active: str | None = None
    handoff_chain: list[str] = []
    handoff_context: str | None = None
    #: what later model calls are shown: lists by name, with the number of leading entries left out (2.9 inputFilter)
    hidden: dict[str, int] = {}


class GuardrailFact(Contract):
    action_name: str
    kind: Literal["exact_failure", "same_action_failure", "no_progress"]
    action: Literal["warn", "block"]
    count: int


class Repeats(Contract):
    """Identical calls with equal outputs: the output's digest, and how often it came again."""

    output: str
    count: int


class ActionCounts(Contract):
    """What the guardrail counts of one action, by the digest of the arguments where it says so."""

    in_a_row: int = 0
    failures: dict[str, int] = {}
    repeats: dict[str, Repeats] = {}


class GuardrailState(Contract):
    """The latest fact, and the counts by action; see actions/guardrail."""

    latest: GuardrailFact | None = None
    counts: dict[str, ActionCounts] = {}


class LoopState(Contract):
    action_guardrail: GuardrailState = Field(default_factory=GuardrailState)
    invalid_decisions: int = 0
    citation_reviews: int = 0
    vetoes: int = 0
    #: blocked previews in a row by path, and the path for which propose and apply are withheld (2.11 Narrowing)
    blocked_previews: dict[str, int] = {}
    narrowed_path: str | None = None


class Approval(Contract):
    """A call that waits for a person. Bound to run, call id and args hash (2.6)."""

    approval_id: str
    sequence_id: str
    args: dict[str, Any]
    args_hash: str
    expires_at: float
    policy: PolicyDecision
    resolution: Literal["approve", "deny"] | None = None
    note: str | None = None


class Approvals(Contract):
    """`made` counts all there ever were; their ids derive from it."""

    made: int = 0
    pending: list[Approval] = []
    resolved: list[Approval] = []


class Budgets(Contract):
    """What is left. None is "no limit"."""

    steps_left: int
    deadline_left_ms: float | None = None
    cost_left_usd: float | None = None
    cost_limit_usd: float | None = None
    cost_warned: bool = False


class FoldedCycle(Contract):
    """A cycle of which the model is shown one line only."""

    cycle: int
    text: str


class Compaction(Contract):
    """What the context budget took out of the transcript (2.12): folded cycles, oldest first; of `left_out` even older
    ones not even a line is shown."""

    folded: list[FoldedCycle] = []
    left_out: int = 0


class CallOutcome(Contract):
    """How one call ended. Only an executed one has an output; `observation` is what the model is told."""

    kind: OutcomeKind
    ok: bool
    output: Any = None
    control: Literal["continue", "complete"] = "continue"
    summary: str = ""
    error: str | None = None
    observation: str = ""

    @property
    def has_output(self) -> bool:
        return self.kind == "executed"


class CallState(Contract):
    """One call of the cycle in progress: its place, its arguments after rewriting, and its outcome once there is one.

    `args` are canonical from the moment they were validated. `same_as` points at an identical earlier call of a batch.
    """

    call: Call
    sequence_id: str
    index: int | None = None
    args: dict[str, Any] = {}
    approval_id: str | None = None
    same_as: int | None = None
    outcome: CallOutcome | None = None
    recorded: bool = False
    #: places in the state's lists that its result stands at (Message.shows)
    shows: dict[str, list[int]] = {}


class CycleState(Contract):
    """The cycle in progress. It outlives the process: a blocked or interrupted run goes on from here."""

    cycle: int
    phase: Literal["deciding", "decided", "acting", "synthesizing"] = "deciding"
    decision: Decision | None = None
    calls: list[CallState] = []
    #: what acting led to, once the model was told of it
    acted: Acted | None = None
    observe: dict[str, Any] = {}
    orient: dict[str, Any] = {}


class JournalEntry(Contract):
    """What happened after the state was saved whole: steps that were announced, and what finished calls gave.

    Whoever goes on from the state is given these results instead of calling again, and announces nothing twice.
    """

    seq: int
    #: time that had passed since the state was saved whole
    spent_ms: float = 0.0
    steps: list[RunEvent] = []
    #: by the call's key
    finished: dict[str, Any] = {}


class ArchiveChunk(NamedTuple):
    """Packed entries of the growing lists; `counts` is how many of each list this chunk and those before it hold."""

    text: str
    counts: dict[str, int]


class RunState(Contract):
    """A run, whole. `transcript` is what the model is shown of it, append-only but for compaction; `history` the
    session's turns."""

    schema_version: Literal[1] = 1
    run_id: str
    session_id: str
    status: Literal["running"] | RunStatus = "running"
    request: RunInput
    planner_mode: Literal["envelope", "native_tools"] = "native_tools"
    seq: int = 0
    calls_made: int = 0
    model_calls_made: int = 0
    cycle: CycleState | None = None
    cycles_started: int = 0
    transcript: list[Message] = Field(default=[], repr=False)
    compaction: Compaction = Field(default_factory=Compaction)
    observations: list[str] = []
    tool_context: ToolContext = Field(default_factory=ToolContext)
    research_context: ResearchContext = Field(default_factory=ResearchContext)
    agent_skill_context: AgentSkillContext = Field(default_factory=AgentSkillContext)
    virtual_workspace: VirtualWorkspace = Field(default_factory=VirtualWorkspace)
    loop_state: LoopState = Field(default_factory=LoopState)
    approvals: Approvals = Field(default_factory=Approvals)
    budgets: Budgets
    history: list[PastTurn] = Field(default=[], repr=False)
    usage: Usage = Field(default_factory=Usage)
    cycles: list[CycleRecord] = Field(default=[], repr=False)
    steps: list[RunEvent] = Field(default=[], repr=False)
    diagnostics: dict[str, Any] = {}
    output: dict[str, Any] | None = None
    final_answer_source: AnswerSource | None = None
    error: ErrorInfo | None = None
    partial_text: str = ""
    journal: list[JournalEntry] = []
    #: chunks that session/archive has made of the lists above; in a saved state they stand for those entries
    _archived: list[ArchiveChunk] = PrivateAttr(default_factory=list)

    @property
    def archived(self) -> list[ArchiveChunk]:
        return self._archived
