"""Action: a runtime-owned operation, from its parts or from a function. Rules: document 2, 2.4 Definition.

Owns the checks made when an action is created. Knows nothing of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, get_args

from agrun_wasm.actions.context import ActionContext
from agrun_wasm.actions.host_code import call_host
from agrun_wasm.contracts.action import ActionInfo, ArgSpec, ArgsSchema, ArgType, PlannerMeta
from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.contracts.naming import did_you_mean
from agrun_wasm.contracts.policy import Permission, PolicyEntry
from agrun_wasm.contracts.state import RunState
from agrun_wasm.contracts.validation import parse

#: `execute(context, args)`, sync or async; see `actions/protocol` for what it may return
Execute = Callable[[ActionContext, dict[str, Any]], Any]

_ARG_TYPES: tuple[str, ...] = get_args(ArgType)
_PERMISSION_KEYS = [f.alias or n for n, f in Permission.model_fields.items() if n != "source"]


class Prepared(NamedTuple):
    """A call that may go on: its canonical args, and steps that say what preparing did (`(type, detail)`)."""

    args: dict[str, Any]
    steps: tuple[tuple[str, dict[str, Any]], ...] = ()


class Refused(NamedTuple):
    """A call that must not run: the step action-args-invalid, and the problem code a plan reports (2.7).

    `key` is a path inside args; `detail` adds keys to the step (`toolName`); `steps` come before it.
    """

    error: str
    key: str | None = None
    reason: Literal["missing", "type", "enum", "preflight"] = "preflight"
    problem: str = "preflight_failed"
    detail: tuple[tuple[str, Any], ...] = ()
    steps: tuple[tuple[str, dict[str, Any]], ...] = ()


class BuiltIn(NamedTuple):
    """What only the runtime's own actions have.

    `prepare(state, args)` is the preflight; `gate(state, args)` the skillPolicy entry that applies to this call;
    `offered(state)` whether the action is on the surface at this moment. What the paths in `judges` lead to is shown to
    a model by the argsSchema, and judged by the action itself.
    """

    capability: str
    prepare: Callable[[RunState, dict[str, Any]], Prepared | Refused] | None = None
    gate: Callable[[RunState, dict[str, Any]], PolicyEntry | None] | None = None
    offered: Callable[[RunState], bool] | None = None
    judges: frozenset[str] = frozenset()

    def judges_itself(self, path: str | None) -> bool:
        """Is this path such an argument, or (where it ends with "[") inside of it?"""
        return path is not None and any(
            path.startswith(judged) if judged.endswith("[") else path == judged for judged in self.judges
        )


class Action:
    """One action. Raises CONFIG_INVALID, naming the action and the key, when its parts do not hold together.

    `planner` is a PlannerMeta, a mapping in its wire form, or False (never offered to the planner). `permission` is a
    mapping of what the host declares; missing fields are filled conservatively.
    """

    def __init__(
        self,
        name: str,
        description: str,
        tier: int | None = None,
        planner: PlannerMeta | Mapping[str, Any] | Literal[False] | None = None,
        permission: Mapping[str, Any] | None = None,
        timeout_ms: int = 30_000,
        execute: Execute | None = None,
        *,
        origin: str = "host",
        built_in: BuiltIn | None = None,
        parameters: frozenset[str] | None = None,
    ) -> None:
        if not _is_text(name) or not name.strip():
            raise ConfigInvalid("action: 'name' must be a non-empty string")
        where = f"action {name!r}"
        if not _is_text(description):
            raise ConfigInvalid(f"{where}: 'description' must be a string")
        if tier is None:
            raise ConfigInvalid(f"{where}: 'tier' is missing; give 0 (allow), 1 or 2 (ask) or 3 (deny)")
        if isinstance(tier, bool) or tier not in (0, 1, 2, 3):
            raise ConfigInvalid(f"{where}: 'tier' must be 0, 1, 2 or 3, not {tier!r}")
        if not _is_count(timeout_ms):
            raise ConfigInvalid(f"{where}: 'timeoutMs' must be a whole number of milliseconds, at least 1")
        if not callable(execute):
            raise ConfigInvalid(f"{where}: 'execute' must be callable")
        self.name = name
        self.description = description
        self.tier = tier
        self.timeout_ms = timeout_ms
        self.execute: Execute = execute
        self.origin = origin
        self.built_in = built_in
        #: the names a typed function takes; None: it takes whatever comes
        self.parameters = parameters
        #: what a registration of this action refuses: CONFIG_INVALID from a host, COMPOSITION_INVALID from a plugin
        self.planner, self.registration_fault = _planner_meta(planner, where, built_in)
        self.permission = _permission(permission, where, built_in)

    async def __call__(self, context: ActionContext | None = None, /, **args: Any) -> Any:
        """What `execute` returns for these arguments, without a run round it: for tests of the action alone."""
        return await call_host(self.execute, context or ActionContext(), args)

    @property
    def aliases(self) -> list[str]:
        return self.planner.aliases if self.planner else []

    @property
    def args_schema(self) -> ArgsSchema | None:
        return self.planner.args_schema if self.planner else None

    @property
    def standalone(self) -> bool:
        return bool(self.planner and self.planner.standalone)

    def info(self) -> ActionInfo:
        return ActionInfo(
            name=self.name, description=self.description, tier=self.tier, permission=self.permission.model_copy()
        )

    def __repr__(self) -> str:
        return f"Action({self.name!r}, tier={self.tier})"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _planner_meta(value: Any, where: str, built_in: BuiltIn | None) -> tuple[PlannerMeta | None, str | None]:
    """The metadata, and what registration will refuse of its argsSchema (the metadata then is without one)."""
    if value is False:
        return None, None
    if not isinstance(value, PlannerMeta | Mapping | None):
        raise ConfigInvalid(f"{where}: 'planner' must be a mapping or False, not {type(value).__name__}")
    fields = value.model_dump(by_alias=True) if isinstance(value, PlannerMeta) else dict(value or {})
    key = "argsSchema" if "argsSchema" in fields else "args_schema"
    fault = schema_fault(fields.get(key))
    if fault is not None:
        fields[key] = {}
    meta = parse(PlannerMeta, fields, where)
    if meta.args_schema is None and meta.args_schema_opt_out is None:
        raise ConfigInvalid(
            f"{where}: a planner-visible action needs 'argsSchema' or 'argsSchemaOptOut.reason' "
            "({} where it takes none; planner: false hides it)"
        )
    if meta.decision_type == "clarify" and built_in is None:
        raise ConfigInvalid(f"{where}: 'decisionType' clarify belongs to ask_clarification alone; leave it out")
    return meta, None if fault is None else f"{where}: argsSchema: {fault}"


def schema_fault(schema: Any, at: str = "") -> str | None:
    """What registration refuses of a raw argsSchema: an unknown type word, or an alias that is taken (2.4)."""
    if not isinstance(schema, Mapping):
        return None
    if not at and schema.get("type") == "object" and isinstance(schema.get("properties"), Mapping):
        return "it is a JSON Schema; give what stands in its 'properties', with required: true at each required key"
    owners: dict[str, str] = dict.fromkeys(schema, "")
    for key, entry in schema.items():
        fields = entry.model_dump() if isinstance(entry, ArgSpec) else entry
        if not isinstance(fields, Mapping):
            continue
        for alias in _strings(fields.get("aliases")):
            if alias in owners:
                taken = f"an alias of {owners[alias]!r}" if owners[alias] else "another key"
                return f"alias {alias!r} of {at + key!r} is already {taken}; rename one of them"
            owners[alias] = key
        if fault := _entry_fault(fields, f"{at}{key}"):
            return fault
    return None


def _entry_fault(fields: Mapping[str, Any], path: str) -> str | None:
    """The fault of one entry and of what is nested in it."""
    word = fields.get("type")
    if not isinstance(word, str) or word not in _ARG_TYPES:
        hint = did_you_mean(word, _ARG_TYPES) if isinstance(word, str) else ""
        return f"{path!r} has the unknown type {word!r:.40}{hint}; use one of {', '.join(_ARG_TYPES)}"
    items = fields.get("items")
    if isinstance(items, Mapping) and (fault := _entry_fault(items, f"{path}[]")):
        return fault
    return schema_fault(fields.get("properties"), f"{path}.")


def _strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _permission(declared: Any, where: str, built_in: BuiltIn | None) -> Permission:
    if not isinstance(declared, Mapping | None):
        raise ConfigInvalid(f"{where}: 'permission' must be a mapping, not {type(declared).__name__}")
    fields = dict(declared or {})
    fields.pop("source", None)  # the runtime's own word; a host's declares nothing (2.6)
    for key in fields:
        if key not in _PERMISSION_KEYS and key not in Permission.model_fields:
            raise ConfigInvalid(f"{where}: unknown key 'permission.{key}'{did_you_mean(key, _PERMISSION_KEYS)}")
    source = "built_in_metadata" if built_in else "host_declared" if fields else "host_default"
    return parse(Permission, {**fields, "source": source}, f"{where} permission")
