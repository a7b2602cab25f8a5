"""The OpenAPI document of the endpoints, made from the models that read and write their bodies."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from pydantic.json_schema import models_json_schema

from agrun_host.serve.bodies import Decide, Problem, StartRun, StopRun, View

__all__ = ["openapi"]

_REF = "#/components/schemas/{model}"
_PROBLEMS = {
    "400": "The request is not valid.",
    "401": "The token is missing or wrong.",
    "403": "Pages of that origin may not call.",
    "404": "There is no such run.",
    "405": "The path takes other methods.",
    "408": "The body did not come in time.",
    "409": "The run is not where that is possible.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "421": "The server does not answer under that name.",
    "422": "The key is another run's.",
    "429": "Too many requests are open.",
    "503": "The database is away.",
}
_RUN_ID = {"name": "run_id", "in": "path", "required": True, "schema": {"type": "string"}}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Requests with the same key are one run; one that asks for something else is refused (422).",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
_NUMBER = {"type": "integer", "minimum": 0, "maximum": 999_999_999_999_999}
_LAST = {"name": "Last-Event-ID", "in": "header", "description": "The last event that was seen.", "schema": _NUMBER}
_AFTER = {"name": "after", "in": "query", "description": "As Last-Event-ID, which counts first.", "schema": _NUMBER}


def openapi(*, token: bool) -> dict[str, Any]:
    """OpenAPI 3.1. `token`: does the server ask for one?"""
    models: list[Any] = [(model, "validation") for model in (StartRun, Decide, StopRun)]
    models += [(model, "serialization") for model in (View, Problem)]
    _, definitions = models_json_schema(models, ref_template=_REF)
    events = {"text/event-stream": {"schema": {"type": "string"}}}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "agrun", "version": version("agrun-host")},
        "paths": {
            "/v1/runs": {
                "post": _operation(
                    "startRun",
                    "Start a run; with Accept: text/event-stream its events follow at once.",
                    {
                        "202": _answer("The run, just started.", View),
                        "200": {"description": "Its events.", "content": events},
                    },
                    body="StartRun",
                    parameters=[_KEY],
                )
            },
            "/v1/runs/{run_id}": {
                "get": _operation(
                    "getRun", "A run as it stands.", {"200": _answer("The run.", View)}, parameters=[_RUN_ID]
                )
            },
            "/v1/runs/{run_id}/events": {
                "get": _operation(
                    "readEvents",
                    "Its steps and deltas as they come, last its result; without one, come back with Last-Event-ID.",
                    {"200": {"description": "Server-sent events: run, step, delta, result.", "content": events}},
                    parameters=[_RUN_ID, _LAST, _AFTER],
                )
            },
            "/v1/runs/{run_id}/decisions": {
                "post": _operation(
                    "decide",
                    "Answer approvals, or add to budgets, and go on.",
                    {"202": _answer("The run, going on.", View)},
                    body="Decide",
                    parameters=[_RUN_ID],
                )
            },
            "/v1/runs/{run_id}/stop": {
                "post": _operation(
                    "stopRun",
                    "Stop a run; one that is over is left as it is.",
                    {"200": _answer("The run.", View)},
                    body="StopRun",
                    parameters=[_RUN_ID],
                )
            },
        },
        "components": {"schemas": definitions["$defs"]},
    }
    if token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _operation(
    name: str, summary: str, answers: dict[str, Any], *, body: str | None = None, parameters: list[Any]
) -> dict[str, Any]:
    problem = {"application/json": {"schema": {"$ref": _REF.format(model="Problem")}}}
    operation = {
        "operationId": name,
        "summary": summary,
        "parameters": parameters,
        "responses": {
            **answers,
            **{status: {"description": words, "content": problem} for status, words in _PROBLEMS.items()},
        },
    }
    if body is not None:
        content = {"application/json": {"schema": {"$ref": _REF.format(model=body)}}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _answer(description: str, model: type) -> dict[str, Any]:
    schema = {"$ref": _REF.format(model=model.__name__)}
    return {"description": description, "content": {"application/json": {"schema": schema}}}
