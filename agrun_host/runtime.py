"""The core's Runtime with this host's ports: HTTP by `transport`, keys from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agrun_host.keys import with_key
from agrun_host.transport import HttpFetch
from agrun_wasm.contracts.config import RuntimeConfig
from agrun_wasm.contracts.ports import Clock, Fetch, Ids, Journal, Store
from agrun_wasm.runtime.host_input import read_config
from agrun_wasm.runtime.runtime import Runtime as CoreRuntime


class Runtime(CoreRuntime):
    """`agrun_wasm.Runtime` for CPython: the same face, with a transport where the host gives none, and with the
    provider's key from the environment where the config has none."""

    def __init__(
        self,
        config: RuntimeConfig | Mapping[str, Any] | None = None,
        *,
        fetch: Fetch | None = None,
        store: Store | None = None,
        journal: Journal | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        hooks: Mapping[str, Any] | None = None,
        adapters: Mapping[str, Any] | None = None,
        **keys: Any,
    ) -> None:
        self._own_transport = HttpFetch() if fetch is None else None
        super().__init__(
            with_key(read_config(config, keys)),
            fetch=self._own_transport if fetch is None else fetch,
            store=store,
            journal=journal,
            clock=clock,
            ids=ids,
            hooks=hooks,
            adapters=adapters,
        )

    async def aclose(self) -> None:
        """Stops every run of this runtime, and closes the transport where the runtime made it itself."""
        try:
            await super().aclose()
        finally:
            if self._own_transport is not None:
                await self._own_transport.aclose()
