"""Composition: config, host parts and plugins to one Surface; every conflict found before anything runs. Rules: 2.13.

Static checks only. The order of actions is built-in, host, plugins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from agrun_wasm.actions.clarification import clarification_action
from agrun_wasm.actions.definition import Action
from agrun_wasm.actions.policy import base_decision, entry_of
from agrun_wasm.actions.registry import Registry, name_conflicts
from agrun_wasm.contracts.config import RuntimeConfig
from agrun_wasm.contracts.errors import CompositionInvalid, ConfigInvalid
from agrun_wasm.contracts.naming import did_you_mean
from agrun_wasm.contracts.policy import STRICTNESS, PolicyEntry
from agrun_wasm.contracts.ports import Clock, Fetch
from agrun_wasm.contracts.validation import parse
from agrun_wasm.planner.sections import LATE_SECTIONS, SECTIONS, section_ids
from agrun_wasm.planner.surface import Surface
from agrun_wasm.research.read_url import read_url_action
from agrun_wasm.research.web_search import web_search_action
from agrun_wasm.runtime.capabilities import capability_states
from agrun_wasm.runtime.plugin import Plugin
from agrun_wasm.skills.actions import skill_actions
from agrun_wasm.skills.catalog import SkillCatalog, duplicate_names
from agrun_wasm.skills.skill import Skill
from agrun_wasm.workspace.actions import workspace_actions

T = TypeVar("T")
_SKILL_CAPABILITIES = ("skills", "handoff")


class HostParts(NamedTuple):
    """What a composition is made from beside the config."""

    fetch: Fetch | None
    clock: Clock
    adapters: Mapping[str, Any]
    loaded_skills: Sequence[Skill] = ()


def compose_surface(config: RuntimeConfig, parts: HostParts) -> Surface:
    """The surface of a runtime. Raises CONFIG_INVALID for what the host said, COMPOSITION_INVALID for plugins."""
    plugins = _of_kind(config.plugins, Plugin, "plugins", "Plugin")
    host = _of_kind(config.actions, Action, "actions", "Action or @action")
    skills = [*_of_kind(config.skills, Skill, "skills", "Skill.from_files"), *parts.loaded_skills]
    capabilities = capability_states(config.profile, config.disabled_capabilities)
    faults = [
        *_requirement_faults(plugins, capabilities, parts.adapters),
        *_section_faults(plugins),
        *_skill_faults(plugins, skills),
    ]
    catalog = _catalog(config, skills, plugins)
    registry = _registry(config, parts, catalog, host, plugins, faults)
    plugin_policy = _plugin_policy(config, plugins, registry, faults)
    if faults:
        raise CompositionInvalid("plugins: " + "; ".join(faults))
    _check_names(config, registry)
    surface = Surface(
        config=config,
        registry=registry,
        catalog=catalog,
        off=_switched_off(config, registry, catalog, capabilities),
        plugin_policy=plugin_policy,
        sections={key: (p.name, text) for p in plugins for key, text in p.prompt_sections.items()},
        capabilities=capabilities,
    )
    known = section_ids(surface)
    for key in config.prompts:
        if key not in known:
            raise ConfigInvalid(f"config: 'prompts' names an unknown section {key!r}{did_you_mean(key, known)}")
    return surface


def _of_kind(given: Sequence[Any], kind: type[T], key: str, made_by: str) -> list[T]:
    for item in given:
        if not isinstance(item, kind):
            raise ConfigInvalid(f"config: {key!r} takes what {made_by} makes, not {type(item).__name__}")
    return list(given)


def _catalog(config: RuntimeConfig, skills: list[Skill], plugins: list[Plugin]) -> SkillCatalog:
    of_plugins = [skill for plugin in plugins for skill in plugin.skills]
    known = set(duplicate_names([*skills, *of_plugins])) - set(duplicate_names(skills))
    unique = [skill for skill in of_plugins if skill.name not in known]
    return SkillCatalog([*skills, *unique], config.skill_policy, may_grow=bool(config.skill_sources))


def _registry(
    config: RuntimeConfig,
    parts: HostParts,
    catalog: SkillCatalog,
    host: list[Action],
    plugins: list[Plugin],
    faults: list[str],
) -> Registry:
    made: list[Registry] = []
    built_in = [
        clarification_action(),
        *skill_actions(catalog, reserved=lambda name: made[0].name_of(name)),
        web_search_action(config.web_search, parts.fetch, parts.clock),
        read_url_action(parts.fetch, config.read_url, parts.clock),
        *workspace_actions(config.workspace),
    ]
    if refused := [action.registration_fault for action in host if action.registration_fault]:
        raise ConfigInvalid("; ".join(refused))
    if conflicts := name_conflicts([*built_in, *host]):
        raise ConfigInvalid("config: 'actions': " + "; ".join(conflicts))
    of_plugins = [action for plugin in plugins for action in plugin.own_actions()]
    faults += [action.registration_fault for action in of_plugins if action.registration_fault]
    every = [*built_in, *host, *of_plugins]
    faults += name_conflicts(every)
    made.append(Registry(every))
    return made[0]


def _requirement_faults(
    plugins: list[Plugin], capabilities: Mapping[str, str | None], adapters: Mapping[str, Any]
) -> Iterator[str]:
    names: set[str] = set()
    for plugin in plugins:
        if plugin.name in names:
            yield f"plugin {plugin.name!r} is given twice"
        names.add(plugin.name)
        for capability in plugin.requires_capabilities:
            why = capabilities.get(capability, f"unknown{did_you_mean(capability, capabilities)}")
            if why is not None:
                yield f"plugin {plugin.name!r} requires the capability {capability!r}, which is {why}"
        for adapter in plugin.requires_adapters:
            if adapter not in adapters:
                yield f"plugin {plugin.name!r} requires the adapter {adapter!r}, which the host did not give"


def _section_faults(plugins: list[Plugin]) -> Iterator[str]:
    owners: dict[str, str] = dict.fromkeys([*SECTIONS, *LATE_SECTIONS], "the runtime")
    for plugin in plugins:
        for section in plugin.prompt_sections:
            if section in owners:
                yield f"prompt section {section!r} of plugin {plugin.name!r} already belongs to {owners[section]}"
            owners.setdefault(section, f"plugin {plugin.name!r}")


def _skill_faults(plugins: list[Plugin], skills: list[Skill]) -> Iterator[str]:
    own = duplicate_names(skills)
    for name in duplicate_names([*skills, *(skill for plugin in plugins for skill in plugin.skills)]):
        if name not in own:
            yield f"skill {name!r} is given more than once"


def _check_names(config: RuntimeConfig, registry: Registry) -> None:
    for key, names in (("disabledActions", config.disabled_actions), ("actionPolicy", list(config.action_policy))):
        for name in names:
            if registry.get(name) is None:
                hint = did_you_mean(name, registry.names)
                raise ConfigInvalid(f"config: {key!r} names an unknown action {name!r}{hint} (exact names only)")


def _switched_off(
    config: RuntimeConfig, registry: Registry, catalog: SkillCatalog, capabilities: Mapping[str, str | None]
) -> dict[str, str]:
    """Actions that are disabled for the whole runtime, and why."""
    off: dict[str, str] = {}
    for action in registry:
        capability = action.built_in.capability if action.built_in else None
        if action.name in config.disabled_actions:
            off[action.name] = "disabled by disabledActions"
        elif capability and (why := capabilities[capability]):
            off[action.name] = why
        elif capability in _SKILL_CAPABILITIES and not catalog.visible():
            off[action.name] = "there is no skill"
        elif action.name == "web_search" and config.web_search is None:
            off[action.name] = "no search provider is configured"
    return off


def _plugin_policy(
    config: RuntimeConfig, plugins: list[Plugin], registry: Registry, faults: list[str]
) -> dict[str, tuple[str, PolicyEntry]]:
    """The strictest entry for each action that a plugin names; one looser than the host's is a fault."""
    strictest: dict[str, tuple[str, PolicyEntry]] = {}
    for plugin in plugins:
        for name, value in plugin.policy.items():
            action = registry.get(name)
            if action is None:
                hint = did_you_mean(name, registry.names)
                faults.append(f"policy of plugin {plugin.name!r} names an unknown action {name!r}{hint}")
                continue
            entry = _policy_entry(plugin, name, value)
            host = base_decision(action, config.action_policy)
            if STRICTNESS[entry.action] < STRICTNESS[host.action]:
                faults.append(f"policy of plugin {plugin.name!r} loosens {name!r} from {host.action} to {entry.action}")
                continue
            known = strictest.get(name)
            if known is None or STRICTNESS[entry.action] > STRICTNESS[known[1].action]:
                strictest[name] = (plugin.name, entry)
    return strictest


def _policy_entry(plugin: Plugin, name: str, value: Any) -> PolicyEntry:
    where = f"policy of plugin {plugin.name!r} for {name!r}"
    if isinstance(value, PolicyEntry):
        return value
    if isinstance(value, str):
        if value not in STRICTNESS:
            raise CompositionInvalid(f"{where}: must be 'allow', 'ask' or 'deny'")
        return entry_of(value)  # type: ignore[arg-type]
    return parse(PolicyEntry, value, where, CompositionInvalid)
