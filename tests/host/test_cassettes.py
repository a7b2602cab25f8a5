"""Cassettes: what is recorded plays again through each dialect's parser, holds no key, and says what it misses."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from agrun_host import Cassette, Runtime
from agrun_wasm.contracts.errors import AgrunError
from agrun_wasm.contracts.ports import FetchError, FetchRequest
from agrun_wasm.providers.cassette import CassetteMiss, RecordingFetch, ReplayingFetch
from agrun_wasm.providers.cassette_text import CassetteInvalid, CassetteVersionUnsupported, read_text
from tests.fakes.providers import FakeProviders
from tests.host.kit import page, read, serving
from tests.kit import adder

KEY = "sk-märker+/0123456789"
PLAIN_KEY = "sk-marker+/0123456789"
SPELLINGS = [PLAIN_KEY, quote(PLAIN_KEY, safe=""), base64.b64encode(PLAIN_KEY.encode()).decode().rstrip("=")]
TURNS = [{"toolCalls": [{"name": "add", "args": {"a": 2, "b": 3}}]}, {"text": "Grüße: 5."}]
DIALECTS = ["openai", "openai-responses", "anthropic", "gemini", "openai-compatible"]


def provider(name: str, url: str, key: str = PLAIN_KEY) -> dict[str, Any]:
    return {"name": name, "model": "m", "baseUrl": url, "apiKey": key}


async def asked(cassette: Cassette, name: str, url: str, prompt: str = "2 + 3?", key: str = PLAIN_KEY) -> Any:
    async with Runtime(provider=provider(name, url, key), actions=[adder()], fetch=cassette.fetch) as runtime:
        return await runtime.run(prompt)


@pytest.mark.parametrize("name", DIALECTS)
async def test_a_run_plays_again_without_its_server_and_with_another_key(name: str, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    async with FakeProviders([{**turn, "split": "every_byte"} for turn in TURNS]) as server:
        async with Cassette(file) as cassette:
            first = await asked(cassette, name, server.url)
        url = server.url
    async with Cassette(file) as cassette:
        assert cassette.mode == "replay"
        again = await asked(cassette, name, url, key="another-key")
        assert cassette.fetch.unused == []  # type: ignore[union-attr]
    assert first.text == again.text == "Grüße: 5."
    assert [step.type for step in again.steps] == [step.type for step in first.steps]


async def test_chunk_borders_are_kept_even_within_a_character(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    async with FakeProviders([{"text": "Grüße", "split": "every_byte"}]) as server, Cassette(file) as cassette:
        await asked(cassette, "openai", server.url)
        live = [chunk for chunk, _ in cassette.fetch._exchanges[0].chunks]  # type: ignore[union-attr]
    recorded = read_text(file.read_text(encoding="utf-8"))[0]
    assert [chunk for chunk, _ in recorded.chunks] == live
    assert any(len(chunk.decode("utf-8", "ignore").encode()) < len(chunk) for chunk in live)


ECHOES = [
    {"text": f"Your key is {PLAIN_KEY}."},
    {"text": f"Your key is {PLAIN_KEY}.", "split": "every_byte"},
    {"error": {"status": 401, "body": json.dumps({"error": {"message": f"Incorrect key: {PLAIN_KEY}"}})}},
    {"raw": [f'data: {{"echo": "{SPELLINGS[1]}"}}\n\n', f"data: {SPELLINGS[2]}\n\n"]},
]


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("echo", ECHOES, ids=["whole", "bytes", "error", "spellings"])
async def test_no_key_is_written(name: str, echo: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    async with FakeProviders([echo]) as server, Cassette(file, "record") as cassette:
        await asked(cassette, name, server.url, prompt=f"Is it {PLAIN_KEY}?")
    exchanges = read_text(file.read_text(encoding="utf-8"))
    bodies = b"".join(chunk for exchange in exchanges for chunk, _ in exchange.chunks).decode("utf-8", "replace")
    for spelling in SPELLINGS:
        assert spelling not in file.read_text(encoding="utf-8")
        assert spelling not in bodies


async def test_a_key_that_was_streamed_in_deltas_is_in_no_joined_text() -> None:
    deltas = [PLAIN_KEY[at : at + 3] for at in range(0, len(PLAIN_KEY), 3)]
    events = "".join(f"data: {json.dumps({'choices': [{'delta': {'content': text}}]})}\n\n" for text in deltas)
    async with serving(lambda *_: page(body=events.encode())) as url:
        from agrun_host import HttpFetch

        transport = HttpFetch()
        recording = RecordingFetch(transport)
        await read(recording, FetchRequest("POST", url, {"authorization": f"Bearer {PLAIN_KEY}"}))  # type: ignore[arg-type]
        await transport.aclose()
    body = b"".join(chunk for chunk, _ in read_text(recording.text())[0].chunks).decode()
    texts = [json.loads(line[5:])["choices"][0]["delta"]["content"] for line in body.splitlines() if line]
    assert "".join(texts) == "[redacted]"


async def test_a_key_in_a_url_is_not_written() -> None:
    async with serving(lambda *_: page(body=b"ok")) as url:
        from agrun_host import HttpFetch

        transport = HttpFetch()
        recording = RecordingFetch(transport)
        await read(recording, FetchRequest("GET", f"{url}/a?key={quote(KEY)}&q=1", purpose="search"))  # type: ignore[arg-type]
        await transport.aclose()
    assert "0123456789" not in recording.text()
    replaying = ReplayingFetch(read_text(recording.text()))
    assert (await read(replaying, FetchRequest("GET", f"{url}/a?key=other-key&q=1", purpose="search")))[1] == b"ok"  # type: ignore[arg-type]


def exchange_lines(*answers: tuple[str, str]) -> str:
    lines: list[dict[str, Any]] = [{"cassette": 1}]
    for body, answer in answers:
        request = {"method": "POST", "url": "https://api.invalid/v1", "purpose": "search", "body": json.loads(body)}
        lines += [{"request": request}, {"response": {"status": 200, "headers": {}}}, {"chunk": answer}]
        lines.append({"end": "complete"})
    return "\n".join(json.dumps(line) for line in lines)


def post(body: str) -> FetchRequest:
    return FetchRequest("POST", "https://api.invalid/v1", body=body.encode(), purpose="search")


async def answer(port: ReplayingFetch, body: str) -> str:
    return (await read(port, post(body)))[1].decode()  # type: ignore[arg-type]


async def test_equal_requests_are_answered_in_order_whatever_the_order_of_their_keys() -> None:
    port = ReplayingFetch(read_text(exchange_lines(('{"a": 1, "b": 2}', "one"), ('{"b": 2, "a": 1}', "two"))))
    assert [await answer(port, '{"b":2,"a":1}'), await answer(port, '{"a":1,"b":2}')] == ["one", "two"]
    with pytest.raises(FetchError, match="2 times, and it was asked once more"):
        await answer(port, '{"a":1,"b":2}')


async def test_several_calls_at_once_each_get_their_own() -> None:
    port = ReplayingFetch(read_text(exchange_lines(*((f'{{"n": {n}}}', str(n)) for n in range(20)))))
    assert await asyncio.gather(*(answer(port, f'{{"n": {n}}}') for n in range(19, -1, -1))) == [
        str(n) for n in range(19, -1, -1)
    ]


async def test_ids_of_calls_count_by_their_order_and_those_in_a_tools_own_data_as_they_are() -> None:
    said = '{"messages": [{"tool_calls": [{"id": "%s"}]}, {"tool_call_id": "%s"}]}'
    port = ReplayingFetch(read_text(exchange_lines((said % ("x1", "x1"), "ok"), ('{"input": {"id": "a"}}', "data"))))
    with pytest.raises(FetchError, match="tool_call_id"):
        await answer(port, said % ("y1", "y2"))
    with pytest.raises(FetchError, match=r"input\.id"):
        await answer(port, '{"input": {"id": "b"}}')
    assert await answer(port, said % ("y1", "y1")) == "ok"


async def test_a_miss_ends_the_run_and_names_the_place_that_differs(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    async with FakeProviders([{"text": "Hello."}]) as server:
        async with Cassette(file) as cassette:
            await asked(cassette, "openai", server.url)
        url = server.url
    with pytest.raises(CassetteMiss, match="number 1") as missed:
        async with Cassette(file) as cassette:
            result = await asked(cassette, "openai", url, prompt="2 + 4?")
    assert result.status == "failed"
    assert result.error.details["reason"] == "cassette_miss"
    [difference] = missed.value.details["differences"]
    assert difference.startswith("body.messages[1].content: recorded ")
    assert "2 + 3?" in difference
    assert "2 + 4?" in difference


async def test_a_call_that_failed_fails_again(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    call = FetchRequest("GET", "http://127.0.0.1:9")
    with pytest.raises(FetchError) as first:
        async with Cassette(file) as cassette:
            await read(cassette.fetch, call)  # type: ignore[arg-type]
    with pytest.raises(FetchError) as again:
        async with Cassette(file) as cassette:
            await read(cassette.fetch, call)  # type: ignore[arg-type]
    assert (again.value.kind, again.value.message) == (first.value.kind, first.value.message)


async def test_waits_between_chunks_are_kept_as_data_and_kept_to() -> None:
    class Counted:
        slept: list[float] = []

        def now(self) -> float:
            return 0.0

        async def sleep(self, ms: float) -> None:
            self.slept.append(ms)

    text = exchange_lines(('{"a": 1}', "one")).replace('"chunk": "one"', '"chunk": "one", "afterMs": 12.5')
    assert await answer(ReplayingFetch(read_text(text), clock=Counted()), '{"a": 1}') == "one"
    assert Counted.slept == [12.5]


WRONG = [
    ("", CassetteInvalid, "this is no cassette"),
    ('{"cassette": 2}', CassetteVersionUnsupported, "of version 2, and this agrun reads version 1"),
    ('{"cassette": 1}\nnope', CassetteInvalid, "line 2 is not JSON"),
    ('{"cassette": 1}\n{"chunk": "x"}', CassetteInvalid, "line 2 is no line of a cassette"),
    ('{"cassette": 1}\n{"request": {}}', CassetteInvalid, "line 2 is no line of a cassette"),
]


@pytest.mark.parametrize(("text", "kind", "said"), WRONG)
async def test_a_file_that_is_no_cassette_of_this_version(
    text: str, kind: type[AgrunError], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(kind, match=said):
        async with Cassette(file, "replay"):
            pass


async def test_a_file_that_is_not_there_says_how_to_record_it(tmp_path: Path) -> None:
    with pytest.raises(CassetteInvalid, match="--record FILE"):
        async with Cassette(tmp_path / "none.jsonl", "replay"):
            pass


async def test_each_call_is_in_the_file_when_it_is_over(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    async with serving(lambda *_: page(body=b"ok")) as url, Cassette(file, "record") as cassette:
        for number in range(1, 4):
            await read(cassette.fetch, FetchRequest("GET", f"{url}/{number}"))  # type: ignore[arg-type]
            kept = read_text(file.read_text(encoding="utf-8"))
            assert [exchange.request["url"] for exchange in kept] == [f"{url}/{n}" for n in range(1, number + 1)]
            assert kept[-1].end == "complete"
        grown = file.read_text(encoding="utf-8")
    assert file.read_text(encoding="utf-8") == grown, "and is written once more in the order of their beginnings"


async def test_a_call_in_progress_is_written_once_though_another_ends_before(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    async with serving(lambda path, _: page(body=path.encode())) as url, Cassette(file, "record") as cassette:
        slow = FetchRequest("GET", f"{url}/slow")
        async with cassette.fetch.open(slow) as response:
            signed = FetchRequest("GET", f"{url}/quick", {"authorization": f"Bearer {PLAIN_KEY}"})
            await read(cassette.fetch, signed)  # type: ignore[arg-type]
            [quick] = read_text(file.read_text(encoding="utf-8"))
            assert quick.request["url"].endswith("/quick")
            assert b"".join([chunk async for chunk in response.chunks()]) == b"/slow"
        both = read_text(file.read_text(encoding="utf-8"))
        assert sorted(exchange.request["url"].rpartition("/")[2] for exchange in both) == ["quick", "slow"]
    both = read_text(file.read_text(encoding="utf-8"))
    assert [exchange.request["url"].rpartition("/")[2] for exchange in both] == ["slow", "quick"]


async def test_a_secret_that_comes_up_late_is_taken_out_of_what_was_written(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    async with serving(lambda *_: page(body=PLAIN_KEY.encode())) as url, Cassette(file, "record") as cassette:
        await read(cassette.fetch, FetchRequest("GET", f"{url}/plain"))  # type: ignore[arg-type]
        assert PLAIN_KEY in file.read_text(encoding="utf-8")
        signed = FetchRequest("GET", f"{url}/signed", {"authorization": f"Bearer {PLAIN_KEY}"})
        await read(cassette.fetch, signed)  # type: ignore[arg-type]
        assert PLAIN_KEY not in file.read_text(encoding="utf-8")
        assert len(read_text(file.read_text(encoding="utf-8"))) == 2


@pytest.mark.parametrize("lost", range(3, 60, 7))
async def test_a_recording_that_was_cut_off_plays_as_far_as_it_goes(lost: int) -> None:
    whole = exchange_lines(('{"a": 1}', "one"), ('{"a": 2}', "two")) + "\n"
    cut = read_text(whole[:-lost])
    assert cut[0] == read_text(whole)[0]
    assert await answer(ReplayingFetch(cut), '{"a":1}') == "one"
    with pytest.raises(FetchError, match=r"ends here|does not hold"):
        await answer(ReplayingFetch(cut), '{"a":2}')
