"""The OpenAPI document says what the server does: schemathesis sends it whatever the document allows, and more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from agrun_host.serve.openapi import openapi
from tests.host.serve.server import Server, serving
from tests.host.serve.test_runs import Model

#: 422: a key that another request has used is well-formed all the same
ACCEPTED = ["2xx", "3xx", "401", "403", "404", "409", "422", "429", "5xx"]
CONFIG = schemathesis.Config.from_dict({"checks": {"positive_data_acceptance": {"expected-statuses": ACCEPTED}}})

schema = schemathesis.openapi.from_dict(openapi(token=False), config=CONFIG)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(Model().runtime(), max_body_bytes=100_000) as server:
        server.ask("POST", "/v1/runs", {"input": "hello"}, {"idempotency-key": "known"})
        yield server


@schema.parametrize()
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_sent_is_answered_as_the_document_says(case: schemathesis.Case, server: Server) -> None:
    case.call_and_validate(base_url=f"http://127.0.0.1:{server.port}", timeout=20)
