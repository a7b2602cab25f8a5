"""The least that a stream can cost here: cut the body at its blank lines, read each JSON, write one event each.

No event loop, no decoding rules, no run; argument: deltas.
"""

from __future__ import annotations

import json
import sys
import time

from tests.bench.fake_openai import text_frames


def _stream(deltas: int) -> float:
    """CPU time in microseconds per delta."""
    body = b"".join(text_frames(deltas))
    start = time.process_time()
    for seq, frame in enumerate(body.split(b"\n\n")):
        data = frame.removeprefix(b"data: ")
        if not data.startswith(b"{"):
            continue
        choices = json.loads(data)["choices"]
        text = choices[0]["delta"].get("content", "") if choices else ""
        detail = {"text": text}
        json.dumps({"seq": seq, "type": "text-delta", "runId": "r", "cycle": 1, "at": 0.0, "detail": detail})
    return (time.process_time() - start) / deltas * 1e6


if __name__ == "__main__":
    _stream(200)
    print(json.dumps({"cpu_us": _stream(int(sys.argv[1]))}))
