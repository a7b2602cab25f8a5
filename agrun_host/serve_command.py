"""The command `agrun serve`: runs over HTTP, the relays of a page's own calls, and the page."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agrun_host.options import (
    DATABASE_VARIABLE,
    BaseUrl,
    Bundled,
    OfferedSkills,
    PlannerMode,
    Profile,
    Provider,
    Skills,
    TrustSkills,
    config_of,
    database_url,
    refuse,
)
from agrun_wasm import AgrunError

if TYPE_CHECKING:
    from agrun_host.runs import Runs
    from agrun_host.terminal import Screen
    from agrun_wasm import Runtime

__all__ = ["TOKEN_VARIABLE", "serve"]

TOKEN_VARIABLE = "AGRUN_TOKEN"


def serve(
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; others than 127.0.0.1 need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="sqlite:///FILE, postgresql://..., or none to keep nothing; one with a password stands in "
            f"{DATABASE_VARIABLE}. Without: a file in your data folder.",
        ),
    ] = None,
    provider: Provider = "offline",
    base_url: BaseUrl = None,
    skills: Skills = None,
    trust_skills: TrustSkills = False,
    bundled: Bundled = True,
    planner_mode: PlannerMode = "auto",
    profile: Profile = "legacy",
    max_steps: Annotated[int, typer.Option(min=1, metavar="N", help="Planner cycles at most.")] = 8,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"Holds the token; else {TOKEN_VARIABLE} does.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None, typer.Option(metavar="ORIGIN", help="Pages of this origin may call; repeatable.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Another name this server is reached under; repeatable.")
    ] = None,
    relay_to: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="/v1/fetch passes a page's own signed-in calls on to it; repeatable."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Runs driven at once in this process.")] = 1000,
    directory: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The built page; found by itself in a checkout.")
    ] = None,
) -> None:
    """Serve runs over HTTP, and the page.

    \b
    On this machine only, with the offline planner:
      agrun serve
      curl -N localhost:8000/v1/runs -H 'content-type: application/json' \\
           -H 'accept: text/event-stream' -d '{"input": "26.2 miles in km?"}'

    \b
    For others, with a model and a database that several processes share:
      export AGRUN_TOKEN=... OPENAI_API_KEY=... AGRUN_DATABASE=postgresql://...
      agrun serve --host 0.0.0.0 -p openai:gpt-5-mini \\
                  --allow-host agents.example.org --allow-origin https://example.org

    A run goes on when its client has left, and after a restart. /openapi.json describes the API. A page may use
    /v1/providers/openai (anthropic, gemini) as its baseUrl, without a key (or with the token as its apiKey), and
    /v1/fetch as its proxyUrl.
    """
    from agrun_host.keyring_store import key_in_keyring
    from agrun_host.keys import missing_key, with_key
    from agrun_host.page import find_page
    from agrun_host.runtime import Runtime
    from agrun_host.serve.app import create_app
    from agrun_host.serve.fetch_relay import fetch_relay_routes
    from agrun_host.serve.provider_relay import provider_relay_routes, relayed_providers
    from agrun_host.serve.server import serve as serve_app
    from agrun_host.serve.settings import ServeSettings
    from agrun_host.terminal import Screen
    from agrun_host.transport import HttpFetch

    screen = Screen()
    page = directory or find_page()
    if directory is not None and not (directory / "index.html").is_file():
        refuse(screen, f"there is no built page in {directory}", "Run `python build.py web` first.")
    try:
        offered = OfferedSkills(skills, trust_skills, bundled)
        config = config_of(
            screen, provider, base_url, offered, plannerMode=planner_mode, maxSteps=max_steps, profile=profile
        )
        config = with_key(config, stored=key_in_keyring)
        settings = ServeSettings(
            host=host,
            port=port,
            token=_token(screen, token_file),
            origins=tuple(allow_origin or ()),
            hosts=tuple(allow_host or ()),
            page=page,
        )

        def make_runtime(**ports: Any) -> Runtime:
            return Runtime(config, **ports)

        if problem := missing_key(config):
            refuse(screen, problem)
        fetch = HttpFetch()
        base_urls = {} if base_url is None else {config.provider_config().name: base_url}
        providers = relayed_providers(os.environ, base_urls, key_in_keyring)
        relays = [
            *provider_relay_routes(providers, fetch),
            *fetch_relay_routes(fetch, relay_to or (), token=settings.token is not None),
        ]
        url = database_url(database)
        kept = asyncio.run(_kept(url))
        app = create_app(settings, _opened(screen, make_runtime, url, limit), relays, at_end=fetch.aclose)

        def ready(address: str) -> None:
            print(f"Serving at {address} (Ctrl+C ends)", flush=True)
            named = config.provider_config()
            screen.note(f"  model  {named.name}{':' * bool(named.model)}{named.model}")
            screen.note(f"  runs   {address}v1/runs, kept in {kept}")
            screen.note(f"  page   {page or 'none: `python build.py web` builds it'}")
            if settings.token is not None:
                screen.note("  token  needed: authorization: Bearer ...")

        serve_app(app, settings, ready)
    except AgrunError as error:
        refuse(screen, error.message, error.hint)
    except OSError as fault:
        refuse(
            screen, f"port {port} cannot be used: {fault.strerror}", "Give another one with --port; 0 takes a free one."
        )


async def _kept(url: str | None) -> str:
    """Where runs are kept, in words without a password. A database that cannot be used is told before anything is
    served. Raises ConfigInvalid and DatabaseUnavailable."""
    if url == "none":
        return "this process alone"
    from agrun_host.store.database import Database

    async with await Database.open(url) as database:
        return database.name


def _token(screen: Screen, file: Path | None) -> str | None:
    if file is None:
        return os.environ.get(TOKEN_VARIABLE, "").strip() or None
    try:
        return file.read_text(encoding="utf-8").strip()
    except OSError as fault:
        refuse(screen, f"the token file cannot be read: {fault.strerror}")


def _opened(
    screen: Screen, make_runtime: Callable[..., Any], url: str | None, limit: int
) -> Callable[[], AbstractAsyncContextManager[Runs]]:
    from agrun_host.telemetry_export import telemetry

    @asynccontextmanager
    async def opened() -> AsyncIterator[Runs]:
        # Within the app's own life: after it, a signal that ends the server ends the process.
        with telemetry(screen) as instrument:
            if url == "none":
                from agrun_host.local_runs import LocalRuns

                async with LocalRuns(instrument(make_runtime())) as local:
                    yield local
            else:
                from agrun_host.durable.runs import DurableRuns

                def make(**ports: Any) -> Runtime:
                    return instrument(make_runtime(**ports))

                async with await DurableRuns.open(make, url, limit=limit) as durable:
                    yield durable

    return opened
