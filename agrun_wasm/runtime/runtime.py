"""Runtime: the public face. A composition, its ports, and the runs and sessions on it. Rules: document 2, 2.1."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from agrun_wasm.contracts.config import RuntimeConfig
from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.contracts.naming import did_you_mean
from agrun_wasm.contracts.policy import PolicyDecision
from agrun_wasm.contracts.ports import Clock, Fetch, Ids, Journal, Store
from agrun_wasm.contracts.request import PastTurn, RunInput
from agrun_wasm.contracts.result import RunResult
from agrun_wasm.contracts.state import RunState
from agrun_wasm.loop.budget import new_budgets
from agrun_wasm.loop.context import RunPorts
from agrun_wasm.planner.mode import planner_mode
from agrun_wasm.planner.surface import Surface
from agrun_wasm.providers.registry import create_provider
from agrun_wasm.runtime import inspection
from agrun_wasm.runtime.actions_view import ActionsView
from agrun_wasm.runtime.composition import HostParts, compose_surface
from agrun_wasm.runtime.default_ports import default_clock, default_fetch, default_ids
from agrun_wasm.runtime.host_input import (
    Input,
    check_ports,
    check_sources,
    mapping,
    read_config,
    read_hooks,
    read_input,
    read_session,
)
from agrun_wasm.runtime.results import result_of
from agrun_wasm.runtime.secrets import Secrets
from agrun_wasm.runtime.sessions import Busy, Session, Sessions
from agrun_wasm.runtime.starting import NewRun, ResumedRun, RunStart
from agrun_wasm.session.saved import load_state
from agrun_wasm.skills.skill import Skill
from agrun_wasm.text.shorten import words_of


class Runtime:
    """An agent runtime over one composition.

    Keywords are the keys of RuntimeConfig in either spelling, and the ports: `fetch`, `store`, `journal`,
    `clock`, `ids`, `hooks`, `adapters`. `config` takes a saved config as a mapping or a RuntimeConfig instead. Raises
    CONFIG_INVALID and COMPOSITION_INVALID; nothing is contacted before a run.
    """

    def __init__(
        self,
        config: RuntimeConfig | Mapping[str, Any] | None = None,
        *,
        fetch: Fetch | None = None,
        store: Store | None = None,
        journal: Journal | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        hooks: Mapping[str, Any] | None = None,
        adapters: Mapping[str, Any] | None = None,
        **keys: Any,
    ) -> None:
        self.config = read_config(config, keys)
        check_ports(fetch=fetch, store=store, journal=journal, clock=clock, ids=ids)
        check_sources(self.config.skill_sources)
        self.clock = clock or default_clock()
        self._ids = ids or default_ids()
        self.store = store
        self._secrets = Secrets(self.config)
        self._hooks = read_hooks({} if hooks is None else hooks)
        self._adapters = mapping({} if adapters is None else adapters, "adapters")
        self._own_fetch = None if fetch is not None else default_fetch()
        self._fetch = fetch or self._own_fetch
        self._surface = self._compose(())
        self.provider_config = self._secrets.provider_config()
        self.ports = self._run_ports(store, journal)
        _check_pricing(self.config, self.provider_config.model)
        self.sessions = Sessions(store, self._ids)
        self.used_approvals: set[str] = set()
        self._closed = False
        self.actions = ActionsView(self._surface)

    def stream(
        self,
        input: Input,  # noqa: A002
        *,
        session: str | None = None,
        busy: Busy = "wait",
        run_id: str | None = None,
    ) -> RunStart:
        """`async with runtime.stream(...) as run:` starts a run and gives its handle; leaving the block stops it.

        `run_id` names it, for a host that has an id of its own. Raises CONFIG_INVALID for an input that is none.
        """
        self._check_open()
        asked = read_input(input)
        session, busy = read_session(session, busy)
        return RunStart(self, NewRun(self, asked, session, busy, run_id))

    async def run(self, input: Input, *, session: str | None = None, busy: Busy = "wait") -> RunResult:  # noqa: A002
        """Runs to the next end. Cancelling this call stops the run."""
        async with self.stream(input, session=session, busy=busy) as run:
            return await run.result()

    def stream_resume(
        self,
        state: RunResult | Mapping[str, Any] | str,
        decisions: Mapping[str, Any] | None = None,
        *,
        extend: Mapping[str, Any] | None = None,
    ) -> RunStart:
        """Goes on with a blocked, paused or interrupted run, from its result or `result.state` (or a run id,
        with a store).

        `decisions` maps approval ids to "approve", "deny" or `{decision, note}`; `extend` adds to the budgets. Entering
        raises APPROVAL_INVALID, STATE_INVALID, STATE_VERSION_UNSUPPORTED or CONFIG_INVALID, and then runs nothing.
        """
        self._check_open()
        answers = mapping({} if decisions is None else decisions, "decisions")
        added = mapping({} if extend is None else extend, "extend")
        saved = state.state if isinstance(state, RunResult) else state
        return RunStart(self, ResumedRun(self, saved, answers, added))

    async def resume(
        self,
        state: RunResult | Mapping[str, Any] | str,
        decisions: Mapping[str, Any] | None = None,
        *,
        extend: Mapping[str, Any] | None = None,
    ) -> RunResult:
        async with self.stream_resume(state, decisions, extend=extend) as run:
            return await run.result()

    def stream_abort(self, state: Mapping[str, Any] | str) -> RunStart:
        """Ends an interrupted (or waiting) run as stopped, with what its finished calls gave; calls nothing anew.

        For a run whose process ended because it could not be stopped. Entering raises what `stream_resume` does.
        """
        self._check_open()
        return RunStart(self, ResumedRun(self, state, {}, {}, aborts=True))

    def session(self, id: str | None = None, busy: Busy = "wait") -> Session:  # noqa: A002
        """A conversation: each run sees the turns before it. A second run waits, or is refused with SESSION_BUSY."""
        session, busy = read_session(id, busy)
        return Session(self, session or self._ids.new("session"), busy)

    def load(self, state: RunResult | Mapping[str, Any] | str) -> RunResult:
        """The result that an exported state holds; raises STATE_INVALID or STATE_VERSION_UNSUPPORTED."""
        return result_of(load_state(state.state if isinstance(state, RunResult) else state))

    def evaluate_action_policy(self, name: Any) -> PolicyDecision:
        """An action's policy before any call; the judge is not asked. Raises CONFIG_INVALID for an unknown name."""
        action = self._surface.registry.get(name) if isinstance(name, str) else None
        if action is None:
            hint = did_you_mean(str(name), self._surface.registry.names)
            raise ConfigInvalid(f"evaluate_action_policy: unknown action {name!r:.60}{hint}")
        return self._surface.policy(action).model_copy(deep=True)

    def describe_composition(self) -> dict[str, Any]:
        """Profile, plugins, capabilities, actions, skills, sections, sizes, fingerprint (2.13); asks no provider."""
        return inspection.describe(self._surface, self._empty_state(""))

    def inspect_prompt(self, input: Input) -> dict[str, Any]:  # noqa: A002
        """The first request of a run with this input, from the loop's own builder; asks no provider."""
        return inspection.inspect(self._surface, self._empty_state(input))

    def surface_index(self) -> dict[str, Any]:
        """All static definitions of this runtime, generated."""
        return inspection.surface_index(self._surface, self._empty_state(""))

    async def aclose(self) -> None:
        """Stops every run of this runtime, and frees the transport where the runtime made it itself."""
        self._closed = True
        await self.sessions.stop_all()
        close = getattr(self._own_fetch, "aclose", None)
        if close is not None:
            await close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # What `starting` and the hosts' own runtimes need beside; a program has no use for it.

    @property
    def has_price(self) -> bool:
        """Is there a price for the model?"""
        return self.provider_config.model in (self.config.pricing or {})

    async def surface_for_run(self) -> Surface:
        """The surface of a new drive: skill sources are read anew at the start of each run (2.2)."""
        if not self.config.skill_sources:
            return self._surface
        loaded: list[Skill] = []
        for place, source in enumerate(self.config.skill_sources):
            where = f"skillSources[{place}]"
            for name in await _asked(source.list(), f"{where}: list()"):
                files = await _asked(source.load(name), f"{where}: load({name!r})")
                loaded.append(Skill.from_files(files, trust_tools=getattr(source, "trust_tools", False) is True))
        return self._compose(tuple(loaded))

    def _run_ports(self, store: Store | None, journal: Journal | None) -> RunPorts:
        return RunPorts(
            provider=create_provider(self.provider_config, self.config.providers, self._fetch, self.clock),
            provider_config=self.provider_config,
            clock=self.clock,
            redactor=self._secrets.redactor,
            hooks=self._hooks,
            judge=self.config.action_permission_judge,
            adapters=self._adapters,
            declared_adapters={
                action.name: list(plugin.requires_adapters)
                for plugin in self.config.plugins
                for action in plugin.actions
            },
            store=store,
            journal=journal,
            web_search_endpoint=getattr(self.config.web_search, "endpoint", None),
        )

    def _check_open(self) -> None:
        if self._closed:
            raise ConfigInvalid("this runtime was closed; make a new one, or keep it open as long as it has runs")

    def _compose(self, loaded: tuple[Skill, ...]) -> Surface:
        return compose_surface(self.config, HostParts(self._fetch, self.clock, self._adapters, loaded))

    def first_state(self, asked: RunInput, session: str | None = None, run_id: str | None = None) -> RunState:
        """The state that a run begins from, for a host that keeps it before anything moves: `stream_resume` drives it,
        here or wherever it was brought to."""
        return self.new_state(asked, session or self._ids.new("session"), [], run_id)

    def new_state(
        self, asked: RunInput, session_id: str, history: list[PastTurn], run_id: str | None = None
    ) -> RunState:
        return RunState(
            run_id=run_id or self._ids.new("run"),
            session_id=session_id,
            request=asked,
            planner_mode=planner_mode(self.config)[0],
            budgets=new_budgets(self.config),
            history=history,
        )

    def _empty_state(self, input: Input) -> RunState:  # noqa: A002
        return RunState(
            run_id="inspection",
            session_id="inspection",
            request=read_input(input),
            planner_mode=planner_mode(self.config)[0],
            budgets=new_budgets(self.config),
        )


async def _asked(call: Any, where: str) -> Any:
    """What a skill source gives; its failure keeps a run from starting, by name."""
    try:
        return await call
    except Exception as error:
        raise ConfigInvalid(f"{where} failed: {words_of(error)}") from error


def _check_pricing(config: RuntimeConfig, model: str) -> None:
    if config.max_cost_usd is not None and model not in (config.pricing or {}):
        raise ConfigInvalid(
            f"config: 'maxCostUsd' needs a price for the model {model!r} in 'pricing'",
            hint='For example pricing: {"<model>": {"inputPerM": 0.25, "outputPerM": 2}}.',
        )
