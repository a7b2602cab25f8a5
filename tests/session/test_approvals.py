"""Answers to approvals: every wrong one is refused before anything changes; ids and hashes derive from the run."""

from __future__ import annotations

from typing import Any

import pytest

from agrun_wasm import ApprovalInvalid, ConfigInvalid, Runtime
from tests.kit import adder, calls, scripted
from tests.stores import MemoryStore

ASKS = {"actions": [adder(tier=1)]}


async def blocked(*, count: int = 1, **keys: Any) -> tuple[Runtime, dict[str, Any], list[str]]:
    """A runtime, the state of a run that waits for `count` approvals, and their ids."""
    asked = calls(*(("add", {"a": n, "b": 1}) for n in range(count)))
    runtime, _ = scripted([asked, {"text": "ok"}], **{**ASKS, **keys})
    result = await runtime.run("2 + 3?")
    assert result.output is not None
    return runtime, result.state, [approval["approvalId"] for approval in result.output["approvals"]]


@pytest.mark.parametrize("word", ["approve", "deny"])
@pytest.mark.parametrize(
    ("reason", "spoil"),
    [
        ("unknown", lambda runtime, state, ids: ids.__setitem__(0, f"{state['runId']}:approval:99")),
        ("wrong_run", lambda runtime, state, ids: ids.__setitem__(0, "run-999:approval:1")),
        ("args_changed", lambda runtime, state, ids: state["approvals"]["pending"][0]["args"].update(a=9)),
        ("args_changed", lambda runtime, state, ids: state["cycle"]["calls"][0]["args"].update(a=9)),
        ("expired", lambda runtime, state, ids: runtime.clock.advance(900_001)),
    ],
)
async def test_a_wrong_answer_is_refused_and_changes_nothing(word: str, reason: str, spoil: Any) -> None:
    runtime, state, ids = await blocked()
    spoil(runtime, state, ids)
    with pytest.raises(ApprovalInvalid) as caught:
        await runtime.resume(state, {ids[0]: word})
    assert caught.value.code == "APPROVAL_INVALID"
    assert caught.value.reason == reason
    assert ids[0] in caught.value.message
    assert state["approvals"]["pending"]
    assert state["approvals"]["resolved"] == []


async def test_an_approval_is_used_once_per_runtime() -> None:
    runtime, state, ids = await blocked()
    assert (await runtime.resume(state, {ids[0]: "approve"})).status == "completed"
    with pytest.raises(ApprovalInvalid) as caught:
        await runtime.resume(state, {ids[0]: "approve"})
    assert caught.value.reason == "used"


async def test_an_approval_is_valid_at_its_very_end() -> None:
    runtime, state, ids = await blocked()
    runtime.clock.advance(900_000)  # type: ignore[attr-defined]
    assert (await runtime.resume(state, {ids[0]: "deny"})).status == "completed"


async def test_one_wrong_answer_spoils_no_other() -> None:
    runtime, state, ids = await blocked(count=2)
    with pytest.raises(ApprovalInvalid):
        await runtime.resume(state, {ids[0]: "approve", "bogus": "approve"})
    assert (await runtime.resume(state, {ids[0]: "approve", ids[1]: "deny"})).status == "completed"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("yes", ["approve", "deny"]),
        (True, ["approve", "deny"]),
        (None, ["approve", "deny"]),
        ({}, ["approve", "deny"]),
        ({"decision": "ok"}, ["approve", "deny"]),
        ({"decision": "deny", "nots": "x"}, ["nots", "note"]),
        ({"decision": "deny", "note": 5}, ["note"]),
    ],
)
async def test_an_answer_of_another_form_is_a_config_error(answer: Any, words: list[str]) -> None:
    runtime, state, ids = await blocked()
    with pytest.raises(ConfigInvalid) as caught:
        await runtime.resume(state, {ids[0]: answer})
    for word in (ids[0], *words):
        assert word in caught.value.message


async def test_what_is_asked_is_complete_and_derives_from_the_run() -> None:
    runtime, state, _ = await blocked(count=2)
    first, second = (await runtime.resume(state)).output["approvals"]  # type: ignore[index]
    assert sorted(first) == sorted(
        ["approvalId", "actionName", "args", "argsHash", "reason", "tier", "permission", "expiresAt"]
    )
    assert first["approvalId"] == f"{state['runId']}:approval:1"
    assert second["approvalId"] == f"{state['runId']}:approval:2"
    assert first["argsHash"] != second["argsHash"]
    again = await (await blocked(count=2))[0].resume((await blocked(count=2))[1])
    assert [a["argsHash"] for a in again.output["approvals"]] == [first["argsHash"], second["argsHash"]]  # type: ignore[index]


async def test_an_approval_is_used_once_per_store() -> None:
    store = MemoryStore()
    runtime, state, ids = await blocked(store=store)
    await runtime.resume(state, {ids[0]: "approve"})
    fresh, _ = scripted([{"text": "ok"}], store=store, **ASKS)
    with pytest.raises(ApprovalInvalid) as caught:
        await fresh.resume(state, {ids[0]: "approve"})
    assert caught.value.reason == "used"


async def test_a_resume_by_id_after_another_one_does_not_run_the_call_again() -> None:
    """Two people press the button at once: the second sees the state that the first left, not the one it knew."""
    import asyncio

    ran: list[int] = []

    async def pay(context: Any, args: dict[str, Any]) -> str:
        ran.append(1)
        await asyncio.sleep(0)
        return "paid"

    runtime, state, ids = await blocked(store=MemoryStore(), actions=[adder(tier=1, execute=pay)])
    both = await asyncio.gather(
        *(runtime.resume(state["runId"], {ids[0]: "approve"}) for _ in range(2)), return_exceptions=True
    )
    assert len(ran) == 1
    assert sorted(type(one).__name__ for one in both) == ["ApprovalInvalid", "RunResult"]
