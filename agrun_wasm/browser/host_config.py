"""What a page hands to `createRuntime`, as the arguments of a Runtime: JSON, with functions of the page where Python
expects callables and objects.

Owns the page's forms of actions, providers, skills, plugins and the like. What they may hold is checked by the classes
they become.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

from agrun_wasm import Action, Plugin, Skill
from agrun_wasm.browser.host_functions import FUNCTION_KEY, HostCalls, HostError, HostFunction
from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.contracts.model import ModelRequest
from agrun_wasm.contracts.naming import did_you_mean
from agrun_wasm.providers.event_json import request_json

__all__ = ["runtime_arguments"]

_PLANNER_KEYS = (
    "aliases", "argsExample", "argsSchema", "argsSchemaOptOut", "decisionType", "guidance", "standalone",
)  # fmt: skip
_ACTION_KEYS = ("name", "description", "tier", "planner", "permission", "timeoutMs", "execute", *_PLANNER_KEYS)
_SKILL_KEYS = ("files", "trustTools")
_SOURCE_KEYS = ("list", "load", "trustTools")
_PLUGIN_KEYS = {
    "name": "name",
    "version": "version",
    "actions": "actions",
    "skills": "skills",
    "promptSections": "prompt_sections",
    "policy": "policy",
    "diagnostics": "diagnostics",
    "requiresCapabilities": "requires_capabilities",
}


def runtime_arguments(config: Mapping[str, Any], calls: HostCalls) -> dict[str, Any]:
    """Keyword arguments for `Runtime`. Raises ConfigInvalid."""
    arguments = {key: value for key, value in _revived(config, calls).items() if value is not None}
    if "adapters" in arguments:
        raise ConfigInvalid("config: 'adapters' are objects of Python; a page passes functions in its actions instead")
    for key, convert in _CONVERTED.items():
        if key in arguments:
            arguments[key] = convert(arguments[key])
    return arguments


def _revived(value: Any, calls: HostCalls) -> Any:
    if isinstance(value, Mapping):
        if FUNCTION_KEY in value:
            return HostFunction(calls, value[FUNCTION_KEY], bool(value.get("wantsContext")))
        return {key: _revived(item, calls) for key, item in value.items()}
    if isinstance(value, list):
        return [_revived(item, calls) for item in value]
    return value


def _actions(value: Any) -> list[Action]:
    return [_action(item) for item in _objects(value, "actions")]


def _action(item: Mapping[str, Any]) -> Action:
    where = f"action {item.get('name')!r}"
    _check_keys(item, _ACTION_KEYS, where)
    planner = {key: item[key] for key in _PLANNER_KEYS if item.get(key) is not None}
    if planner and item.get("planner") is not None:
        raise ConfigInvalid(f"{where}: give {', '.join(map(repr, planner))} inside 'planner' or beside it, not both")
    execute = item.get("execute")
    return Action(
        item.get("name", ""),
        item.get("description", ""),
        item.get("tier"),
        planner=item.get("planner") if item.get("planner") is not None else planner,
        permission=item.get("permission"),
        timeout_ms=item.get("timeoutMs", 30_000),
        execute=_execute(execute) if isinstance(execute, HostFunction) else execute,
    )


def _execute(function: HostFunction) -> Callable[[Any, dict[str, Any]], Any]:
    async def execute(context: Any, args: dict[str, Any]) -> Any:
        # The whole context is a copy of the run's state: it crosses only where the function declared it.
        view = context.to_json() if function.wants_context else {"idempotencyKey": context.idempotency_key}
        return await function.with_context(view, args)

    return execute


class PageProvider:
    """A model transport of the page: `stream(request, {signal})`, an async generator of events."""

    def __init__(self, stream: HostFunction) -> None:
        self._stream = stream

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        try:
            async for event in self._stream.stream(request_json(request)):
                yield event
        except HostError as thrown:
            raise thrown.as_provider_error() from None


class PageSearch:
    """A search of the page: `search(query, limit)`."""

    def __init__(self, search: HostFunction) -> None:
        self.search = search


class PageSkillSource:
    """Skills of the page, read at the start of each run: `list()` and `load(name)`."""

    def __init__(self, item: Mapping[str, Any]) -> None:
        self.trust_tools = bool(item.get("trustTools"))
        self.list = item["list"]
        self.load = item["load"]


def _providers(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, provider in _mapping(value, "providers").items():
        stream = provider.get("stream") if isinstance(provider, Mapping) else None
        if not isinstance(stream, HostFunction):
            raise ConfigInvalid(f"config: providers[{name!r}] needs `stream(request)`, an async generator function")
        found[name] = PageProvider(stream)
    return found


def _web_search(value: Any) -> Any:
    search = value.get("search") if isinstance(value, Mapping) else None
    return PageSearch(search) if isinstance(search, HostFunction) else value


def _skills(value: Any) -> list[Skill]:
    found = []
    for item in _objects(value, "skills"):
        _check_keys(item, _SKILL_KEYS, "skill")
        found.append(
            Skill.from_files(_mapping(item.get("files"), "skills[].files"), trust_tools=bool(item.get("trustTools")))
        )
    return found


def _skill_sources(value: Any) -> list[PageSkillSource]:
    found = []
    for item in _objects(value, "skillSources"):
        _check_keys(item, _SOURCE_KEYS, "skill source")
        if not all(isinstance(item.get(key), HostFunction) for key in ("list", "load")):
            raise ConfigInvalid("config: a skill source needs the functions `list()` and `load(name)`")
        found.append(PageSkillSource(item))
    return found


def _plugins(value: Any) -> list[Plugin]:
    found = []
    for item in _objects(value, "plugins"):
        _check_keys(item, _PLUGIN_KEYS, f"plugin {item.get('name')!r}")
        given = {_PLUGIN_KEYS[key]: part for key, part in item.items() if part is not None}
        for key, convert in (("actions", _actions), ("skills", _skills)):
            if key in given:
                given[key] = convert(given[key])
        found.append(Plugin(**given))
    return found


_CONVERTED: dict[str, Callable[[Any], Any]] = {
    "actions": _actions,
    "providers": _providers,
    "webSearch": _web_search,
    "skills": _skills,
    "skillSources": _skill_sources,
    "plugins": _plugins,
}


def _mapping(value: Any, key: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigInvalid(f"config: {key!r} must be an object")
    return value


def _objects(value: Any, key: str) -> list[Mapping[str, Any]]:
    if not isinstance(value, list):
        raise ConfigInvalid(f"config: {key!r} must be a list")
    return [_mapping(item, f"{key}[{index}]") for index, item in enumerate(value)]


def _check_keys(item: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    for key in item:
        if key not in known:
            raise ConfigInvalid(f"{where}: unknown key {key!r}{did_you_mean(key, list(known))}")
