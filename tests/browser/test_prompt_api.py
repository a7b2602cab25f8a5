# ruff: noqa: E501 (JS stands in the strings)
"""The browser's own model, from the page, with Python in a worker and on the page's thread. A faithful fake stands in."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect

from tests.browser.chat import MOUNT, answered, ask, shot
from tests.browser.paths import HERE
from tests.browser.serving import slow_peer
from tests.browser.test_chat_providers import choose
from tests.fakes.providers import FakeProviders

FAKE = (HERE / "language_model_fakes.js").read_text(encoding="utf-8") + "; undefined"
THREADS = ("worker", "page")
each_thread = pytest.mark.parametrize("thread", THREADS)
AGENT = """
    window.local = (thread, options = {}) => Agrun.createRuntime({
        provider: {name: "prompt-api", retry: {maxRetries: 0}}, thread, snapshot: "off", store: null,
        actions: [{name: "add", description: "Adds.", tier: 0,
            argsSchema: {a: {type: "integer", required: true}, b: {type: "integer", required: true}},
            execute: ({a, b}) => ({sum: a + b})}],
        ...options,
    });
    undefined
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def local_page(booted: Page) -> AsyncIterator[Page]:
    """The page of the booted worker, with a second Python on its own thread that stays too."""
    await booted.evaluate("T.agent([], {thread: 'page'}).then((agent) => void (window.keptInPage = agent))")
    yield booted
    await booted.evaluate("keptInPage.close()")


@pytest_asyncio.fixture(loop_scope="session")
async def local(local_page: Page) -> Page:
    """That page, with a LanguageModel as new."""
    await local_page.evaluate(FAKE)
    await local_page.evaluate(AGENT)
    return local_page


@each_thread
async def test_a_whole_run_of_calls_and_an_answer(local: Page, thread: str) -> None:
    found = await local.evaluate(
        """async (thread) => {
            L.replies = [{json: {type: "action", name: "add", args: {a: 2, b: 3}}}, {json: {type: "final", answer: "Fünf 🌊"}}];
            const agent = await local(thread);
            const result = await agent.run("2 + 3?");
            const {prompts, constraints} = L.seen;
            const held = constraints.every((schema) => L.fits({type: "final", answer: "x"}, schema)
                && L.fits({type: "action", name: "add", args: {a: 1, b: 2}}, schema)
                && !L.fits({type: "action", name: "sub", args: {}}, schema) && !L.fits({type: "action", name: "add", args: {a: "1", b: 2}}, schema));
            const live = L.seen.live;
            await agent.close();
            return {result, prompts, held, live, after: L.seen.live, created: L.seen.created.length, model: agent.builtInModel};
        }""",
        thread,
    )
    result = found["result"]
    assert result["status"] == "completed", result["error"]
    assert result["output"]["text"] == "Fünf 🌊"
    assert result["state"]["plannerMode"] == "envelope"
    assert found["held"]
    first, second = found["prompts"]
    assert [message["role"] for message in first] == ["system", "user"]
    assert [message["role"] for message in second] == ["system", "user", "assistant", "user"]
    assert '"sum":5' in second[-1]["content"][0]["value"].replace(" ", "")
    tokens = [
        sum(-(-len(m["content"][0]["value"].encode("utf-16-le")) // 8) for m in prompt) for prompt in (first, second)
    ]
    assert result["usage"]["inputTokens"] == sum(tokens)
    assert result["usage"]["outputTokens"] > 0
    assert (found["created"], found["live"], found["after"]) == (1, 1, 0)  # copies end with their calls
    assert found["model"] == {"availability": "available", "loaded": None, "notice": None, "hint": None}


@each_thread
async def test_prose_of_the_model_is_held_to_a_decision(local: Page, thread: str) -> None:
    result = await local.evaluate(
        """async (thread) => {
            L.replies = [{text: "Sure! I would say it is five."}];
            const agent = await local(thread, {maxSteps: 2});
            const result = await agent.run("2 + 3?");
            await agent.close();
            return result;
        }""",
        thread,
    )
    assert (result["output"]["kind"], result["output"]["text"]) == ("clarification", "held"), result["error"]
    assert result["state"]["loopState"]["invalidDecisions"] == 0


@pytest.mark.parametrize("how", ["stop", "leave", "close"])
@each_thread
async def test_a_stop_ends_the_stream_and_its_session(local: Page, thread: str, how: str) -> None:
    seen = await local.evaluate(
        """async ([thread, how]) => {
            L.replies = [{text: '{"type":"final",', hang: true}];
            const agent = await local(thread);
            const run = agent.run("talk");
            const events = run[Symbol.asyncIterator]();
            const reading = (async () => { for (;;) if ((await events.next()).done) return; })();
            while (!L.seen.prompts.length) await T.sleep(5);
            if (how === "stop") run.stop("now");
            else if (how === "leave") void events.return();
            else void agent.close();
            while (!L.seen.aborted) await T.sleep(5);
            if (how === "stop") await run.result;
            const live = L.seen.live;
            await agent.close();
            await reading.catch(() => {});
            return {aborted: L.seen.aborted, after: L.seen.live};
        }""",
        [thread, how],
    )
    assert seen == {"aborted": 1, "after": 0}


@each_thread
async def test_a_request_beyond_the_context_is_said_with_its_numbers(local: Page, thread: str) -> None:
    error = await local.evaluate(
        """async (thread) => {
            L.window = 2000;
            const agent = await local(thread);
            const result = await agent.run("word ".repeat(3000));
            await agent.close();
            return {...result.error, live: L.seen.live};
        }""",
        thread,
    )
    assert error["code"] == "CONTEXT_OVERFLOW"
    assert error["retryable"] is False
    assert error["details"]["quota"] == 2000
    assert error["details"]["requested"] > 3750
    assert f"takes {error['details']['requested']} tokens of a context of 2000" in error["message"]
    assert error["live"] == 0


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("NotReadableError", "CONTENT_FILTERED"),
        ("NotSupportedError", "PROVIDER_BAD_RESPONSE"),
        ("UnknownError", "PROVIDER_UNAVAILABLE"),
    ],
)
async def test_an_error_of_the_browser_ends_the_run_by_name(local: Page, name: str, code: str) -> None:
    error = await local.evaluate(
        """async (name) => {
            L.replies = [{throw: {name, message: "as Chrome says"}}];
            const agent = await local("worker");
            const result = await agent.run("hi");
            await agent.close();
            return result.error;
        }""",
        name,
    )
    assert (error["code"], "as Chrome says" in error["message"]) == (code, True)


@pytest.mark.parametrize("missing", [True, False], ids=["no LanguageModel", "unavailable"])
async def test_without_a_model_no_runtime_is_made_and_it_says_why(local: Page, missing: bool) -> None:
    error = await local.evaluate(
        """async (missing) => {
            const kept = LanguageModel;
            if (missing) delete window.LanguageModel; else L.state = "unavailable";
            const error = await T.error(() => local("worker"));
            window.LanguageModel = kept;
            return error;
        }""",
        missing,
    )
    assert error["code"] == "CONFIG_INVALID"
    assert "no language model of its own" in error["message"]
    assert "Chrome or Edge" in error["hint"]


async def test_an_unknown_setting_is_refused_by_name(local: Page) -> None:
    error = await local.evaluate(
        'T.error(() => local("worker", {provider: {name: "prompt-api", settings: {temprature: 1}}}))'
    )
    assert error["code"] == "CONFIG_INVALID"
    assert "did you mean 'temperature'" in error["message"]


@each_thread
async def test_a_download_is_followed_and_the_run_waits_for_it(local: Page, thread: str) -> None:
    found = await local.evaluate(
        """async (thread) => {
            L.state = "downloadable";
            L.replies = [{json: {type: "final", answer: "here"}}];
            const told = [];
            const agent = await local(thread, {onModel: ({availability, loaded, notice}) => told.push([availability, loaded, notice])});
            const run = agent.run("hi");
            void run.result;
            while (L.state !== "downloading") await T.sleep(5);
            L.progress(0.435);
            L.progress(1);
            const result = await run;
            await agent.close();
            return {told, text: result.output?.text, error: result.error};
        }""",
        thread,
    )
    assert found["text"] == "here", found["error"]
    assert found["told"] == [
        ["downloadable", None, "The browser's model is not on this device yet."],
        ["downloading", 0, "The browser's model is being downloaded: 0%"],
        ["downloading", 0.435, "The browser's model is being downloaded: 43%"],
        ["downloading", 1, "The browser's model is being downloaded: 100%"],
        ["available", None, None],
    ]


async def test_a_download_without_a_click_is_refused_with_what_to_do(local: Page) -> None:
    found = await local.evaluate(
        """async () => {
            L.state = "downloadable";
            L.activated = false;
            Object.defineProperty(navigator, "userActivation", {value: {isActive: false}, configurable: true});
            const agent = await local("worker");
            const result = await agent.run("hi");
            await agent.close();
            delete navigator.userActivation;
            return result.error;
        }"""
    )
    assert found["code"] == "PROVIDER_UNAVAILABLE"
    assert "click" in found["hint"]


async def test_an_image_goes_by_value(local: Page) -> None:
    found = await local.evaluate(
        """async () => {
            L.replies = [{json: {type: "final", answer: "a dot"}}];
            const agent = await local("worker");
            const result = await agent.run({prompt: "What is this?", parts: [{type: "image", url: "data:image/png;base64,iVBORw0KGgo="}]});
            await agent.close();
            const image = L.seen.prompts[0][1].content.find(({type}) => type === "image").value;
            return {error: result.error, type: image.type, size: image.size, expected: L.seen.created[0].expectedInputs};
        }"""
    )
    assert found == {"error": None, "type": "image/png", "size": 8, "expected": [{"type": "image"}]}


async def test_a_person_chooses_the_browsers_model_and_downloads_it(demo: Page) -> None:
    await demo.evaluate(FAKE)
    await demo.evaluate(
        "L.state = 'downloadable'; L.replies = [{json: {type: 'final', answer: 'From **this** device.'}}]"
    )
    await demo.evaluate(MOUNT, [])
    await choose(demo, "prompt-api")
    await expect(demo.get_by_role("dialog")).to_be_hidden()
    notice = demo.locator('[part~="notice"]')
    await expect(notice).to_contain_text("The browser's model is not on this device yet.")
    await notice.get_by_role("button", name="Download it").click()
    await demo.evaluate("L.progress(0.43)")
    await expect(notice).to_contain_text("The browser's model is being downloaded: 43%")
    await shot(demo, "model-download")
    await demo.evaluate("L.progress(1)")
    await expect(notice).to_have_count(0)
    await ask(demo, "Who are you?")
    await answered(demo)
    await expect(demo.locator(".turn.agent")).to_contain_text("From this device.")
    await expect(demo.get_by_role("button", name="Provider:")).to_have_text("This browser's model")


async def test_the_dialog_says_why_there_is_no_such_model(demo: Page) -> None:
    await demo.evaluate("delete window.LanguageModel")
    await demo.evaluate(MOUNT, [])
    await choose(demo, "prompt-api")
    await expect(demo.get_by_role("dialog").get_by_role("alert")).to_contain_text("no language model of its own")
    await demo.keyboard.press("Escape")


async def test_a_server_on_this_machine_answers_and_without_cors_the_hint_names_its_setting(page: Page) -> None:
    ask_it = """async (baseUrl) => {
        const provider = {name: "openai-compatible", model: "m", baseUrl, retry: {maxRetries: 0}};
        const agent = await Agrun.createRuntime({provider, snapshot: "off", store: null});
        const result = await agent.run("hi");
        await agent.close();
        return {text: result.output?.text, error: result.error};
    }"""
    async with FakeProviders([{"text": "From this machine."}]) as server:
        assert (await page.evaluate(ask_it, server.url))["text"] == "From this machine."
    with slow_peer() as peer:
        peer.allow_origin = False
        error = (await page.evaluate(ask_it, f"{peer.origin}/v1"))["error"]
    assert error["code"] == "NETWORK_OR_CORS"
    assert "OLLAMA_ORIGINS" in error["hint"]
