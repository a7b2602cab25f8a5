"""A Store in memory for tests: what it is given is kept as JSON text, as a real one would."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class MemoryStore:
    """The Store port. `saves` is every state that could have been loaded, in order, as text."""

    def __init__(self) -> None:
        self.runs: dict[str, Any] = {}
        self.sessions: dict[str, Any] = {}
        self.used: set[str] = set()
        self.saves: list[str] = []

    async def save_run(self, run_id: str, state: Mapping[str, Any]) -> None:
        self.runs[run_id] = json.loads(json.dumps(state, allow_nan=False))
        self._note(run_id)

    async def add_to_run(self, run_id: str, entry: Mapping[str, Any]) -> None:
        self.runs[run_id]["journal"].append(json.loads(json.dumps(entry, allow_nan=False)))
        self._note(run_id)

    def _note(self, run_id: str) -> None:
        self.saves.append(json.dumps(self.runs[run_id], ensure_ascii=False))

    async def load_run(self, run_id: str) -> Mapping[str, Any] | None:
        return self.runs.get(run_id)

    async def save_session(self, session_id: str, history: list[Any]) -> None:
        self.sessions[session_id] = json.loads(json.dumps(history))

    async def load_session(self, session_id: str) -> list[Any] | None:
        return self.sessions.get(session_id)

    async def use_approvals(self, approval_ids: list[str], run_id: str, state: Mapping[str, Any]) -> str | None:
        for approval_id in approval_ids:
            if approval_id in self.used:
                return approval_id
        self.used.update(approval_ids)
        await self.save_run(run_id, state)
        return None
