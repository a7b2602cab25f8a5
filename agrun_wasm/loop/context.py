"""RunContext: one run while it is driven. The state and everything that is not saved with it.

Holds the ports and the ways to emit; decides nothing. Steps are redacted here, so no secret can reach one.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agrun_wasm.contracts.config import ProviderConfig, RuntimeConfig
from agrun_wasm.contracts.errors import StateConflict
from agrun_wasm.contracts.events import DELTA_TYPES, DeltaType, RunEvent, StepType
from agrun_wasm.contracts.ports import Clock, Journal, ModelProvider, Store
from agrun_wasm.contracts.state import CycleState, RunState
from agrun_wasm.loop.checkpoints import Checkpoints, Saves
from agrun_wasm.loop.waiting import StopSignal
from agrun_wasm.planner.prompt import PromptBuilder
from agrun_wasm.planner.surface import Surface
from agrun_wasm.session.transcript import Transcript
from agrun_wasm.text.redaction import Redactor
from agrun_wasm.text.shorten import words_of

_log = logging.getLogger("agrun_wasm")


@dataclass(frozen=True)
class RunPorts:
    """What a runtime gives every run: the model's transport, time, hooks, judge, adapters, and the redactor."""

    provider: ModelProvider
    provider_config: ProviderConfig
    clock: Clock
    redactor: Redactor
    hooks: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    judge: Callable[..., Any] | None = None
    adapters: Mapping[str, Any] = field(default_factory=dict)
    #: adapters that each plugin's actions may see, by action name
    declared_adapters: Mapping[str, list[str]] = field(default_factory=dict)
    store: Store | None = None
    journal: Journal | None = None
    web_search_endpoint: str | None = None


class RunContext:
    """One drive of one run, from a start or a resume to its next end."""

    def __init__(
        self,
        state: RunState,
        surface: Surface,
        ports: RunPorts,
        publish: Callable[[RunEvent], None],
    ) -> None:
        self.state = state
        self.surface = surface
        self.ports = ports
        self.stop = StopSignal()
        self.transcript = Transcript(state, surface.config.context_budget)
        self.prompts = PromptBuilder(surface)
        self._publish = publish
        self.checkpoints = Checkpoints(
            state, saves=self._saves(), journal=ports.journal, settle=self.settle, now=ports.clock.now
        )
        self._seq = state.seq
        left = state.budgets.deadline_left_ms
        self._deadline_at = None if left is None else ports.clock.now() + left
        #: has the stream shown the text that is the answer, or may yet be?
        self.streamed = False
        #: did a process end in the middle of this run, perhaps in the middle of a text?
        self.interrupted = False

    @property
    def config(self) -> RuntimeConfig:
        return self.surface.config

    @property
    def clock(self) -> Clock:
        return self.ports.clock

    @property
    def cycle(self) -> CycleState:
        """The cycle in progress."""
        if self.state.cycle is None:
            raise RuntimeError("no cycle is in progress")
        return self.state.cycle

    @property
    def deadline_at(self) -> float | None:
        """When the run's time is over. What was spent since the checkpoint counts once the recorded calls are done
        with: they take no time again, and what they gave is not lost to a deadline that came after them."""
        if self._deadline_at is None or self.checkpoints.replaying:
            return self._deadline_at
        self._deadline_at -= self.checkpoints.take_spent()
        return self._deadline_at

    @property
    def stopped(self) -> bool:
        """Is the run to end here? What had ended before its process did is taken in first: it is part of the run."""
        return self.stop.cancelled and not self.checkpoints.replaying

    def words_of(self, error: BaseException) -> str:
        """What an exception of a host's part says, without our keys."""
        return self.ports.redactor.text(words_of(error))

    def emit(self, type_: StepType | DeltaType, /, **detail: Any) -> None:
        """Appends a step (or sends a delta) and publishes it."""
        state = self.state
        detail = self.ports.redactor.value(detail)
        if self.checkpoints.was_announced(type_, state.cycles_started, detail):
            return
        self._seq += 1
        event = RunEvent.made(self._seq, type_, state.run_id, state.cycles_started, self.ports.clock.now(), detail)
        if type_ not in DELTA_TYPES:
            state.steps.append(event)
        self.checkpoints.announce(event)
        self._publish(event)

    def new_model_call(self) -> str:
        """The key of the next model call (Journal), from the run's id and a sequence."""
        self.state.model_calls_made += 1
        return f"{self.state.run_id}:model:{self.state.model_calls_made}"

    def supersede(self, reason: str) -> None:
        """Says that text already streamed is not the answer."""
        if self.streamed:
            self.streamed = False
            self.state.partial_text = ""
            self.emit("answer-superseded", reason=reason)

    def supersede_unknown(self) -> None:
        """Before a text of a run that goes on after an interruption: nobody knows what its readers saw of one."""
        if self.interrupted:
            self.interrupted, self.streamed = False, True
            self.supersede("the run goes on after an interruption")

    def settle(self) -> None:
        """Writes into the state what the drive counts by itself; whoever shows or saves the state calls it first."""
        self.state.seq = self._seq
        if self.deadline_at is not None:
            self.state.budgets.deadline_left_ms = max(0.0, self.deadline_at - self.clock.now())

    def deadline_passed(self) -> bool:
        return self.deadline_at is not None and self.clock.now() >= self.deadline_at

    def _saves(self) -> Saves | None:
        store, run_id = self.ports.store, self.state.run_id
        if store is None:
            return None
        return Saves(
            whole=lambda state: self.keep("state", lambda: store.save_run(run_id, state)),
            entry=lambda entry: self.keep("journal", lambda: store.add_to_run(run_id, entry)),
        )

    async def keep(self, what: str, write: Callable[[], Awaitable[None]]) -> bool:
        """Writes to the host's store. Its failure is noted in the diagnostics; it never costs the run or its result.

        But a run that somebody else has moved on is theirs: StateConflict ends this drive.
        """
        try:
            await write()
            return True
        except StateConflict:
            raise
        except Exception as error:
            _log.exception("the store failed to keep the %s of run %s", what, self.state.run_id)
            self.state.diagnostics.setdefault("store", []).append({"what": what, "error": self.words_of(error)})
            return False
