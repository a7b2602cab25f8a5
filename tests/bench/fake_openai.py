"""A fake OpenAI-compatible server for measuring agent runtimes: raw asyncio, so that it costs its client little.

A conversation whose first message says `cycles=N` gets N tool calls, one a request, then a final answer. How far it is
stands in the request itself (tool messages seen): the server holds no state. Chat completions, streamed and not.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_CYCLES = re.compile(rb"cycles=(\d+)")
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_BASE = {"id": "chatcmpl-1", "created": 1, "model": "fake"}
_USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def prompt(cycles: int) -> str:
    """A user's message that asks for a conversation of so many tool calls."""
    return f"Please add numbers, cycles={cycles}"


def final_answer(cycles: int) -> str:
    """How such a conversation ends."""
    return f"done after {cycles}"


def text_frames(pieces: int) -> Iterator[bytes]:
    """The server-sent events of a streamed text reply in so many deltas, its end included."""
    for number in range(pieces):
        yield _frame({"content": f"word{number % 10} "})
    yield from _end("stop")


def reply(request: Mapping[str, Any], cycles: int) -> tuple[dict[str, Any], str]:
    """The message and finish reason that answer a request."""
    done = sum(message.get("role") == "tool" for message in request["messages"])
    if done >= cycles:
        return {"role": "assistant", "content": final_answer(done)}, "stop"
    function = {"name": "add", "arguments": json.dumps({"a": done, "b": 1})}
    call = {"id": f"call_{done}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"


async def serve(port: int = 0) -> asyncio.Server:
    """A server that listens on 127.0.0.1; its port is `server.sockets[0].getsockname()[1]`."""
    return await asyncio.start_server(_handle, "127.0.0.1", port, limit=1 << 26)


async def _handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            body = await reader.readexactly(int(length[1]) if length else 0)
            writer.write(_response(body))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionResetError):
        pass
    finally:
        writer.close()


def _response(body: bytes) -> bytes:
    request = json.loads(body)
    asked = _CYCLES.search(body)
    message, finish = reply(request, int(asked[1]) if asked else 0)
    if request.get("stream"):
        return _http("text/event-stream", b"".join(_frames(message, finish)))
    choice = {"index": 0, "message": message, "finish_reason": finish}
    whole = {**_BASE, "object": "chat.completion", "choices": [choice], "usage": _USAGE}
    return _http("application/json", json.dumps(whole).encode())


def _http(kind: str, body: bytes) -> bytes:
    return f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def _frames(message: Mapping[str, Any], finish: str) -> Iterator[bytes]:
    for call in message.get("tool_calls", ()):
        function = call["function"]
        opened = {**call, "index": 0, "function": {"name": function["name"], "arguments": ""}}
        yield _frame({"role": "assistant", "tool_calls": [opened]})
        yield _frame({"tool_calls": [{"index": 0, "function": {"arguments": function["arguments"]}}]})
    for word in (message["content"] or "").split():
        yield _frame({"content": f"{word} "})
    yield from _end(finish)


def _end(finish: str) -> Iterator[bytes]:
    yield _frame({}, finish)
    yield _data({**_BASE, "object": "chat.completion.chunk", "choices": [], "usage": _USAGE})
    yield b"data: [DONE]\n\n"


def _frame(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _data({**_BASE, "object": "chat.completion.chunk", "choices": [choice]})


def _data(value: Any) -> bytes:
    return b"data: %s\n\n" % json.dumps(value).encode()


async def _main() -> None:
    server = await serve()
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())
