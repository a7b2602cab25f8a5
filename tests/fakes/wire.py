"""Scripted replies in the wire format of each provider's API: event streams and whole bodies.

A reply is the object of conformance/FORMAT.md's `model` key (text, reasoning, toolCalls, usage, finishReason). Written
from the APIs' own references, apart from the product's decoders.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

Reply = Mapping[str, Any]

#: our finish reasons in the words of each API
REASONS = {
    "chat": {"stop": "stop", "tool_calls": "tool_calls", "length": "length", "content_filter": "content_filter"},
    "messages": {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"},
    "gemini": {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"},
    "responses": {"length": "max_output_tokens", "content_filter": "content_filter"},
}


def api_of(path: str) -> str | None:
    """Which API a request path means."""
    bare = path.partition("?")[0]
    if bare.endswith("/chat/completions"):
        return "chat"
    if bare.endswith("/responses"):
        return "responses"
    if bare.endswith("/messages"):
        return "messages"
    return "gemini" if "enerateContent" in bare else None


def asks_for_stream(api: str, path: str, body: Mapping[str, Any]) -> bool:
    return "streamGenerateContent" in path if api == "gemini" else bool(body.get("stream"))


def frames(api: str, reply: Reply) -> list[bytes]:
    """The server-sent events of a reply."""
    return _FRAMES[api](reply)


def whole(api: str, reply: Reply) -> Any:
    """The JSON body of a reply that is not streamed."""
    return _WHOLE[api](reply)


def pieces(text: str) -> list[str]:
    """A text in a few pieces, as models write it."""
    return [text[at : at + 7] for at in range(0, len(text), 7)]


def _reason(reply: Reply, api: str) -> str | None:
    said = reply.get("finishReason") or ("tool_calls" if reply.get("toolCalls") else "stop")
    return REASONS[api].get(said)


def _calls(reply: Reply) -> list[tuple[str, str, str]]:
    """Id, name, arguments as text."""
    return [
        (call.get("id", f"call_{n}"), call["name"], call.get("argsText", json.dumps(call.get("args", {}))))
        for n, call in enumerate(reply.get("toolCalls") or ())
    ]


def _data(value: Any, event: str | None = None) -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def _named(usage: Mapping[str, Any] | None, names: Mapping[str, str]) -> dict[str, Any]:
    return {wire: usage[ours] for ours, wire in names.items() if usage and ours in usage}


# chat completions


def _chat_usage(reply: Reply) -> dict[str, Any] | None:
    usage = reply.get("usage")
    if usage is None:
        return None
    out = _named(usage, {"inputTokens": "prompt_tokens", "outputTokens": "completion_tokens"})
    if "cachedInputTokens" in usage:
        out["prompt_tokens_details"] = {"cached_tokens": usage["cachedInputTokens"]}
    if "reasoningTokens" in usage:
        out["completion_tokens_details"] = {"reasoning_tokens": usage["reasoningTokens"]}
    return out


def _chat_frames(reply: Reply) -> list[bytes]:
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake"}

    def chunk(delta: Any, reason: str | None = None) -> bytes:
        return _data({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    out = [chunk({"role": "assistant", "content": ""})]
    out += [chunk({"reasoning_content": piece}) for piece in pieces(reply.get("reasoning") or "")]
    out += [chunk({"content": piece}) for piece in pieces(reply.get("text") or "")]
    for index, (call_id, name, args) in enumerate(_calls(reply)):
        head = {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
        out.append(chunk({"tool_calls": [head]}))
        out += [chunk({"tool_calls": [{"index": index, "function": {"arguments": p}}]}) for p in pieces(args)]
    out.append(chunk({}, _reason(reply, "chat")))
    usage = _chat_usage(reply)
    if usage is not None:
        out.append(_data({**base, "choices": [], "usage": usage}))
    return [*out, b"data: [DONE]\n\n"]


def _chat_whole(reply: Reply) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": reply.get("text")}
    if reply.get("reasoning"):
        message["reasoning_content"] = reply["reasoning"]
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": args}}
        for call_id, name, args in _calls(reply)
    ]
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": _reason(reply, "chat")}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "fake", "choices": [choice]}
    usage = _chat_usage(reply)
    return body if usage is None else {**body, "usage": usage}


# responses


def _items(reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.get("reasoning"):
        summary = [{"type": "summary_text", "text": reply["reasoning"]}]
        items.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "c2VjcmV0"})
    if reply.get("text"):
        content = [{"type": "output_text", "text": reply["text"], "annotations": []}]
        items.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content})
    for n, (call_id, name, args) in enumerate(_calls(reply)):
        call = {"type": "function_call", "id": f"fc_{n}", "call_id": call_id, "name": name, "arguments": args}
        items.append({**call, "status": "completed"})
    return items


def _responses_whole(reply: Reply) -> Any:
    reason = REASONS["responses"].get(reply.get("finishReason") or "")
    body: dict[str, Any] = {"id": "resp_1", "object": "response", "error": None, "output": _items(reply)}
    body["status"] = "incomplete" if reason else "completed"
    body["incomplete_details"] = {"reason": reason} if reason else None
    usage = reply.get("usage")
    if usage is not None:
        body["usage"] = _named(usage, {"inputTokens": "input_tokens", "outputTokens": "output_tokens"})
        if "cachedInputTokens" in usage:
            body["usage"]["input_tokens_details"] = {"cached_tokens": usage["cachedInputTokens"]}
        if "reasoningTokens" in usage:
            body["usage"]["output_tokens_details"] = {"reasoning_tokens": usage["reasoningTokens"]}
    return body


#: what an item holds before its deltas
_AT_START: dict[str, dict[str, Any]] = {"message": {"content": []}, "function_call": {"arguments": ""}}


def _responses_frames(reply: Reply) -> list[bytes]:
    out: list[bytes] = []

    def send(kind: str, **fields: Any) -> None:
        out.append(_data({"type": kind, "sequence_number": len(out), **fields}, kind))

    body = _responses_whole(reply)
    send("response.created", response={"id": "resp_1", "status": "in_progress", "output": []})
    for index, item in enumerate(body["output"]):
        place = {"item_id": item["id"], "output_index": index}
        kind = item["type"]
        send("response.output_item.added", output_index=index, item={**item, **_AT_START.get(kind, {})})
        if kind == "reasoning":
            for piece in pieces(reply["reasoning"]):
                send("response.reasoning_summary_text.delta", **place, summary_index=0, delta=piece)
        elif kind == "message":
            for piece in pieces(reply["text"]):
                send("response.output_text.delta", **place, content_index=0, delta=piece)
            send("response.output_text.done", **place, content_index=0, text=reply["text"])
        else:
            for piece in pieces(item["arguments"]):
                send("response.function_call_arguments.delta", **place, delta=piece)
            send("response.function_call_arguments.done", **place, arguments=item["arguments"])
        send("response.output_item.done", output_index=index, item=item)
    send(f"response.{body['status']}", response=body)
    return out


# messages


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.get("reasoning"):
        blocks.append({"type": "thinking", "thinking": reply["reasoning"], "signature": "c2lnbmF0dXJl"})
    if reply.get("text"):
        blocks.append({"type": "text", "text": reply["text"]})
    for call_id, name, args in _calls(reply):
        blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": args})
    return blocks


def _messages_usage(reply: Reply) -> dict[str, Any]:
    """The API counts what came from the cache apart."""
    usage = dict(reply.get("usage") or {})
    if "cachedInputTokens" in usage and "inputTokens" in usage:
        usage["inputTokens"] -= usage["cachedInputTokens"]
    names = {"inputTokens": "input_tokens", "outputTokens": "output_tokens"}
    return _named(usage, {**names, "cachedInputTokens": "cache_read_input_tokens"})


def _messages_whole(reply: Reply) -> Any:
    blocks = [
        {**block, "input": json.loads(block["input"] or "{}")} if block["type"] == "tool_use" else block
        for block in _blocks(reply)
    ]
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": blocks}
    return {**body, "stop_reason": _reason(reply, "messages"), "usage": _messages_usage(reply)}


def _messages_frames(reply: Reply) -> list[bytes]:
    usage = _messages_usage(reply)
    at_start = {key: value for key, value in usage.items() if key != "output_tokens"}
    at_end = {key: value for key, value in usage.items() if key == "output_tokens"}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "usage": at_start}
    out = [_data({"type": "message_start", "message": message}, "message_start"), _data({"type": "ping"}, "ping")]

    def send(kind: str, **fields: Any) -> None:
        out.append(_data({"type": kind, **fields}, kind))

    for index, block in enumerate(_blocks(reply)):
        kind = block["type"]
        opened = {
            "thinking": {"type": "thinking", "thinking": "", "signature": ""},
            "text": {"type": "text", "text": ""},
            "tool_use": {**block, "input": {}},
        }[kind]
        send("content_block_start", index=index, content_block=opened)
        deltas: list[dict[str, Any]]
        if kind == "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        elif kind == "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        else:
            deltas = [{"type": "input_json_delta", "partial_json": p} for p in ["", *pieces(block["input"])]]
        for delta in deltas:
            send("content_block_delta", index=index, delta=delta)
        send("content_block_stop", index=index)
    send("message_delta", delta={"stop_reason": _reason(reply, "messages"), "stop_sequence": None}, usage=at_end)
    send("message_stop")
    return out


# gemini


def _gemini_usage(reply: Reply) -> dict[str, Any]:
    """The API counts thoughts apart from the answer."""
    usage = dict(reply.get("usage") or {})
    if "reasoningTokens" in usage and "outputTokens" in usage:
        usage["outputTokens"] -= usage["reasoningTokens"]
    names = {"inputTokens": "promptTokenCount", "outputTokens": "candidatesTokenCount"}
    more = {"cachedInputTokens": "cachedContentTokenCount", "reasoningTokens": "thoughtsTokenCount"}
    return _named(usage, {**names, **more})


def _gemini_parts(reply: Reply, cut: Callable[[str], list[str]]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": p, "thought": True} for p in cut(reply.get("reasoning") or "")]
    parts += [{"text": piece} for piece in cut(reply.get("text") or "")]
    for n, (call_id, name, args) in enumerate(_calls(reply)):
        call: dict[str, Any] = {"functionCall": {"id": call_id, "name": name, "args": json.loads(args or "{}")}}
        if reply.get("reasoning") and n == 0:
            call["thoughtSignature"] = "c2lnbmF0dXJl"
        parts.append(call)
    return parts


def _gemini_body(parts: list[dict[str, Any]], reply: Reply, *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if not last:
        return {"candidates": [candidate]}
    candidate["finishReason"] = _reason(reply, "gemini")
    usage = _gemini_usage(reply)
    return {"candidates": [candidate], **({"usageMetadata": usage} if usage else {})}


def _gemini_frames(reply: Reply) -> list[bytes]:
    parts = _gemini_parts(reply, pieces) or [{"text": ""}]
    return [_data(_gemini_body([p], reply, last=n == len(parts) - 1)) for n, p in enumerate(parts)]


def _gemini_whole(reply: Reply) -> Any:
    return _gemini_body(_gemini_parts(reply, lambda text: [text] if text else []), reply, last=True)


_FRAMES: dict[str, Callable[[Reply], list[bytes]]] = {
    "chat": _chat_frames,
    "responses": _responses_frames,
    "messages": _messages_frames,
    "gemini": _gemini_frames,
}
_WHOLE: dict[str, Callable[[Reply], Any]] = {
    "chat": _chat_whole,
    "responses": _responses_whole,
    "messages": _messages_whole,
    "gemini": _gemini_whole,
}
