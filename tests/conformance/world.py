"""The world of one scenario: its clock, model, actions, skills, web, and the runtimes built over them.

Owns how a scenario's JSON becomes Python objects of the public API, and what was asked of the world since a stage
began. Faults of the JSON are the product's to find: everything is passed on as it stands.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from agrun_wasm import Action, Plugin, Runtime, Skill
from agrun_wasm.contracts.model import Message, ModelEvent, ModelRequest
from agrun_wasm.providers.scripted import ScriptedProvider
from tests.clock import FakeClock
from tests.conformance.web import FakeFetch, FakeSearch

_HOLE = "{{patchId}}"
_PATCH_ID = re.compile(r'"patchId"\s*:\s*"([^"]+)"')
_PREVIEW = re.compile(r"preview_(?:ready|blocked)")


class ScenarioError(Exception):
    """The scenario asks for something that its own parts do not provide."""


class World:
    """What all runtimes of a scenario share, and the record of what they asked of it."""

    def __init__(self, scenario: Mapping[str, Any], fetch: FakeFetch | None = None) -> None:
        self.clock = FakeClock()
        self.model = _Model(scenario.get("model", []), self.clock)
        self.fetch = fetch or FakeFetch(scenario.get("http", []), self.clock)
        self.search = FakeSearch(scenario["search"]) if "search" in scenario else None
        self.calls: list[dict[str, Any]] = []
        self._judge = _Judge(scenario["judge"]) if "judge" in scenario else None
        self._scenario = scenario
        self._ids = _Ids()
        self._performed: dict[int, int] = {}
        self._kept: list[object] = []
        self._runtimes = AsyncExitStack()
        self._marks = (0, 0, 0, 0)

    async def build(self, replaced: Mapping[str, Any] | None = None) -> Runtime:
        """A runtime of the scenario's parts; `replaced` may hold another `config` and other `actions`."""
        parts = {**self._scenario, **(replaced or {})}
        given: dict[str, Any] = {
            "provider": "scripted:test",
            "providers": {"scripted": self.model},
            "fetch": self.fetch,
            "clock": self.clock,
            "ids": self._ids,
            **(parts.get("config") or {}),
        }
        if "actions" in parts:
            given["actions"] = self._actions(parts["actions"])
        if "skills" in parts:
            given["skills"] = _skills(parts["skills"])
        if "plugins" in parts:
            given["plugins"] = [self._plugin(plugin) for plugin in parts["plugins"]]
        if self._judge:
            given["actionPermissionJudge"] = self._judge
        if self.search:
            given.setdefault("webSearch", self.search)
        return await self._runtimes.enter_async_context(Runtime(**given))

    async def close(self) -> None:
        await self._runtimes.aclose()
        self.clock.close()

    def mark(self) -> None:
        """A stage begins: `asked` tells what came after this moment."""
        searched = len(self.search.asked) if self.search else 0
        self._marks = (len(self.model.requests), len(self.calls), len(self.fetch.requests), searched)

    def asked(self) -> dict[str, Any]:
        """What this stage asked of the world, in the record's form."""
        model, calls, http, search = self._marks
        requests = self.fetch.requests[http:]
        return {
            "modelCalls": [model_call(request) for request in self.model.requests[model:]],
            "calls": self.calls[calls:],
            "http": [request["url"] for request in requests],
            "requests": requests,
            "search": self.search.asked[search:] if self.search else [],
        }

    def faults(self) -> list[str]:
        """What of the scenario's script did not fit what happened."""
        left = [] if self._scenario.get("unused") else self.model.left_over()
        return self.model.faults + ([f"model: {len(left)} replies left over: {_short(left)}"] if left else [])

    def _actions(self, specs: Sequence[Mapping[str, Any]]) -> list[Action]:
        return [self._action(spec) for spec in specs]

    def _action(self, spec: Mapping[str, Any]) -> Action:
        given = {_snake(key): value for key, value in spec.items() if key not in _NOT_OF_ACTION}
        planner = spec.get("planner")
        if planner is not False:
            planner = {**(planner or {}), **{key: spec[key] for key in ("argsSchema", "aliases") if key in spec}}
            planner = planner or None
        if planner is not None:
            given["planner"] = planner
        return Action(execute=self._performance(spec), **given)

    def _performance(self, spec: Mapping[str, Any]) -> Any:
        """The n-th call performs the n-th step of `does`, the last one repeats; counted over all runtimes."""
        self._kept.append(spec)
        steps = spec.get("does") or [{"value": None}]

        async def execute(context: Any, args: Mapping[str, Any]) -> Any:
            number = self._performed.get(id(spec), 0)
            self._performed[id(spec)] = number + 1
            self.calls.append({"name": spec["name"], "args": copy.deepcopy(dict(args))})
            step = steps[min(number, len(steps) - 1)]
            if "sleepMs" in step:
                await self.clock.sleep(step["sleepMs"])
            if "throw" in step:
                raise RuntimeError(step["throw"])
            return copy.deepcopy(step["return"] if "return" in step else step.get("value"))

        return execute

    def _plugin(self, spec: Mapping[str, Any]) -> Plugin:
        given = {_snake(key): value for key, value in spec.items()}
        if "actions" in given:
            given["actions"] = self._actions(given["actions"])
        if "skills" in given:
            given["skills"] = _skills(given["skills"])
        return Plugin(**given)


_NOT_OF_ACTION = ("argsSchema", "aliases", "planner", "does")


class _Model:
    """The scripted provider, with `{{patchId}}` in a reply as the patch that the model was last shown a preview of."""

    def __init__(self, replies: Sequence[Mapping[str, Any]], clock: FakeClock) -> None:
        self._script = ScriptedProvider(replies, fill=self._fill, now=clock.now)
        self._asked: ModelRequest | None = None
        self.faults: list[str] = []

    @property
    def requests(self) -> list[ModelRequest]:
        """The calls that were answered."""
        return self._script.requests

    def left_over(self) -> list[Any]:
        return list(self._script.left_over())

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self._asked = request
        return self._script.stream(request)

    def _fill(self, reply: str) -> str:
        if _HOLE not in reply:
            return reply
        assert self._asked is not None
        shown = [
            found
            for message in self._asked.messages
            if message.role != "assistant" and _PREVIEW.search(message.text)
            for found in _PATCH_ID.findall(message.text)
        ]
        if not shown:
            # Raised here it would look like a provider's fault, so it is noted for the scenario's failures.
            self.faults.append(f"model: a reply holds {_HOLE}, but the model was shown no preview")
            return reply
        return reply.replace(_HOLE, shown[-1])


class _Judge:
    """The actionPermissionJudge with its answers in order; asked beyond them it fails, which counts as ask."""

    def __init__(self, answers: Sequence[Mapping[str, Any]]) -> None:
        self._answers = list(answers)

    async def __call__(self, *_: Any, **__: Any) -> Any:
        if not self._answers:
            raise ScenarioError("the judge was asked more often than it has answers")
        answer = self._answers.pop(0)
        if "throw" in answer:
            raise RuntimeError(answer["throw"])
        return copy.deepcopy(answer["answer"])


class _Ids:
    """The Ids port: numbered, so that a scenario gives the same ids each time."""

    def __init__(self) -> None:
        self._last = 0

    def new(self, kind: str) -> str:
        self._last += 1
        return f"{kind}-{self._last}"


def _skills(specs: Sequence[Mapping[str, Any]]) -> list[Skill]:
    return [
        Skill.from_files(spec["files"], **{_snake(key): value for key, value in spec.items() if key != "files"})
        for spec in specs
    ]


def model_call(request: ModelRequest) -> dict[str, Any]:
    """An answered model request in the record's form."""
    return {
        "purpose": request.purpose,
        "system": request.system,
        "messages": "\n".join(part for message in request.messages for part in _parts(message)),
        "tools": [tool.name for tool in request.tools],
        "toolSchemas": {tool.name: json.loads(json.dumps(tool.parameters)) for tool in request.tools},
    }


def _parts(message: Message) -> list[str]:
    """A message's text and tool calls; of a tool message the text is the result."""
    calls = [f"{call.name} {call.args_text}" for call in message.tool_calls]
    return [part for part in (message.text, *calls) if part]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else text[:150] + "..."


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), name)
