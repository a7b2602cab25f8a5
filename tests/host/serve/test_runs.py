"""Runs over HTTP: started, read along and left, taken up again, decided, stopped."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agrun_wasm import Action, Runtime
from tests.host.serve.server import Answer, Server, serving


class Model:
    """Orders where "order" is asked for; says the rest in two pieces, the second when it may."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.may.set()
        self.asked = 0
        self.ordered: list[str] = []

    async def stream(self, request: Any) -> AsyncIterator[dict[str, Any]]:
        import asyncio

        self.asked += 1
        last = request.messages[-1]
        if last.role == "user" and "order" in last.text:
            yield {"type": "tool-call", "id": "c", "name": "order", "args": {"sku": "A"}}
            yield {"type": "finished", "reason": "tool_calls"}
            return
        yield {"type": "text-delta", "text": "One, "}
        await asyncio.to_thread(self.may.wait, 20)
        yield {"type": "text-delta", "text": f"two of {len(request.messages)}."}
        yield {"type": "finished", "reason": "stop"}

    def runtime(self) -> Runtime:
        async def order(context: Any, args: Any) -> Any:
            self.ordered.append(args["sku"])
            return {"ordered": args["sku"]}

        schema = {"sku": {"type": "string", "required": True}}
        action = Action("order", "Orders.", 1, planner={"argsSchema": schema}, execute=order)
        return Runtime(provider="fake:m", providers={"fake": self}, actions=[action])


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def server(model: Model) -> Iterator[Server]:
    with serving(model.runtime()) as server:
        yield server


def test_a_run_is_started_and_told_to_its_end(server: Server) -> None:
    started = server.ask("POST", "/v1/runs", {"input": "hello", "session": "s"})
    assert started.status == 202
    run_id = started.json["runId"]
    assert started.headers["location"] == f"/v1/runs/{run_id}"
    told = server.whole(run_id)
    assert told[0]["event"] == "run"
    numbers = [int(event["id"]) for event in told if "id" in event]
    assert numbers == sorted(set(numbers))
    assert told[-1]["event"] == "result"
    assert "id" not in told[-1], "it has no number: whoever comes back names the last event"
    view = server.ask("GET", f"/v1/runs/{run_id}").json
    assert view == told[-1]["data"]
    assert view["status"] == "completed"
    assert view["result"]["output"]["text"] == "One, two of 1."
    assert "state" not in view["result"]
    again = server.ask(
        "POST", "/v1/runs", {"input": {"prompt": "and?"}, "session": "s"}, {"accept": "text/event-stream"}
    )
    assert again.headers["content-type"].startswith("text/event-stream")
    assert b"two of 3." in again.body, "the session goes on"


def test_a_run_outlives_its_client_and_a_client_comes_back_for_the_rest(server: Server, model: Model) -> None:
    model.may.clear()
    run_id = server.ask("POST", "/v1/runs", {"input": "hello"}).json["runId"]
    seen: list[dict[str, Any]] = []
    with server.events(f"/v1/runs/{run_id}/events") as events:
        for event in events:
            seen.append(event)
            if event["event"] == "delta":
                break
    model.may.set()
    seen += server.whole(run_id, after=int(seen[-1]["id"]))
    numbers = [int(event["id"]) for event in seen if "id" in event]
    assert numbers == sorted(set(numbers))
    assert [event["data"]["type"] for event in seen if "id" in event].count("run-completed") == 1
    assert model.asked == 1


def test_the_same_idempotency_key_is_the_same_run(server: Server, model: Model) -> None:
    answers = [server.ask("POST", "/v1/runs", {"input": "hello"}, {"idempotency-key": "k-1"}) for _ in range(3)]
    assert len({answer.json["runId"] for answer in answers}) == 1
    server.whole(answers[0].json["runId"])
    assert model.asked == 1
    assert (
        server.ask("POST", "/v1/runs", {"input": "hello"}, {"idempotency-key": "k-2"}).json["runId"]
        != answers[0].json["runId"]
    )


def test_an_idempotency_key_is_one_run_whatever_comes_at_once_and_no_other_one(server: Server, model: Model) -> None:
    key = {"idempotency-key": "k-3"}

    def post(body: Any) -> Answer:
        return server.ask("POST", "/v1/runs", body, key)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(post, [{"input": "hello", "session": "s"}] * 8))
    assert {answer.status for answer in answers} == {202}
    (run_id,) = {answer.json["runId"] for answer in answers}
    server.whole(run_id)
    assert model.asked == 1
    assert post({"input": {"prompt": "hello"}, "session": "s"}).json["runId"] == run_id, "the same in other words"
    for other in ({"input": "hello", "session": "t"}, {"input": "hello"}, {"input": "hello!", "session": "s"}):
        refused = post(other)
        assert (refused.status, refused.code) == (422, "RUN_ID_TAKEN")
        assert refused.json["error"]["hint"]
    assert model.asked == 1


def test_only_an_approval_and_its_answer_come_from_a_client(server: Server, model: Model) -> None:
    run_id = server.ask("POST", "/v1/runs", {"input": "order"}).json["runId"]
    blocked = server.whole(run_id)[-1]["data"]
    (approval,) = blocked["result"]["output"]["approvals"]
    path = f"/v1/runs/{run_id}/decisions"
    forged = server.ask("POST", path, {"decisions": {f"{run_id}:approval:9": "approve"}})
    assert (forged.status, forged.code) == (409, "APPROVAL_INVALID")
    for body in (
        {"decisions": {approval["approvalId"]: "yes"}},
        {"state": {}},
        {"decisions": {}, "args": {"sku": "B"}},
    ):
        refused = server.ask("POST", path, body)
        assert (refused.status, refused.code) == (400, "CONFIG_INVALID")
    assert model.ordered == []
    done = server.ask("POST", path, {"decisions": {approval["approvalId"]: {"decision": "approve", "note": "go"}}})
    assert done.status == 202
    assert server.whole(run_id)[-1]["data"]["status"] == "completed"
    replayed = server.ask("POST", path, {"decisions": {approval["approvalId"]: "approve"}})
    assert replayed.status == 409
    assert model.ordered == ["A"]


def test_any_client_stops_a_run(server: Server, model: Model) -> None:
    model.may.clear()
    run_id = server.ask("POST", "/v1/runs", {"input": "hello"}).json["runId"]
    with server.events(f"/v1/runs/{run_id}/events") as events:
        assert server.ask("POST", f"/v1/runs/{run_id}/stop", {}).status == 200
        assert list(events)[-1]["data"]["status"] == "aborted"
    model.may.set()
    assert server.ask("POST", f"/v1/runs/{run_id}/stop", {"how": "now"}).json["status"] == "aborted"
    assert server.ask("POST", f"/v1/runs/{run_id}/stop", {"how": "soon"}).status == 400


def test_a_whole_number_may_be_written_with_a_point(server: Server) -> None:
    asked = {"prompt": "hello", "requestedCitations": {"minUrlCount": 1}}
    raw = json.dumps({"input": asked}).replace(": 1}", ": 1.0}").encode()
    assert b"1.0" in raw
    assert server.ask("POST", "/v1/runs", raw=raw).status == 202
    for number in (b"1.5", b"1e999"):
        assert server.ask("POST", "/v1/runs", raw=raw.replace(b"1.0", number)).status == 400
