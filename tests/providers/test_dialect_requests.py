"""What each dialect sends: golden bodies of one long conversation, addresses, headers, settings, the cost of history.

A golden file that changes is read again by a person; AGRUN_WRITE_GOLDEN=1 writes them anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.errors import ConfigInvalid, ProviderError
from agrun_wasm.contracts.model import Message, ModelRequest, ToolCall, ToolSpec
from agrun_wasm.contracts.ports import FetchRequest
from agrun_wasm.contracts.request import ImagePart
from agrun_wasm.providers.collect import collect
from agrun_wasm.providers.encoding import wire
from agrun_wasm.providers.registry import create_provider
from agrun_wasm.providers.turns import History, Turn, turns
from tests.fakes.clock import RecordingClock
from tests.fakes.fetch import FakeFetch, FakeResponse

GOLDEN = Path(__file__).parent / "golden"
DIALECTS = ("openai", "openai-compatible", "openai-responses", "anthropic", "gemini")
each_dialect = pytest.mark.parametrize("dialect", DIALECTS)

PNG = ImagePart(type="image", url="data:image/png;base64,iVBORw0KGgo=", mime_type="image/png")
FAR = ImagePart(type="image", url="https://example.org/a.jpg", mime_type="image/jpeg")

TOOLS = (
    ToolSpec(
        "read_url",
        "Reads a page.",
        {
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "Where."},
                "mode": {"type": "string", "enum": ["auto", "text"]},
                "range": {
                    "type": "object",
                    "properties": {"start": {"type": "integer", "minimum": 1}},
                    "additionalProperties": False,
                },
                "tags": {"type": "array"},
            },
            "required": ["url"],
            "additionalProperties": False,
        },
    ),
    ToolSpec("open to any.key", "Takes anything.", {"type": "object"}),
)

#: as a run's transcript may come to hold it: reasoning kept for each provider, a broken call, ids of other providers
MESSAGES = (
    Message(role="user", text="What is on ärger.de?", images=[PNG, FAR], kind="prompt"),
    Message(
        role="assistant",
        text="Let me look.",
        tool_calls=[
            ToolCall(
                id="call:1",
                name="read_url",
                args_text='{"url": "https://ärger.de"}',
                provider_data={
                    "openai": {"extra_content": {"google": {"thought_signature": "c2ln"}}},
                    "openai-responses": {"id": "fc_1"},
                    "gemini": {"thoughtSignature": "c2ln"},
                },
            ),
            ToolCall(id="agrun_1_1_1", name="no such tool!", args_text='{"cut'),
        ],
        provider_data={
            "openai": {"reasoning_content": "Hm."},
            "openai-responses": [
                {"raw": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j"}},
                {"text": 12},
                {"call": "call:1"},
                {"call": "agrun_1_1_1"},
            ],
            "anthropic": [
                {"raw": {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}},
                {"text": 12},
                {"raw": {"type": "redacted_thinking", "data": "eHh4"}},
                {"call": "call:1"},
                {"call": "agrun_1_1_1"},
            ],
            "gemini": [{"text": 4}, {"text": 8, "with": {"thoughtSignature": "dHh0"}}, {"call": "call:1"}],
        },
        cycle=1,
    ),
    Message(role="tool", tool_call_id="call:1", tool_name="read_url", text="Ärger & Söhne", images=[PNG], cycle=1),
    Message(role="tool", tool_call_id="agrun_1_1_1", tool_name="no such tool!", text="", is_error=True, cycle=1),
    Message(role="user", text="Two steps are left.", cycle=2),
    Message(role="user", text="", cycle=2),
    Message(role="assistant", text="", cycle=2),
    Message(role="user", text="Half \ud83c of a pair, go on."),
)
REQUEST = ModelRequest(
    purpose="planner",
    system="You plan.\nShort.",
    messages=MESSAGES,
    tools=TOOLS,
    settings={"temperature": 0.5, "maxTokens": 300},
    stable_prefix=5,
)
ONE = ModelRequest(purpose="section", system="", messages=(Message(role="user", text="hi"),))


async def sent(dialect: str, request: ModelRequest = ONE, *, platform: Any = "host", **more: Any) -> FetchRequest:
    fetch = FakeFetch([FakeResponse([b"data: [DONE]\n\n"], 400)], platform=platform)
    base = {"base_url": "http://127.0.0.1:9/v1"} if dialect == "openai-compatible" else {}
    given = {"name": dialect, "model": "some-model", "api_key": SecretStr("sk-key"), **base, **more}
    provider: Any = create_provider(ProviderConfig(**given), {}, fetch, RecordingClock())
    with pytest.raises(ProviderError):
        await collect(provider.stream(request), lambda event: None)
    return fetch.requests[0]


async def body(dialect: str, request: ModelRequest = ONE, **more: Any) -> Any:
    return json.loads((await sent(dialect, request, **more)).body or b"")


@each_dialect
async def test_golden(dialect: str) -> None:
    text = json.dumps(await body(dialect, REQUEST), ensure_ascii=False, indent=1) + "\n"
    path = GOLDEN / f"{dialect}.json"
    if os.environ.get("AGRUN_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


@each_dialect
async def test_a_conversation_may_begin_with_the_assistant_and_be_short(dialect: str) -> None:
    request = ModelRequest("repair", "", (Message(role="assistant", text="a"), Message(role="user", text="b")))
    out = await body(dialect, request)
    listed = out.get("messages") or out.get("input") or out.get("contents")
    if dialect in ("anthropic", "gemini"):
        assert listed[0]["role"] == "user"
        assert len(listed) == 3
    assert "tools" not in out


@each_dialect
async def test_text_goes_out_unescaped_and_always_as_utf8(dialect: str) -> None:
    raw = (await sent(dialect, REQUEST)).body or b""
    assert "Ärger & Söhne" in raw.decode()
    assert "Half \ufffd of" in raw.decode()


ADDRESSES = [
    ("openai", None, "https://api.openai.com/v1/chat/completions"),
    ("openai", "https://api.example.com//v1//", "https://api.example.com/v1/chat/completions"),
    ("openai", "https://api.example.com/v1/chat/completions", "https://api.example.com/v1/chat/completions"),
    ("openai", " https://api.example.com/v1/chat ", "https://api.example.com/v1/chat/completions"),
    ("openai", "https://api.example.com?tenant=a", "https://api.example.com/v1/chat/completions?tenant=a"),
    ("openai", "https://g.example/v1beta/openai/", "https://g.example/v1beta/openai/chat/completions"),
    ("openai", "https://g.example/api/paas/v4", "https://g.example/api/paas/v4/chat/completions"),
    ("openai", "http://[::1]:8080", "http://[::1]:8080/v1/chat/completions"),
    (
        "openai",
        "https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
        "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
    ),
    ("openai", "http://h/v1/providers/openai", "http://h/v1/providers/openai/chat/completions"),
    ("openai-responses", None, "https://api.openai.com/v1/responses"),
    ("openai-responses", "https://h/v1/responses", "https://h/v1/responses"),
    ("anthropic", None, "https://api.anthropic.com/v1/messages"),
    ("anthropic", "https://h/v1/", "https://h/v1/messages"),
    (
        "gemini",
        None,
        "https://generativelanguage.googleapis.com/v1beta/models/some-model:streamGenerateContent?alt=sse",
    ),
    ("gemini", "https://h/v1/models/?x=1", "https://h/v1/models/some-model:streamGenerateContent?x=1&alt=sse"),
]


@pytest.mark.parametrize(("dialect", "base", "url"), ADDRESSES)
async def test_address(dialect: str, base: str | None, url: str) -> None:
    assert (await sent(dialect, base_url=base)).url == url


async def test_a_page_may_name_a_path_of_its_own_origin() -> None:
    assert (await sent("openai", platform="browser", base_url="/v1/providers/o")).url == (
        "/v1/providers/o/chat/completions"
    )


@pytest.mark.parametrize("base", ["api.example.com/v1", "ftp://h/", "http://", "/v1", "http://u:pass@h/", "http://[x/"])
def test_what_is_no_base_url_is_refused_without_an_echo(base: str) -> None:
    config = ProviderConfig(name="openai", model="m", base_url=base)
    with pytest.raises(ConfigInvalid, match="baseUrl") as caught:
        create_provider(config, {}, FakeFetch([]), RecordingClock())
    assert len(base) < 8 or base not in caught.value.message


HEADERS: dict[str, dict[str, str]] = {
    "openai": {"authorization": "Bearer sk-key"},
    "openai-compatible": {"authorization": "Bearer sk-key"},
    "openai-responses": {"authorization": "Bearer sk-key"},
    "anthropic": {"x-api-key": "sk-key", "anthropic-version": "2023-06-01"},
    "gemini": {"x-goog-api-key": "sk-key"},
}


@each_dialect
async def test_headers(dialect: str) -> None:
    json_type = {"content-type": "application/json"}
    request = await sent(dialect, timeout_ms=7)
    assert request.headers == {**json_type, **HEADERS[dialect]}
    assert "sk-key" not in request.url
    assert (request.method, request.timeout_ms, request.purpose) == ("POST", 7, "model")
    own = await sent(dialect, headers={"X-Team": SecretStr("t"), "Authorization": SecretStr("Basic x")})
    assert (own.headers["x-team"], own.headers["authorization"]) == ("t", "Basic x")
    in_page = (await sent(dialect, platform="browser")).headers
    only = {"anthropic-dangerous-direct-browser-access": "true"} if dialect == "anthropic" else {}
    assert in_page == {**json_type, **HEADERS[dialect], **only}


LIMITS = {
    "openai": "max_completion_tokens",
    "openai-compatible": "max_tokens",
    "openai-responses": "max_output_tokens",
    "anthropic": "max_tokens",
    "gemini": "maxOutputTokens",
}


@each_dialect
async def test_settings_go_in_as_they_are(dialect: str) -> None:
    settings = {"maxTokens": 7, "temperature": 0, "x_own": {"a": [1]}, "tool_choice": "auto", "model": "no"}
    out = await body(dialect, settings=settings)
    place = out["generationConfig"] if dialect == "gemini" else out
    assert (place[LIMITS[dialect]], place["temperature"], place["x_own"]) == (7, 0, {"a": [1]})
    assert "maxTokens" not in place
    assert out.get("model") != "no"
    if dialect != "gemini":
        assert "tool_choice" not in out
        assert (await body(dialect, REQUEST, settings=settings))["tool_choice"] == "auto"
    assert (await body(dialect, REQUEST, settings={"temperature": 1}))[
        "generationConfig" if dialect == "gemini" else "temperature"
    ] == ({"temperature": 0.5, "maxOutputTokens": 300} if dialect == "gemini" else 0.5)


async def test_settings_of_one_dialect() -> None:
    assert (await body("anthropic"))["max_tokens"] == 4096
    gemini = await body("gemini", settings={"safetySettings": [], "generationConfig": {"topK": 1}, "topP": 0.1})
    assert gemini["safetySettings"] == []
    assert gemini["generationConfig"] == {"topK": 1, "topP": 0.1}
    plain = await body("openai-responses")
    assert (plain["store"], "include" in plain) == (False, False)
    thinking = await body("openai-responses", settings={"reasoning": {"effort": "low"}})
    assert thinking["include"] == ["reasoning.encrypted_content"]
    assert "include" not in await body("openai-responses", settings={"reasoning": {}, "store": True})


async def test_a_schema_for_the_reply_where_a_provider_enforces_one() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    request = ModelRequest("planner", "", ONE.messages, response_schema=schema)
    assert (await body("openai", request))["response_format"]["json_schema"]["schema"] == schema
    assert (await body("openai-responses", request))["text"]["format"]["schema"] == schema
    assert (await body("gemini", request))["generationConfig"]["responseJsonSchema"] == schema
    assert "response_format" not in await body("openai-compatible", request)


@each_dialect
async def test_a_key_may_come_from_a_callable(dialect: str) -> None:
    async def later() -> SecretStr:
        return SecretStr(" sk-key\n")

    for source in (lambda: "sk-key", later):
        assert (await sent(dialect, api_key=source)).headers.items() >= HEADERS[dialect].items()


@pytest.mark.parametrize("dialect", ["openai", "openai-responses", "anthropic", "gemini"])
async def test_no_key_is_an_error_before_any_call(dialect: str) -> None:
    def broken() -> str:
        raise RuntimeError("sk-key is locked")

    for key in (None, SecretStr(" "), lambda: None, broken, SecretStr("schlüssel"), SecretStr("a\nb")):
        fetch = FakeFetch([FakeResponse()])
        config = ProviderConfig(name=dialect, model="m", api_key=key)
        provider: Any = create_provider(config, {}, fetch, RecordingClock())
        with pytest.raises(ProviderError) as caught:
            await collect(provider.stream(ONE), lambda event: None)
        assert caught.value.code == "PROVIDER_AUTH"
        assert "sk-key" not in caught.value.message
        assert fetch.requests == []


async def test_a_server_of_ones_own_needs_no_key() -> None:
    for dialect in DIALECTS:
        headers = (await sent(dialect, base_url="http://127.0.0.1:9", api_key=None)).headers
        assert not {"authorization", "x-api-key", "x-goog-api-key"} & set(headers)


def test_a_message_is_encoded_once_and_its_changed_copy_anew() -> None:
    made: list[str] = []

    def encode(message: Message) -> str:
        made.append(message.text)
        return message.text.upper()

    message = Message(role="user", text="a")
    shortened = message.model_copy(update={"text": "b"})
    assert [wire(m, "x", encode) for m in (message, message, shortened, shortened)] == ["A", "A", "B", "B"]
    again = shortened.model_copy(update={"text": "c"})
    saved = Message.model_validate(message.to_json())
    assert [wire(m, "x", encode) for m in (again, shortened, message.clone(), saved)] == ["C", "B", "A", "A"]
    assert made[:2] == ["a", "b"]


class Counted:
    """Writes a turn as the places of its messages, and notes that it did."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def __call__(self, turn: Turn, marks: Collection[int]) -> str:
        places = [place for place, _ in turn.results + turn.others]
        self.written.append("".join(f"{place}{'*' if place in marks else ''}" for place in places))
        return self.written[-1]


def said(*roles: str) -> tuple[Message, ...]:
    return tuple(Message.model_validate({"role": role, "text": role}) for role in roles)


def test_results_come_first_in_their_turn() -> None:
    messages = said("user", "assistant", "tool", "user", "tool", "user", "assistant")
    shown = [(t.by_model, [p for p, _ in t.results], [p for p, _ in t.others], t.end) for t in turns(messages)]
    assert shown == [(False, [], [0], 1), (True, [], [1], 2), (False, [2, 4], [3, 5], 6), (True, [], [6], 7)]
    assert [turn.by_model for turn in turns(said("assistant", "user"))] == [False, True, False]


def test_a_history_that_grows_is_not_written_again() -> None:
    count = Counted()
    history = History(count)
    first = said("user", "assistant", "tool")
    longer = (*first, *said("assistant", "tool", "user"))
    assert history.text(first) == "0,1,2"
    assert history.text(longer) == "0,1,2,3,45"
    assert history.text(longer) == "0,1,2,3,45"
    assert count.written == ["0", "1", "2", "2", "3", "45", "45"]
    assert history.text(first) == "0,1,2"
    other = (*first[:2], *said("user", "assistant"))
    assert history.text(other) == "0,1,2,3"
    assert count.written[7:] == ["0", "1", "2", "2", "3"]


def test_marks_are_written_for_one_request_only() -> None:
    history = History(Counted())
    messages = said("user", "assistant", "tool", "assistant", "tool")
    assert history.text(messages[:3], {0, 2}) == "0*,1,2*"
    assert history.text(messages, {2, 4}) == "0,1,2*,3,4*"
    assert history.text(messages, {0}) == "0*,1,2,3,4"
    assert history.text(messages) == "0,1,2,3,4"


@each_dialect
async def test_requests_of_one_run_are_as_if_each_were_the_first(dialect: str) -> None:
    fetch = FakeFetch([FakeResponse([b"data: [DONE]\n\n"], 400)])
    config = ProviderConfig(name=dialect, model="m", base_url="http://h/v1")
    shared: Any = create_provider(config, {}, fetch, RecordingClock())
    for length in (1, 4, 5, 8, 8, 2, 8):
        request = ModelRequest("planner", "s", MESSAGES[:length], stable_prefix=max(length - 3, 0))
        fresh: Any = create_provider(config, {}, fetch, RecordingClock())
        for provider in (shared, fresh):
            with pytest.raises(ProviderError):
                await collect(provider.stream(request), lambda event: None)
        assert fetch.requests[-1].body == fetch.requests[-2].body
