"""Whether a run that got a case's stream can go on: the history of its next request, as it goes over the wire.

Servers refuse a whole conversation for one call whose arguments are no JSON or that has no result.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agrun_wasm import Runtime
from agrun_wasm.contracts.ports import Fetch, FetchRequest
from tests.clock import FakeClock

#: kind of a call on the wire, or None for Chat Completions' own form -> where its id stands, and that of its result
_CALL_IDS = {"function": "id", "tool_use": "id", "function_call": "call_id"}
_RESULT_IDS = ("tool_call_id", "tool_use_id")


async def history_faults(provider: Mapping[str, Any], fetch: Fetch, requests: list[FetchRequest]) -> list[str]:
    """Faults of the second request of a run over `fetch`, whose first answer is the stream in question."""
    async with Runtime(
        provider=dict(provider),
        fetch=fetch,
        clock=FakeClock(),
        actionPolicy={"read_url": "deny"},
        maxSteps=2,
        maxInvalidDecisions=2,
        nativeToolsFailurePolicy="hard_fail",
    ) as runtime:
        await runtime.run("Go on.")
    return (
        [f"next request: {fault}" for fault in _faults(json.loads(requests[1].body or b"{}"))] if requests[1:] else []
    )


def _faults(body: Any) -> Iterator[str]:
    nodes = list(_objects(body))
    answered = {str(node[key]) for node in nodes for key in _RESULT_IDS if key in node}
    answered |= {str(node.get("call_id")) for node in nodes if node.get("type") == "function_call_output"}
    for node in nodes:
        key = _CALL_IDS.get(str(node.get("type")))
        if key in node and ("function" in node or node.get("type") != "function") and str(node[key]) not in answered:
            yield f"the call {node[key]} has no result"
        arguments = node.get("arguments", node.get("input") if node.get("type") == "tool_use" else {})
        try:
            parsed = json.loads(arguments) if isinstance(arguments, str) else arguments
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            yield f"arguments that are no JSON object: {arguments!r:.80}"


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of the messages; schemas of the offered tools are none of them."""
    if isinstance(value, list):
        for item in value:
            yield from _objects(item)
    elif isinstance(value, dict):
        yield value
        for key, item in value.items():
            if key != "tools":
                yield from _objects(item)
