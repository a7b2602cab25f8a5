"""A relaying server and what stands behind it, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agrun_host.serve.fetch_relay import fetch_relay_routes
from agrun_host.serve.provider_relay import provider_relay_routes, relayed_providers
from agrun_host.transport import HttpFetch
from tests.host.relay.upstream import NAME, Renamed, Upstream, upstream
from tests.host.serve.server import Server, serving
from tests.host.serve.test_runs import Model

KEY = "sk-relayed-0123456789abcdef"
ENVIRONMENT = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": f"{KEY}-a", "GEMINI_API_KEY": f"{KEY}-g"}


@pytest.fixture(scope="module")
def kept_site() -> Iterator[Upstream]:
    with upstream() as site:
        yield site


@pytest.fixture
def site(kept_site: Upstream) -> Upstream:
    """As if nobody had asked it anything."""
    kept_site.forget()
    return kept_site


@pytest.fixture(scope="module")
def server(kept_site: Upstream) -> Iterator[Server]:
    """Relays for three providers, all of them `site`; pages of `site` by its public name; no host gets whole calls."""
    places = dict.fromkeys(("openai", "anthropic", "gemini"), kept_site.origin)
    routes = provider_relay_routes(relayed_providers(ENVIRONMENT, places), HttpFetch(trust_env=False))
    with serving(Model().runtime(), [*routes, *fetch_relay_routes(Renamed())]) as server:
        yield server


@pytest.fixture(scope="module")
def calling() -> Iterator[Server]:
    """A /v1/fetch that passes whole calls on to `site`."""
    with serving(Model().runtime(), fetch_relay_routes(Renamed(), [NAME])) as server:
        yield server
