"""BrowserIds: ids for runs and sessions from the browser's own source of chance."""

from __future__ import annotations

from typing import Literal


class BrowserIds:
    def new(self, kind: Literal["run", "session"]) -> str:
        from js import crypto

        # randomUUID exists in secure contexts only; getRandomValues everywhere.
        if hasattr(crypto, "randomUUID"):
            return f"{kind}-{crypto.randomUUID()}"
        from uuid import UUID

        from js import Uint8Array

        from agrun_wasm.browser.border import py_bytes

        return f"{kind}-{UUID(bytes=py_bytes(crypto.getRandomValues(Uint8Array.new(16))), version=4)}"
