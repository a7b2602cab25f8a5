# ruff: noqa: E501 (JS and Markdown stand in the strings)
"""Runs through the page's API: events, results, actions, approvals, sessions, errors."""

from __future__ import annotations

from playwright.async_api import Page


async def test_a_run_gives_its_events_in_order_and_then_its_result(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const agent = await T.agent([{text: "Hello from the page."}]);
        const run = agent.run("hi");
        const events = await T.events(run);
        const result = await run.result;
        await agent.close();
        return {events, result};
    }""")
    types = [event["type"] for event in found["events"]]
    assert types[0] == "run-started"
    assert types[-1] == "run-completed"
    assert "text-delta" in types
    seqs = [event["seq"] for event in found["events"]]
    assert seqs == sorted(set(seqs))
    assert found["result"]["status"] == "completed"
    assert found["result"]["output"]["text"] == "Hello from the page."
    text = "".join(event["detail"]["text"] for event in found["events"] if event["type"] == "text-delta")
    assert text == "Hello from the page."


async def test_deltas_are_joined_on_their_way(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const agent = await T.agent([{text: "x".repeat(8000)}]);
        const events = await T.events(agent.run("hi"));
        await agent.close();
        return events.filter((event) => event.type === "text-delta").map((event) => event.detail.text.length);
    }""")
    assert sum(found) == 8000
    assert len(found) < 100, "2000 deltas of 4 characters come in pieces of about 1 KB"


async def test_awaiting_a_run_gives_its_result(page: Page) -> None:
    text = await page.evaluate("""async () => {
        const agent = await T.agent([{text: "done"}]);
        const result = await agent.run({prompt: "hi", system: "Be brief."});
        await agent.close();
        return result.output.text;
    }""")
    assert text == "done"


async def test_an_action_of_the_page_is_called_and_its_result_reaches_the_model(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const seen = [];
        const add = Agrun.defineAction({
            name: "add", description: "Adds two numbers.", tier: 0,
            argsSchema: {a: {type: "integer", required: true}, b: {type: "integer", required: true}},
            execute: async ({a, b}, context) => {
                seen.push({prompt: context.request.prompt, state: context.runState.status, key: context.idempotencyKey,
                           signal: context.signal instanceof AbortSignal});
                return {control: "continue", output: {sum: a + b}, summary: `${a + b}`};
            },
        });
        const agent = await T.agent([{calls: [{name: "add", args: {a: 2, b: 40}}]}, {text: "42"}], {actions: [add]});
        const result = await agent.run("2 + 40?");
        const {requests} = agent.model.seen;
        await agent.close();
        return {seen, tools: requests[0].tools.map((tool) => tool.name), last: requests[1].messages.at(-1), result};
    }""")
    assert found["seen"] == [{"prompt": "2 + 40?", "state": "running", "key": found["seen"][0]["key"], "signal": True}]
    assert found["seen"][0]["key"]
    assert "add" in found["tools"]
    assert found["last"]["role"] == "tool"
    assert "42" in found["last"]["text"]
    assert found["result"]["state"]["toolContext"]["lastResult"]["output"] == {"sum": 42}


async def test_an_action_without_a_context_parameter_is_told_how_to_get_one(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const peek = {name: "peek", description: "Peeks.", tier: 0, argsSchema: {}, execute: async (...all) => all[1].runState};
        const agent = await T.agent([{calls: [{name: "peek", args: {}}]}, {text: "ok"}], {actions: [peek]});
        const events = await T.events(agent.run("peek"));
        await agent.close();
        return events.filter((event) => event.type === "action-failed").map((event) => event.detail.error);
    }""")
    assert len(found) == 1
    assert "second parameter" in found[0]


async def test_what_an_action_throws_is_told_to_the_model(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const fail = {name: "fail", description: "Fails.", tier: 0, argsSchema: {}, execute: () => { throw new Error("no paper"); }};
        const agent = await T.agent([{calls: [{name: "fail", args: {}}]}, {text: "sorry"}], {actions: [fail]});
        const result = await agent.run("print");
        const last = agent.model.seen.requests[1].messages.at(-1).text;
        await agent.close();
        return {last, status: result.status};
    }""")
    assert "no paper" in found["last"]
    assert found["status"] == "completed"


ORDER = """
    window.order = (calls) => ({
        name: "order", description: "Orders goods.", tier: 1, argsSchema: {sku: {type: "string", required: true}},
        permission: {effect: "external_write"},
        execute: async ({sku}) => { calls.push(sku); return {control: "continue", output: {ordered: sku}, summary: sku}; },
    });
"""


async def test_an_approval_is_asked_for_and_the_run_goes_on_from_its_state(page: Page) -> None:
    found = await page.evaluate(f"""async () => {{
        {ORDER}
        const calls = [];
        const replies = [{{calls: [{{name: "order", args: {{sku: "A-17"}}}}]}}, {{text: "ordered"}}];
        const agent = await T.agent(replies, {{actions: [order(calls)]}});
        const blocked = await agent.run("order A-17");
        const before = [...calls];
        const [approval] = blocked.output.approvals;
        const state = JSON.parse(JSON.stringify(blocked.state));
        const events = await T.events(agent.resume(state, {{[approval.approvalId]: "approve"}}));
        const again = await T.error(agent.resume(state, {{[approval.approvalId]: "approve"}}));
        await agent.close();
        return {{blocked: blocked.status, approval, before, calls, types: events.map((event) => event.type), again}};
    }}""")
    assert found["blocked"] == "blocked"
    assert found["approval"]["actionName"] == "order"
    assert found["approval"]["args"] == {"sku": "A-17"}
    assert found["before"] == []
    assert found["calls"] == ["A-17"]
    assert found["types"][-1] == "run-completed"
    assert found["again"]["code"] == "APPROVAL_INVALID"
    assert found["again"]["details"]["reason"] == "used"


async def test_a_denied_action_does_not_run(page: Page) -> None:
    found = await page.evaluate(f"""async () => {{
        {ORDER}
        const calls = [];
        const agent = await T.agent([{{calls: [{{name: "order", args: {{sku: "A"}}}}]}}, {{text: "left it"}}], {{actions: [order(calls)]}});
        const blocked = await agent.run("order A");
        const decision = {{decision: "deny", note: "too dear"}};
        const result = await agent.resume(blocked.state, {{[blocked.output.approvals[0].approvalId]: decision}});
        const told = agent.model.seen.requests.at(-1).messages.at(-1).text;
        await agent.close();
        return {{calls, text: result.output.text, told}};
    }}""")
    assert found["calls"] == []
    assert found["text"] == "left it"
    assert "too dear" in found["told"]


async def test_a_session_remembers_its_turns(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const agent = await T.agent([{text: "Hello Ada."}, {text: "You are Ada."}]);
        const session = agent.session("talk");
        await session.run("I am Ada.");
        await session.run("Who am I?");
        const messages = agent.model.seen.requests[1].messages.map((message) => message.text);
        await agent.close();
        return messages;
    }""")
    assert found[:2] == ["I am Ada.", "Hello Ada."]


async def test_composition_and_prompt_can_be_looked_at_without_a_model_call(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const agent = await T.agent([], {skills: "skills.json"});
        const described = await agent.describeComposition();
        const prompt = await agent.inspectPrompt("hi");
        const surface = await agent.surfaceIndex();
        const asked = agent.model.seen.requests.length;
        await agent.close();
        return {described, prompt, surface, asked};
    }""")
    assert found["asked"] == 0
    assert {"unit-convert", "text-stats"} <= {skill["name"] for skill in found["described"]["skills"]}
    assert found["prompt"]["system"]
    assert found["surface"]


async def test_a_bundled_skill_may_run_its_tools(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const replies = [
            {calls: [{name: "read_agent_skill", args: {skillName: "unit-convert"}}]},
            {calls: [{name: "use_agent_skill", args: {skillName: "unit-convert"}}]},
            {calls: [{name: "execute_skill_tool", args: {toolName: "convert_units", args: {value: 26.2, from_unit: "mile", to_unit: "km"}}}]},
            {text: "42.2 km"},
        ];
        const agent = await T.agent(replies, {skills: "skills.json"});
        const result = await agent.run("26.2 miles in km?");
        await agent.close();
        return result.state.toolContext.lastResult.output;
    }""")
    assert found["tool"] == "convert_units"
    assert abs(found["result"]["value"] - 42.164813) < 1e-4


async def test_faults_of_the_host_are_errors_with_code_and_hint(page: Page) -> None:
    found = await page.evaluate("""async () => ({
        key: await T.error(() => T.agent([], {maxStep: 3})),
        tier: await T.error(() => T.agent([], {actions: [{name: "x", description: "", argsSchema: {}, execute() {}}]})),
        unknown: await T.error(() => T.agent([], {actions: [{name: "x", description: "", tier: 0, argSchema: {}, execute() {}}]})),
        provider: await T.error(() => Agrun.createRuntime({provider: "opnai:x"})),
        thread: await T.error(() => Agrun.createRuntime({provider: "offline", thread: "moon"})),
        input: await T.error(() => kept.run({promt: "x"})),
        approval: await T.error(() => kept.resume({}, {})),
    })""")
    assert {error["name"] for error in found.values()} == {"AgrunError"}
    assert found["key"]["code"] == "CONFIG_INVALID"
    assert "maxSteps" in found["key"]["message"]
    assert "'x'" in found["tier"]["message"]
    assert "tier" in found["tier"]["message"]
    assert "argsSchema" in found["unknown"]["message"]
    assert "openai" in found["provider"]["message"]
    assert "worker" in found["thread"]["message"]
    assert "prompt" in found["input"]["message"]
    assert found["approval"]["code"] == "STATE_INVALID"


async def test_iterating_a_run_that_cannot_start_throws_the_same_error(page: Page) -> None:
    found = await page.evaluate("T.error(() => T.events(kept.run({promt: 'x'})))")
    assert found["code"] == "CONFIG_INVALID"


async def test_an_error_of_the_pages_provider_keeps_its_code(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const settings = {provider: {name: "fake", model: "m", retry: {maxRetries: 0}}};
        const limited = await T.agent([{throw: {message: "slow down", code: "PROVIDER_RATE_LIMITED", status: 429}}], settings);
        const broken = await T.agent([{throw: {message: "out of paper"}}], settings);
        const errors = [(await limited.run("x")).error, (await broken.run("x")).error];
        await Promise.all([limited.close(), broken.close()]);
        return errors;
    }""")
    assert found[0]["code"] == "PROVIDER_RATE_LIMITED"
    assert found[0]["retryable"] is True
    assert found[1]["code"] == "PROVIDER_BAD_RESPONSE"
    assert "out of paper" in found[1]["message"]


async def test_a_key_callback_of_the_page_is_asked_for_each_request_and_shown_nowhere(page: Page) -> None:
    found = await page.evaluate("""async () => {
        let asked = 0;
        const key = "sk-very-secret-1";
        const agent = await Agrun.createRuntime({provider: {name: "openai-compatible", model: "m", baseUrl: location.origin + "/none",
            apiKey: async () => { asked++; return key; }, retry: {maxRetries: 0}}});
        const run = agent.run("x");
        const events = await T.events(run);
        const result = await run.result;
        await agent.close();
        return {asked, leaked: JSON.stringify({events, result}).includes(key), error: result.error};
    }""")
    assert found["asked"] == 1
    assert found["leaked"] is False
    assert found["error"]["code"].startswith("PROVIDER_")


async def test_hooks_judge_search_and_skill_sources_are_functions_of_the_page(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const log = [];
        const note = {name: "note", description: "Notes.", tier: 0, argsSchema: {}, execute: async () => "noted"};
        const agent = await T.agent([
            {calls: [{name: "note", args: {}}]},
            {calls: [{name: "web_search", args: {query: "fen"}}]},
            {calls: [{name: "list_agent_skills", args: {}}]},
            {text: "done"},
        ], {
            actions: [note],
            actionPolicy: {web_search: "allow"},
            research: {autoRead: 0},
            hooks: {beforeAction: async (decision) => { log.push(`before ${decision.name ?? decision.actionName}`); return null; },
                    afterAction: async (output) => { log.push("after"); return null; }},
            actionPermissionJudge: async () => { log.push("judged"); return "allow"; },
            webSearch: {search: async (query, limit) => { log.push(`search ${query} ${limit}`); return [{title: "Fen", url: "https://fen.example/", snippet: "wet"}]; }},
            skillSources: [{trustTools: false, list: async () => ["fog"], load: async (name) => ({"SKILL.md": `---\\nname: ${name}\\ndescription: About fog.\\n---\\nFog.`})}],
        });
        const result = await agent.run("x");
        await agent.close();
        return {log, outputs: result.state.toolContext.history.map((item) => item.output), status: result.status};
    }""")
    assert found["status"] == "completed"
    assert "judged" in found["log"]
    assert any(line.startswith("search fen") for line in found["log"])
    assert "after" in found["log"]
    assert found["outputs"][0] == "noted"
    assert "fog" in str(found["outputs"][2])


async def test_a_plugin_of_the_page_brings_actions_and_prompt(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const ping = {name: "ping", description: "Pings.", tier: 0, argsSchema: {}, execute: async () => "pong"};
        const agent = await T.agent([], {plugins: [{name: "p", version: "1", actions: [ping], promptSections: {ping: "Ping often."}}]});
        const {system} = await agent.inspectPrompt("x");
        const described = await agent.describeComposition();
        await agent.close();
        return {system, actions: described.actions.map((action) => action.name)};
    }""")
    assert "Ping often." in found["system"]
    assert "ping" in found["actions"]


async def test_a_closed_runtime_stops_its_runs_and_leaves_others_alone(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const one = await T.agent([{text: "never", hang: true}]);
        const two = await T.agent([{text: "fine"}]);
        const run = one.run("x");
        for await (const event of run) if (event.type === "text-delta") { one.close(); }
        const ended = (await run.result).status;
        await one.close();
        const closed = await T.error(one.run("y"));
        const other = (await two.run("z")).output.text;
        await two.close();
        return {ended, closed, other, aborted: one.model.seen.aborted};
    }""")
    assert found["ended"] == "aborted"
    assert found["aborted"] == 1
    assert found["closed"]["message"] == "this runtime is closed"
    assert found["other"] == "fine"


async def test_a_tool_that_ends_python_ends_its_run_only(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const tools = `
from agrun_wasm import skill_tool

@skill_tool(description="Leaves.", parameters={"type": "object", "properties": {}})
def leave():
    raise SystemExit(3)
`;
        const skill = {files: {"SKILL.md": "---\\nname: leave\\ndescription: Leaves.\\n---\\nLeave.", "tools.py": tools}, trustTools: true};
        const agent = await T.agent([
            {calls: [{name: "read_agent_skill", args: {skillName: "leave"}}]},
            {calls: [{name: "use_agent_skill", args: {}}]},
            {calls: [{name: "execute_skill_tool", args: {toolName: "leave"}}]},
            {text: "still here"},
        ], {skills: [skill]});
        const outcome = await Promise.race([agent.run("x").then((result) => result.status, (error) => error.code), T.sleep(3000)]);
        const alive = (await T.agent([{text: "yes"}]));
        const text = (await alive.run("alive?")).output.text;
        await Promise.all([agent.close(), alive.close()]);
        return {outcome, text};
    }""")
    assert found["outcome"] in ("completed", "failed", "INTERNAL")
    assert found["text"] == "yes"


async def test_python_that_breaks_down_fails_what_waits_for_it(fresh: Page) -> None:
    await fresh.evaluate("""async () => {
        window.agent = await T.agent([{text: "never", hang: true}]);
        window.run = agent.run("x");
        window.failed = T.error(run);
        for await (const event of run) if (event.type === "text-delta") return;
    }""")
    await fresh.evaluate("() => void (window.second = agent.run('y'), window.failed = T.error(second))")
    await fresh.workers[0].evaluate("() => { try { pyodide._api.fatal_error(new Error('boom')); } catch {} }")
    assert (await fresh.evaluate("failed"))["code"] == "PYTHON_CRASHED"
    assert (await fresh.evaluate("T.error(agent.describeComposition())"))["code"] == "PYTHON_CRASHED"
    text = await fresh.evaluate(
        "T.agent([{text: 'anew'}]).then((again) => again.run('x')).then((result) => result.output.text)"
    )
    assert text == "anew"


async def test_stop_takes_two_words(page: Page) -> None:
    found = await page.evaluate("""async () => {
        const run = kept.run("x");
        const error = await T.error(async () => run.stop("later"));
        run.stop("now");
        await T.error(run);
        return error;
    }""")
    assert found["code"] == "CONFIG_INVALID"
    assert "after_step" in found["message"]
