"""What a host hands to a runtime, checked at the door: each wrong thing is a typed error that says what and where."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from agrun_wasm.contracts.config import RuntimeConfig
from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.contracts.naming import did_you_mean
from agrun_wasm.contracts.request import RunInput
from agrun_wasm.contracts.validation import parse
from agrun_wasm.runtime.sessions import BUSY, Busy
from agrun_wasm.text.strict_json import without_surrogates

Input = str | Mapping[str, Any] | RunInput

HOOKS = ("beforeAction", "afterAction", "beforeFinalize")
_HOOK_SPELLINGS = {"before_action": "beforeAction", "after_action": "afterAction", "before_finalize": "beforeFinalize"}
#: port -> the methods it must have
PORTS: dict[str, tuple[str, ...]] = {
    "fetch": ("open",),
    "store": ("save_run", "add_to_run", "load_run", "save_session", "load_session", "use_approvals"),
    "journal": ("once",),
    "clock": ("now", "sleep"),
    "ids": ("new",),
}


def read_config(config: Any, keys: Mapping[str, Any]) -> RuntimeConfig:
    """The config from a RuntimeConfig, a mapping, or keywords; raises CONFIG_INVALID."""
    if config is None:
        return parse(RuntimeConfig, dict(keys), "config")
    if isinstance(config, RuntimeConfig):
        if keys:
            raise ConfigInvalid(f"config: give either a RuntimeConfig or keywords, not both ({', '.join(keys)})")
        return config
    given = mapping(config, "config")
    if twice := sorted(set(given) & set(keys)):
        raise ConfigInvalid(f"config: {twice[0]!r} is given twice")
    return parse(RuntimeConfig, {**given, **keys}, "config")


def read_input(value: Any) -> RunInput:
    """A prompt, or `{prompt, system?, parts?, conversation?, requestedCitations?}`; raises CONFIG_INVALID."""
    if isinstance(value, RunInput):
        value = value.to_json()
    asked = parse(RunInput, {"prompt": value} if isinstance(value, str) else value, "run input")
    written = json.dumps(asked.to_json(), ensure_ascii=False)
    clean = without_surrogates(written)  # what is saved and sent must be encodable
    return asked if clean == written else RunInput.model_validate(json.loads(clean))


def read_hooks(hooks: Any) -> dict[str, Any]:
    """Hooks under their wire names; raises CONFIG_INVALID for an unknown name or what cannot be called."""
    read: dict[str, Any] = {}
    for name, hook in mapping(hooks, "hooks").items():
        known = _HOOK_SPELLINGS.get(name, name)
        if known not in HOOKS:
            raise ConfigInvalid(f"hooks: unknown hook {name!r}{did_you_mean(name, [*HOOKS, *_HOOK_SPELLINGS])}")
        if hook is None:
            continue
        if not callable(hook):
            raise ConfigInvalid(f"hooks: {name!r} must be callable")
        read[known] = hook
    return read


def check_ports(**ports: Any) -> None:
    """Every given port has its methods (contracts/ports); raises CONFIG_INVALID."""
    for name, port in ports.items():
        if port is None:
            continue
        missing = [method for method in PORTS[name] if not callable(getattr(port, method, None))]
        if missing:
            raise ConfigInvalid(
                f"{name}: the port needs the method {missing[0]!r}, which {type(port).__name__} has not"
            )


def check_sources(sources: list[Any]) -> None:
    """Skill sources can list and load; raises CONFIG_INVALID."""
    for place, source in enumerate(sources):
        for method in ("list", "load"):
            if not callable(getattr(source, method, None)):
                raise ConfigInvalid(f"config: skillSources[{place}] needs an async `{method}`")


def read_session(session: Any, busy: Any) -> tuple[str | None, Busy]:
    """A session's id and what a second run on it does; raises CONFIG_INVALID."""
    if session is not None and (not isinstance(session, str) or not session):
        raise ConfigInvalid(f"session: the id must be a non-empty string, not {type(session).__name__}")
    if busy not in BUSY:
        hint = did_you_mean(busy, BUSY) if isinstance(busy, str) else ""
        raise ConfigInvalid(f"session: 'busy' must be 'wait' or 'refuse', not {busy!r:.40}{hint}")
    return session, cast("Busy", busy)


def mapping(value: Any, where: str) -> dict[str, Any]:
    """A mapping with string keys, copied; raises CONFIG_INVALID."""
    if not isinstance(value, Mapping):
        raise ConfigInvalid(f"{where}: must be a mapping, not {type(value).__name__}")
    for key in value:
        if not isinstance(key, str):
            raise ConfigInvalid(f"{where}: keys must be strings, not {type(key).__name__}")
    return dict(value)
