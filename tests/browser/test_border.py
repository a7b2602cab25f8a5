# ruff: noqa: E501 (JS and Markdown stand in the strings)
"""The border: one module on each side, and what becomes of values that only one side knows. Cases g01, g03, g05."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Page, Worker

ROOT = Path(__file__).resolve().parents[2]
CROSSING = re.compile(r"\b(to_js|to_py|toJs|toPy|create_proxy|create_once_callable|to_bytes|JsProxy)\b")


def test_values_cross_in_one_module_of_each_side_only() -> None:
    python = [*(ROOT / "agrun_wasm").rglob("*.py")]
    pages = [path for path in (ROOT / "web" / "src").rglob("*.js") if path.name != "page_fakes.js"]
    crossing = {
        str(path.relative_to(ROOT)) for path in [*python, *pages] if CROSSING.search(path.read_text(encoding="utf-8"))
    }
    assert crossing == {"agrun_wasm/browser/border.py"}


def test_only_the_browser_room_knows_js() -> None:
    imports = re.compile(r"^\s*(?:from|import) (?:js|pyodide|pyodide_js)\b", re.MULTILINE)
    outside = [
        path
        for path in (ROOT / "agrun_wasm").rglob("*.py")
        if path.parent.name != "browser" and imports.search(path.read_text(encoding="utf-8"))
    ]
    assert outside == []


async def test_null_and_undefined_of_js_are_none(page: Page) -> None:
    """g01: arguments made in JS, seen by an action of Python as JSON can be: a skill's tool."""
    output = await page.evaluate("""async () => {
        const tool = `
import json
from agrun_wasm import skill_tool

@skill_tool(description="Looks.", parameters={"type": "object", "properties": {"query": {"type": "string"}}})
def look(**args):
    return {"text": json.dumps(args), "falsy": not args.get("limit") and not args.get("lang")}
`;
        const skill = {files: {"SKILL.md": "---\\nname: look\\ndescription: Looks.\\n---\\nLook.", "tools.py": tool}, trustTools: true};
        const args = ({query: "fen", limit: null, lang: undefined});
        const agent = await T.agent([
            {calls: [{name: "read_agent_skill", args: {skillName: "look"}}]},
            {calls: [{name: "use_agent_skill", args: {}}]},
            {calls: [{name: "execute_skill_tool", args: {toolName: "look", args}}]},
            {text: "ok"},
        ], {skills: [skill]});
        const result = await agent.run("x");
        await agent.close();
        return result.state.toolContext.lastResult.output.result;
    }""")
    assert json.loads(output["text"]) in ({"query": "fen"}, {"query": "fen", "limit": None})
    assert output["falsy"] is True


async def test_results_of_python_are_plain_objects(page: Page) -> None:
    """g03: a dict is an object, a list an array, None null."""
    text = await page.evaluate("""async () => {
        const give = {name: "give", description: "Gives.", tier: 0, argsSchema: {},
                      execute: async () => ({ok: true, items: [{n: 1}], none: null})};
        const agent = await T.agent([{calls: [{name: "give", args: {}}]}, {text: "ok"}], {actions: [give]});
        const result = await agent.run("x");
        await agent.close();
        return JSON.stringify(result.state.toolContext.lastResult.output);
    }""")
    assert text == '{"ok":true,"items":[{"n":1}],"none":null}'


BIG = 1152921504606846976


async def test_large_integers_are_never_rounded(page: Page) -> None:
    """g05: a number JS cannot hold comes as its digits; in the state it survives JSON.stringify as a number."""
    found = await page.evaluate(
        """async (digits) => {
        const seen = [];
        const take = {name: "take", description: "Takes.", tier: 0, argsSchema: {id: {type: "integer"}, small: {type: "integer"}},
                      execute: async (args) => { seen.push(JSON.stringify(args)); return {id: BigInt(digits), small: 7n, args}; }};
        const argsText = `{"id":${digits},"small":7}`;
        const agent = await T.agent([{calls: [{name: "take", argsText}]}, {text: "ok"}], {actions: [take]});
        const run = agent.run("x");
        const events = await T.events(run);
        const result = await run.result;
        await agent.close();
        const executing = events.find((event) => event.type === "action-executing");
        return {seen, event: JSON.stringify(executing.detail.args), state: JSON.stringify(result.state), steps: JSON.stringify(result.steps)};
    }""",
        str(BIG),
    )
    exact = [f'{{"id":"{BIG}","small":7}}', f'{{"id":{BIG},"small":7}}']
    assert found["seen"][0] in exact
    assert found["event"] in exact
    for text in found.values():
        assert "1152921504606847000" not in str(text)
    assert f'"id":{BIG}' in found["state"], "JSON.rawJSON keeps it a number"


async def test_a_state_with_large_integers_resumes_after_being_saved(page: Page) -> None:
    """The approval is bound to a hash of its arguments: one changed digit and it would be refused."""
    found = await page.evaluate(
        """async (digits) => {
        const calls = [];
        const pay = {name: "pay", description: "Pays.", tier: 2, argsSchema: {account: {type: "integer", required: true}},
                     execute: async (args) => { calls.push(args.account); return "paid"; }};
        const agent = await T.agent([{calls: [{name: "pay", argsText: `{"account":${digits}}`}]}, {text: "paid"}], {actions: [pay]});
        const blocked = await agent.run("pay");
        const saved = JSON.parse(JSON.stringify(blocked.state));
        const decisions = {[blocked.output.approvals[0].approvalId]: "approve"};
        const direct = await agent.resume(blocked.state, decisions);
        await agent.close();
        return {calls, status: direct.status, shown: blocked.output.approvals[0].args.account, saved: typeof saved};
    }""",
        str(BIG),
    )
    assert found == {"calls": [str(BIG)], "status": "completed", "shown": str(BIG), "saved": "object"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": None, "b": [True, 1.5, "é"]}, '{"a":null,"b":[true,1.5,"é"]}'),
        ({"n": 2**53 - 1, "m": -(2**53)}, '{"n":9007199254740991,"m":"-9007199254740992"}'),
        ({"digits": "1152921504606846976"}, '{"digits":"1152921504606846976"}'),
        ({"state": {"n": BIG}, "n": BIG}, f'{{"state":{{"$text":"{{\\"n\\":{BIG}}}"}},"n":"{BIG}"}}'),
    ],
)
async def test_text_for_the_page(worker: Worker, value: object, text: str) -> None:
    code = f"from agrun_wasm.browser.border import to_text; to_text({value!r})"
    assert await worker.evaluate("(code) => pyodide.runPython(code)", code) == text


async def test_a_function_that_python_exposed_lives_until_it_is_destroyed(worker: Worker) -> None:
    """g06 at the border itself: called after the call that passed it returned, destroyed once, a late call is no crash."""
    found = await worker.evaluate("""async () => {
        const received = pyodide.runPython(`
from agrun_wasm.browser.border import expose
received = []
received`);
        const onChunk = pyodide.runPython("exposed = expose(received.append); exposed");
        await new Promise((resolve) => setTimeout(resolve, 10));
        onChunk("a");
        onChunk("b");
        onChunk.destroy();
        let late = null;
        try { onChunk("late"); } catch (error) { late = error.message; }
        const all = received.toJs();
        received.destroy();
        return {all, late};
    }""")
    assert found["all"] == ["a", "b"]
    assert "destroyed" in found["late"]
