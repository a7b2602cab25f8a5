"""The page as it is served: types, headers, what is asked again, and nothing outside its folder."""

from __future__ import annotations

import asyncio
import mimetypes
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.types import ASGIApp

from agrun_host import page as module
from agrun_host.page import HEADERS, TYPES, PageHeaders, find_page, page_files

FILES = {
    "index.html": b"<!doctype html><title>page</title>",
    "agrun.js": b"0",
    "worker.mjs": b"0",
    "demo.css": b"",
    "icon.svg": b"<svg/>",
    "manifest.json": b"{}",
    "licenses.txt": b"MIT",
    "site.zip.zst": b"\x1f\x8b",
    "pydantic_core.so.zst": b"\x1f\x8b",
    "agrun_wasm-0.1.0-py3-none-any.whl": b"PK",
    "pyodide-1/pyodide.asm.wasm": b"\0asm",
    "pyodide-1/python_stdlib.zip": b"PK",
    "UPPER.MJS": b"0",
}


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


async def ask(app: ASGIApp, path: str, method: str = "GET", headers: Mapping[str, str] | None = None) -> Answer:
    """One request as the path stands there: clients would tidy it up before it is sent."""
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.Event().wait()  # the client has nothing more to say, and stays

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "http_version": "1.1",
        "server": ("127.0.0.1", 80),
        "headers": [
            (name.encode(), value.encode()) for name, value in {"host": "127.0.0.1", **(headers or {})}.items()
        ],
    }
    await app(scope, receive, send)
    start = sent[0]
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(start["status"], {k.decode(): v.decode() for k, v in start["headers"]}, body)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "dist"
    for name, content in FILES.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    (tmp_path / "secret.txt").write_text("secret")
    return root


@pytest.fixture
def app(folder: Path) -> ASGIApp:
    files = Mount("/", page_files(folder))
    return Starlette(routes=[files], middleware=[Middleware(PageHeaders)])  # as in agrun_host.serve.app


@pytest.mark.parametrize("name", FILES)
async def test_every_file_comes_with_its_type_and_the_headers(app: ASGIApp, name: str) -> None:
    answer = await ask(app, f"/{name}")
    assert (answer.status, answer.body) == (200, FILES[name])
    assert answer.headers["content-type"] == TYPES[Path(name).suffix.lower()]
    assert "content-encoding" not in answer.headers, "the page unpacks .gz files itself"
    assert {key: answer.headers[key] for key in HEADERS} == HEADERS


async def test_the_machine_has_no_say_in_the_types(app: ASGIApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mimetypes, "guess_type", lambda *_args, **_more: ("text/plain", None))
    assert (await ask(app, "/worker.mjs")).headers["content-type"].startswith("text/javascript")
    assert (await ask(app, "/pyodide-1/pyodide.asm.wasm")).headers["content-type"] == "application/wasm"


def test_serving_changes_nothing_for_the_process(folder: Path) -> None:
    before = dict(mimetypes.types_map)
    page_files(folder)
    assert mimetypes.types_map == before


@pytest.mark.parametrize("path", ["/", "/index.html"])
async def test_the_root_is_the_page(app: ASGIApp, path: str) -> None:
    answer = await ask(app, path)
    assert (answer.status, answer.body) == (200, FILES["index.html"])
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


async def test_a_file_that_is_still_the_same_is_not_sent_again(app: ASGIApp, folder: Path) -> None:
    first = await ask(app, "/agrun.js")
    assert first.headers["cache-control"] == "no-cache"
    again = await ask(app, "/agrun.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert {key: again.headers[key] for key in HEADERS} == HEADERS
    (folder / "agrun.js").write_bytes(b"another one")
    changed = await ask(app, "/agrun.js", headers={"if-none-match": first.headers["etag"]})
    assert (changed.status, changed.body) == (200, b"another one")


async def test_a_head_says_the_same_without_the_body(app: ASGIApp) -> None:
    whole, head = await ask(app, "/site.zip.zst"), await ask(app, "/site.zip.zst", "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.headers == whole.headers


@pytest.mark.parametrize(("path", "method", "status"), [("/nope.js", "GET", 404), ("/agrun.js", "POST", 405)])
async def test_errors_carry_the_headers_too(app: ASGIApp, path: str, method: str, status: int) -> None:
    answer = await ask(app, path, method)
    assert answer.status == status
    assert {key: answer.headers[key] for key in HEADERS} == HEADERS


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/pyodide-1/../../secret.txt",
        "//../secret.txt",
        "/..%2fsecret.txt",
        "/..\\secret.txt",
        "/....//secret.txt",
        "/%00",
        "/\0",
        "/" + "a" * 5000,
        "/pyodide-1",
        "/pyodide-1/",
        "/link.txt",
        "/{folder}/secret.txt",
        "//etc/passwd",
    ],
)
async def test_nothing_outside_the_folder_is_served(app: ASGIApp, folder: Path, path: str) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    answer = await ask(app, path.replace("{folder}", str(folder.parent)))
    assert answer.status in (404, 307)
    assert b"secret" not in answer.body
    assert answer.headers.get("location", "/").startswith(("/", "http://127.0.0.1/"))


def test_the_page_is_found_in_a_wheel_before_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "__file__", str(tmp_path / "agrun_host" / "page.py"))
    assert find_page() is None
    for place in (tmp_path / "web" / "dist", tmp_path / "agrun_host" / "_page"):
        place.mkdir(parents=True)
        assert find_page() != place
        (place / "index.html").write_text("")
        assert find_page() == place


@pytest.mark.skipif(os.name != "posix", reason="Ctrl+C is a signal")
def test_the_command_serves_until_ctrl_c(folder: Path) -> None:
    import signal
    import urllib.request

    command = [sys.executable, "-m", "agrun_host", "serve", "--database", "none", "--port", "0", "--directory", folder]
    serving = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert serving.stdout is not None
        address = serving.stdout.readline().split()[2]
        with urllib.request.urlopen(address) as answer:
            assert answer.read() == FILES["index.html"]
        serving.send_signal(signal.SIGINT)
        out, err = serving.communicate(timeout=10)
    finally:
        serving.kill()
    assert (serving.returncode, out) == (0, "")
    told = [line.split()[0] for line in err.splitlines()]
    assert told == ["model", "runs", "page"], "what it has, and nothing about its end"
    assert f"{address}v1/runs, kept in this process alone" in err
