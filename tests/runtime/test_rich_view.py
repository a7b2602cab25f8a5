"""What a notebook shows of a run: HTML without scripts, in which nothing of the model's or an action's is markup."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm import Action, Finished, ModelRequest, RunResult, Runtime, TextDelta, TokenUsage
from agrun_wasm.text.markdown_html import link, markdown_html
from tests.kit import adder, calls, scripted

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>"
#: every tag and attribute that a view may hold
TAGS = {
    *("a", "blockquote", "br", "code", "del", "details", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li"),
    *("ol", "p", "pre", "s", "strong", "style", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
ATTRIBUTES = {"class", "data-status", "href", "rel", "role", "start", "style", "target", "title"}


class Seen(HTMLParser):
    """The tags, attributes and link targets of an HTML text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.targets: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.targets += [value or "" for name, value in attrs if name == "href"]


def html_of(shown: Any) -> str:
    return str(shown._repr_mimebundle_(include=None, exclude=None)["text/html"])


def assert_safe(html: str) -> None:
    """Only tags, attributes and link targets that cannot run or load anything."""
    seen = Seen(html)
    assert seen.tags <= TAGS
    assert seen.attributes <= ATTRIBUTES
    assert all(target.split(":")[0].lower() in {"http", "https", "mailto"} for target in seen.targets)


async def test_a_result_shows_its_answer_its_calls_and_what_it_used() -> None:
    runtime, _ = scripted(
        [
            calls(("add", {"a": 2, "b": 3}), usage={"inputTokens": 1200, "outputTokens": 7}),
            {"text": "It is **5**.", "usage": {"inputTokens": 10, "outputTokens": 5}},
        ],
        actions=[adder()],
    )
    bundle = (await runtime.run("2 + 3?"))._repr_mimebundle_()
    html = bundle["text/html"]
    assert "<p>It is <strong>5</strong>.</p>" in html
    assert "completed · 2 cycles · 2 model calls · 1,210 tokens in · 12 tokens out" in html
    assert re.search(r"<details><summary><code>add</code> done · .*?arguments<pre>.*?&quot;a&quot;: 2", html, re.DOTALL)
    assert bundle["text/markdown"] == "It is **5**."
    assert bundle["text/plain"].splitlines()[-1] == "It is **5**."
    assert_safe(html)


async def test_nothing_of_a_model_or_an_action_becomes_markup() -> None:
    async def echo(context: Any, args: dict[str, Any]) -> Any:
        return {"summary": EVIL, "said": args["text"] + EVIL}

    runtime, _ = scripted(
        [
            calls(("echo", {"text": EVIL})),
            {"text": f"{EVIL}\n\n[go](javascript:alert(1)) ![p](https://t.example/x.png)"},
        ],
        actions=[adder(name="echo", execute=echo, planner={"argsSchema": {"text": {"type": "string"}}})],
    )
    html = html_of(await runtime.run(EVIL))
    assert_safe(html)
    assert "&lt;script&gt;" in html
    assert "javascript:alert" in html, "the text is there, as text"


async def test_a_result_that_waits_says_what_to_call_and_that_call_goes_on() -> None:
    runtime, _ = scripted([calls(("add", {"a": 2, "b": 3})), {"text": "5"}], actions=[adder(tier=2)])
    result = await runtime.run("2 + 3?")
    html = html_of(result)
    assert "<strong>add</strong> waits for approval (tier 2)" in html
    assert_safe(html)
    call = result._repr_mimebundle_()["text/markdown"].split("```python\n")[1].split("\n```")[0]
    assert (await told(call, runtime, result)).text == "5"


@pytest.mark.parametrize(
    ("replies", "keys"),
    [
        ([calls(("ask_clarification", {"question": "Which?"})), {"text": "done"}], {}),
        ([calls(("add", {"a": 1, "b": 1})), {"text": "done"}], {"max_steps": 1, "finalize_on_exhaustion": False}),
    ],
    ids=["a question", "no steps left"],
)
async def test_a_question_and_an_end_of_the_budget_go_on_by_the_call_that_is_shown(
    replies: list[dict[str, Any]], keys: dict[str, Any]
) -> None:
    runtime, _ = scripted(replies, actions=[adder()], **keys)
    result = await runtime.run("go")
    call = result._repr_mimebundle_()["text/plain"].splitlines()[-1]
    assert (await told(call, runtime, result)).text == "done"


async def told(call: str, runtime: Runtime, result: RunResult) -> RunResult:
    """What the shown line of Python gives, run as a notebook would."""
    names: dict[str, Any] = {"runtime": runtime, "result": result}
    exec(f"async def cell():\n    {call.replace('result = ', 'return ')}", names)
    again = await names["cell"]()
    assert isinstance(again, RunResult)
    return again


async def test_a_failed_run_shows_code_message_and_hint() -> None:
    runtime, _ = scripted([{"error": {"status": 401, "message": f"no {EVIL}"}}])
    result = await runtime.run("hi")
    html = html_of(result)
    assert result.error is not None
    assert f"<strong>{result.error.code}</strong>" in html
    assert "agrun-error" in html
    assert_safe(html)


@pytest.mark.parametrize(
    ("end", "word"),
    [
        (RuntimeError("broken"), "failed"),
        (None, "failed"),
    ],
    ids=["raises", "answers ok false"],
)
async def test_a_call_that_failed_says_so(end: Exception | None, word: str) -> None:
    async def act(context: Any, args: dict[str, Any]) -> Any:
        if end:
            raise end
        return {"ok": False, "why": "closed"}

    action: Action = adder(execute=act)
    runtime, _ = scripted([calls(("add", {"a": 1, "b": 1})), {"text": "no"}], actions=[action])
    assert f"<code>add</code> {word}" in html_of(await runtime.run("go"))


@given(st.text(alphabet="ab<>\"'&`*_[]()!|\\#-:/.\n jJavascriptdata", max_size=80))
def test_no_text_makes_a_tag_or_a_link_that_is_not_allowed(text: str) -> None:
    assert_safe(markdown_html(text))
    assert_safe(link(text, text))


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "JaVaScRiPt:alert(1)", " data:text/html,x", "//host/x", "/tree"]
)
def test_an_address_that_may_not_be_opened_is_words(url: str) -> None:
    assert "<a" not in link(url, "title")
    assert "<a" not in markdown_html(f"[title](<{url}>)")


class Waiting:
    """A model that says half of its answer, and the rest when told to."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        yield TextDelta(text="Half")
        await self.go_on.wait()
        yield TextDelta(text=" and whole.")
        yield Finished("stop", TokenUsage())


class Handle:
    def __init__(self, first: dict[str, str]) -> None:
        self.shown = [first]

    def update(self, value: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(value)


async def test_display_of_a_run_is_drawn_anew_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    handles: list[Handle] = []

    def display(value: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        handles.append(Handle(value))
        return handles[0]

    module = ModuleType("IPython.display")
    module.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    model = Waiting()
    async with Runtime(provider="mine:test", providers={"mine": model}).stream("hi") as run:
        run._ipython_display_()
        events = run.events()
        while (await anext(events)).type != "text-delta":
            pass
        assert "<p>Half</p>" in html_of(run)
        assert 'data-status="running"' in html_of(run)
        model.go_on.set()
        await run.result()
        await asyncio.gather(*run._displays)
    assert 'data-status="running"' in handles[0].shown[0]["text/html"]
    assert len(handles) == 1, "one output cell"
    assert "<p>Half and whole.</p>" in handles[0].shown[-1]["text/html"]
    assert 'data-status="completed"' in handles[0].shown[-1]["text/html"]


async def test_without_ipython_display_leaves_the_view_to_the_page() -> None:
    runtime, _ = scripted([{"text": "hi"}])
    async with runtime.stream("hi") as run:
        with pytest.raises(NotImplementedError, match="IPython"):
            run._ipython_display_()
        await run.result()
        assert "<p>hi</p>" in html_of(run)


def test_importing_the_package_does_not_import_the_view() -> None:
    code = "import sys, agrun_wasm; print([m for m in sys.modules if 'rich_view' in m or m.startswith('markdown_it')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
