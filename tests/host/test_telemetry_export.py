"""Telemetry of the commands, as a collector sees it: switched on by OTEL_* alone, harmless in every case."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agrun_host.telemetry_export import asked_for
from tests.fakes.providers import FakeProviders
from tests.host.collector import Collector, collecting
from tests.host.kit import providers_at_work

KEY = "sk-marker-0123456789"
SECRET = "the-word-nobody-may-see"
ADVANCE = {"toolCalls": [{"name": "workspace_list", "args": {}}], "usage": {"inputTokens": 11, "outputTokens": 3}}
DONE = {"text": f"Done, {SECRET}.", "usage": {"inputTokens": 20, "outputTokens": 5}}


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    kept = {name: value for name, value in kept.items() if not name.lower().endswith("_proxy")}
    return {**kept, "OPENAI_API_KEY": KEY, **more}


def agrun(fake: FakeProviders, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agrun_host", *arguments, "-p", "openai:m", "--base-url", fake.url]
    return subprocess.run(
        command,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def counts(span: dict[str, Any]) -> tuple[int, int]:
    return span["gen_ai.usage.input_tokens"], span["gen_ai.usage.output_tokens"]


@pytest.mark.parametrize("kept", [False, True], ids=["run", "kept"])
def test_spans_and_metrics_arrive_and_hold_no_words(kept: bool, tmp_path: Path) -> None:
    options = ["--database", f"sqlite:///{tmp_path / 'test.db'}"] if kept else []
    with collecting() as collector, providers_at_work(ADVANCE, DONE) as fake:
        done = agrun(fake, "run", SECRET, *options, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    assert (done.returncode, done.stdout) == (0, f"Done, {SECRET}.\n")
    assert "telemetry" not in done.stderr
    [run] = collector.named("invoke_agent m")
    cycles, calls, [tool] = collector.named("cycle"), collector.named("chat m"), collector.named("execute_tool")
    assert {span["trace"] for span in collector.spans} == {run["trace"]}
    assert [cycle["parent"] for cycle in cycles] == [run["id"]] * 2
    assert [call["parent"] for call in calls] == [cycle["id"] for cycle in cycles]
    assert tool["parent"] == cycles[0]["id"]
    assert [(call["gen_ai.usage.input_tokens"], call["gen_ai.usage.output_tokens"]) for call in calls] == [
        (11, 3),
        (20, 5),
    ]
    assert (run["gen_ai.usage.input_tokens"], run["gen_ai.usage.output_tokens"]) == (31, 8)
    assert collector.services == {"agrun"}
    tokens = {point["gen_ai.token.type"]: point for point in collector.points["gen_ai.client.token.usage"]}
    assert (tokens["input"]["sum"], tokens["input"]["count"], tokens["output"]["sum"]) == (31, 2, 8)
    assert tokens["input"]["bounds"][:3] == [1, 4, 16]
    [seconds] = collector.points["gen_ai.client.operation.duration"]
    assert seconds["count"] == 2
    assert 0 < seconds["sum"] < 30
    assert (seconds["gen_ai.operation.name"], seconds["gen_ai.provider.name"]) == ("chat", "openai")
    assert not any(SECRET.encode() in body or KEY.encode() in body for body in collector.bodies)


def test_words_are_sent_where_they_are_asked_for() -> None:
    with collecting() as collector, providers_at_work(DONE) as fake:
        capture = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true", "OTEL_SERVICE_NAME": "shop"}
        agrun(fake, "run", "hi", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **capture)
    [run] = collector.named("invoke_agent")
    assert SECRET in run["gen_ai.output.messages"]
    assert collector.services == {"shop"}
    assert not any(KEY.encode() in body for body in collector.bodies)


def test_a_failed_call_and_its_tries_are_told_by_their_types() -> None:
    with collecting() as collector, providers_at_work({"error": {"status": 503, "body": SECRET}}, DONE) as fake:
        assert agrun(fake, "run", "hi", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url).returncode == 0
    first, second = collector.named("chat m")
    assert (first["failed"], first["error.type"], second["failed"]) == (True, "PROVIDER_UNAVAILABLE", False)
    assert collector.named("cycle")[0]["events"] == ["retry"]
    durations = {
        point.get("error.type"): point["count"] for point in collector.points["gen_ai.client.operation.duration"]
    }
    assert durations == {None: 1, "PROVIDER_UNAVAILABLE": 1}


def closed_port() -> str:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize("trouble", ["away", "refuses", "hangs", "nonsense"])
def test_a_broken_collector_harms_no_run(trouble: str) -> None:
    with collecting(status=500 if trouble == "refuses" else 200, delay=60 if trouble == "hangs" else 0) as collector:
        url = {"away": closed_port(), "nonsense": "ftp://nowhere"}.get(trouble, collector.url)
        with providers_at_work(ADVANCE, DONE) as fake:
            before = time.monotonic()
            done = agrun(fake, "run", "hi", OTEL_EXPORTER_OTLP_ENDPOINT=url)
            took = time.monotonic() - before
    assert (done.returncode, done.stdout) == (0, f"Done, {SECRET}.\n")
    assert done.stderr.count("telemetry: ") == 1
    assert "Traceback" not in done.stderr
    assert took < 20


def test_the_json_of_a_run_stays_json_when_telemetry_fails() -> None:
    with providers_at_work(DONE) as fake:
        done = agrun(fake, "run", "hi", "--json", OTEL_EXPORTER_OTLP_ENDPOINT=closed_port())
    assert done.returncode == 0
    assert all(line.startswith("{") for line in done.stdout.splitlines())


@pytest.mark.skipif(os.name != "posix", reason="a signal of this kind")
def test_a_server_sends_its_runs(tmp_path: Path) -> None:
    from tests.host.test_kept import posted

    with collecting() as collector, providers_at_work(DONE) as fake:
        command = [sys.executable, "-m", "agrun_host", "serve", "--port", "0", "-p", "openai:m", "--base-url", fake.url]
        database = f"sqlite:///{tmp_path / 'test.db'}"
        serving = subprocess.Popen(
            command,
            env=environment(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, AGRUN_DATABASE=database),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert serving.stdout is not None
        address = serving.stdout.readline().split()[2]
        run_id = posted(f"{address}v1/runs", {"input": "hi"})["runId"]
        while fake.stats.requests < 1:
            time.sleep(0.02)
        time.sleep(0.5)
        serving.send_signal(signal.SIGTERM)
        _, err = serving.communicate(timeout=30)
    assert "Traceback" not in err
    [run] = collector.named("invoke_agent m")
    assert (run["agrun.run.id"], run["agrun.run.status"]) == (run_id, "completed")


def without_the_extra(tmp_path: Path) -> dict[str, str]:
    """OpenTelemetry as if it were not installed."""
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "__init__.py").write_text(
        "raise ImportError('no', name='opentelemetry')\n", encoding="utf-8"
    )
    return {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}


def test_without_the_extra_it_is_told_and_a_run_goes_on(tmp_path: Path) -> None:
    missing = without_the_extra(tmp_path)
    with providers_at_work(DONE) as fake:
        done = agrun(fake, "run", "hi", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", **missing)
        wanted = agrun(fake, "run", "hi", "--otel", **missing)
        plain = agrun(fake, "run", "hi", **missing)
    assert (done.returncode, done.stdout) == (0, f"Done, {SECRET}.\n")
    assert "OTEL_* asks for telemetry, and telemetry needs OpenTelemetry; going on without it" in done.stderr
    assert "pip install 'agrun-host[telemetry]'" in done.stderr
    assert (wanted.returncode, wanted.stdout) == (2, "")
    assert "--otel: telemetry needs OpenTelemetry" in wanted.stderr
    assert (plain.returncode, plain.stderr) == (0, "")


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "x"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}, False),
        ({"OTEL_SERVICE_NAME": "shop"}, False),
    ],
)
def test_which_variables_ask_for_it(given: dict[str, str], asked: bool) -> None:
    assert asked_for(given) is asked


def test_a_collector_can_be_told_by_hand(tmp_path: Path) -> None:
    with collecting() as collector, providers_at_work(DONE) as fake:
        more: dict[str, Any] = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collector.url}/v1/traces"}
        agrun(fake, "run", "hi", OTEL_METRICS_EXPORTER="none", **more)
    assert isinstance(collector, Collector)
    assert collector.named("invoke_agent")
    assert collector.points == {}
