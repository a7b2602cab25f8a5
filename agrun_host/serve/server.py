"""Serving: the app on a socket, until it is told to end."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette

from agrun_host.serve.settings import ServeSettings

__all__ = ["serve"]

_GRACE_S = 10


def serve(app: Starlette, settings: ServeSettings, ready: Callable[[str], None]) -> None:
    """Serves until SIGTERM or Ctrl+C; then nobody new is taken, streams end, and runs stay for whoever goes on with
    them. `ready` is told the address. Raises OSError for the address."""
    config = uvicorn.Config(
        app,
        http="h11",  # its limit on the size of a head is the one that is tested
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE_S,
        timeout_keep_alive=30,
        ws="none",
    )
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host.strip("[]"), settings.port))
        listening.listen(2048)  # whoever is told the address may come before the server has started
        shown = f"[{settings.host.strip('[]')}]" if family == socket.AF_INET6 else settings.host
        ready(f"http://{shown}:{listening.getsockname()[1]}/")
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
