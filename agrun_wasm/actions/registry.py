"""The registry: every action of a runtime by name and alias. Rules: document 2, 2.4 Registry.

Owns names. What is offered at a given moment is the planner's surface.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agrun_wasm.actions.definition import Action
from agrun_wasm.contracts.action import ActionInfo

#: native tools of the planner's own decisions -> the decision's type; ask_clarification is an action
DECISION_TOOLS = {"plan": "plan", "finalize": "finalize", "final_answer": "final"}


def bare_name(named: str) -> str:
    """A name as a model may have written it, without blanks, `functions.` and capitals (2.3)."""
    return named.strip().removeprefix("functions.").casefold()


class Registry:
    """Actions in registration order. Whoever builds one asks `name_conflicts` first; a later namesake replaces."""

    def __init__(self, actions: Iterable[Action]) -> None:
        self._actions: dict[str, Action] = {}
        self._folded: dict[str, Action] = {}
        for action in actions:
            self._actions[action.name] = action
        self._aliases = {alias: action for action in self for alias in action.aliases if alias not in self._actions}
        for spelled, action in (*self._aliases.items(), *self._actions.items()):
            self._folded[spelled.casefold()] = action

    def __iter__(self) -> Iterator[Action]:
        return iter(self._actions.values())

    @property
    def names(self) -> list[str]:
        return list(self._actions)

    def get(self, name: str) -> Action | None:
        """By exact registered name."""
        return self._actions.get(name)

    def resolve(self, named: str) -> Action | None:
        """What the model means by `named`: name before alias, without `functions.`, in any case (2.3)."""
        for spelled in (named, named.removeprefix("functions.")):
            found = self._actions.get(spelled) or self._aliases.get(spelled)
            if found:
                return found
        return self._folded.get(bare_name(named))

    def name_of(self, named: str) -> str | None:
        """The registered name that `named` is, exactly or as an alias."""
        found = self._actions.get(named) or self._aliases.get(named)
        return found.name if found else None

    def list(self) -> list[ActionInfo]:
        """Every registered action; public state only."""
        return [action.info() for action in self]


def name_conflicts(actions: Iterable[Action]) -> list[str]:
    """Every name or alias that two actions (or an action and a decision tool) share, in words."""
    conflicts: list[str] = []
    owners: dict[str, Action | None] = dict.fromkeys(DECISION_TOOLS)
    taken = list(actions)
    for action in taken:
        if action.name in owners:
            conflicts.append(f"action {action.name!r} of {action.origin}: the name is {_owner(owners[action.name])}")
        else:
            owners[action.name] = action
    for action in taken:
        for alias in action.aliases:
            other = owners.get(alias, action)
            if alias in owners and (other is not action or alias == action.name):
                conflicts.append(f"alias {alias!r} of action {action.name!r} ({action.origin}): it is {_owner(other)}")
            else:
                owners[alias] = action
    return conflicts


def _owner(action: Action | None) -> str:
    if action is None:
        return "the name of a decision tool"
    return f"already used by action {action.name!r} of {action.origin}"
