# ruff: noqa: E501 (JS stands in the strings)
"""Nothing is lost in the page: runs, sessions and approvals outlive the worker and the page, and no tab overwrites another.

Every test has a browser context of its own, which is its own database and its own locks.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page

from tests.browser.conftest import FAKES
from tests.browser.serving import Site

STORE_FAKES = (Path(__file__).parent / "store_fakes.js").read_text(encoding="utf-8")
Open = Callable[[], Awaitable[Page]]


@pytest_asyncio.fixture(loop_scope="session")
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context()
    yield context
    await context.close()


@pytest.fixture
def tab(context: BrowserContext, site: Site, snapshot: str) -> Open:
    """Opens a tab of one visitor: all of them share what is kept."""

    async def opened() -> Page:
        page = await context.new_page()
        await load(page, site.origin, snapshot)
        return page

    return opened


async def load(page: Page, origin: str, snapshot: str) -> None:
    await page.goto(f"{origin}/skills.json")
    await page.add_script_tag(url=f"{origin}/agrun.js")
    await page.evaluate(FAKES)
    await page.evaluate(STORE_FAKES)
    await page.evaluate("(url) => void (S.snapshot = url)", snapshot)


async def test_runs_and_sessions_are_there_after_a_reload(tab: Open, site: Site, snapshot: str) -> None:
    page = await tab()
    first = await page.evaluate("""async () => {
        const agent = await S.agent([{text: "Hello Ada."}]);
        const result = await agent.session("talk").run("I am Ada.");
        const storage = agent.storage;
        const kept = await agent.runs.get(result.runId);
        return {storage, result, kept, same: JSON.stringify(kept.state) === JSON.stringify(result.state)};
    }""")
    assert first["storage"] == {"kind": "indexeddb", "name": "agrun", "notice": None}
    assert first["kept"]["status"] == "completed"
    assert first["same"], "what is kept is the state of the result"
    await load(page, site.origin, snapshot)
    found = await page.evaluate("""async () => {
        const agent = await S.agent([{text: ""}, {text: "You are Ada."}]);
        const before = await agent.runs.list();
        const turns = await agent.sessions.history("talk");
        const {output} = await agent.session("talk").run("Who am I?");
        const after = await agent.runs.list();
        await agent.runs.delete(before[0].id);
        return {before, turns, text: output.text, after, left: await agent.runs.list(), gone: await agent.runs.get(before[0].id),
                sessions: (await agent.sessions.list()).map((session) => session.id), later: await agent.sessions.history("talk")};
    }""")
    (run,) = found["before"]
    assert run["id"] == first["result"]["runId"]
    assert run["session"] == "talk"
    assert [turn["role"] for turn in found["turns"]] == ["user", "assistant"]
    assert found["turns"][1]["parts"] == [{"type": "text", "text": "Hello Ada."}]
    assert found["text"] == "You are Ada.", "the model was shown the turn before the reload"
    assert [one["id"] for one in found["after"]][1] == run["id"], "the latest is the first"
    assert len(found["left"]) == 1
    assert found["gone"] is None
    assert found["sessions"] == ["talk"]
    assert len(found["later"]) == 4


async def test_a_finished_call_is_one_small_put(tab: Open) -> None:
    """The state is saved whole at the ends of cycles only; what a call gave is added beside it."""
    page = await tab()
    puts = await page.evaluate("""async () => {
        const puts = [];
        const put = IDBObjectStore.prototype.put;
        IDBObjectStore.prototype.put = function (row) { puts.push([this.name, JSON.stringify(row).length]); return put.call(this, row); };
        const agent = await S.agent([{calls: [{name: "note", args: {n: 1}}]}, {text: "done"}]);
        await agent.run("x".repeat(100_000));
        return puts;
    }""")
    sizes = {name: [size for table, size in puts if table == name] for name in ("states", "journal", "runs")}
    assert len(sizes["journal"]) >= 3, "two calls of the model and one of the action"
    assert max(sizes["journal"]) < 3_000
    assert min(sizes["states"]) > 100_000
    assert max(sizes["runs"]) < 300


ASKS = """[{calls: [{name: "order", args: {sku: "A-17"}}]}, {text: "ordered"}]"""


async def test_an_approval_is_answered_after_a_reload(tab: Open, site: Site, snapshot: str) -> None:
    page = await tab()
    blocked = await page.evaluate(f"S.agent({ASKS}).then((agent) => agent.session('shop').run('order A-17').result)")
    assert blocked["status"] == "blocked"
    await load(page, site.origin, snapshot)
    found = await page.evaluate(
        f"""async ([id, approval]) => {{
            const agent = await S.agent({ASKS});
            const waiting = (await agent.runs.list()).filter((run) => run.status === "blocked");
            const {{approvals}} = (await agent.runs.get(waiting[0].id)).state.output;
            const before = S.logged();
            const wrong = await T.error(agent.resume(id, {{nothing: "approve"}}));
            const result = await agent.resume(id, {{[approvals[0].approvalId]: "approve"}});
            const again = await T.error(agent.resume(id, {{[approval]: "approve"}}));
            return {{waiting, before, wrong, result, again, log: S.logged(), turns: await agent.sessions.history("shop")}};
        }}""",
        [blocked["runId"], blocked["output"]["approvals"][0]["approvalId"]],
    )
    assert [run["id"] for run in found["waiting"]] == [blocked["runId"]]
    assert found["before"] == ["asked 0"]
    assert found["wrong"]["details"]["reason"] == "unknown"
    assert found["result"]["output"]["text"] == "ordered"
    assert found["log"] == ["asked 0", "order A-17", "asked 1"]
    assert found["again"]["details"]["reason"] == "used"
    assert len(found["turns"]) == 2


async def test_two_tabs_that_approve_at_once_run_the_action_once(tab: Open) -> None:
    one, two = await tab(), await tab()
    blocked = await one.evaluate(f"S.agent({ASKS}).then((agent) => (window.agent = agent).run('order').result)")
    await two.evaluate(f"S.agent({ASKS}).then((agent) => void (window.agent = agent))")
    approve = """async ([run, approval]) => {
        const resumed = agent.resume(run, {[approval]: "approve"});
        return await T.error(resumed) ?? (await resumed.result).output.text;
    }"""
    approval = blocked["output"]["approvals"][0]["approvalId"]
    for given in (blocked["runId"], blocked["state"]):  # by id; then both with the state as it was
        ends = await asyncio.gather(*(page.evaluate(approve, [given, approval]) for page in (one, two)))
        errors = [end for end in ends if end != "ordered"]
        assert {error["code"] for error in errors} <= {"APPROVAL_INVALID", "STATE_INVALID"}
        assert len(errors) == (1 if given == blocked["runId"] else 2)
    assert Counter(await one.evaluate("S.logged()"))["order A-17"] == 1


async def test_used_approvals_and_the_state_are_saved_together_or_not_at_all(tab: Open) -> None:
    page, other = await tab(), await tab()
    blocked = await page.evaluate(f"S.agent({ASKS}).then((agent) => (window.agent = agent).run('order').result)")
    approval = blocked["output"]["approvals"][0]["approvalId"]
    found = await page.evaluate(
        """async ([run, approval]) => {
            S.refusePuts("approvals");
            const result = await agent.resume(run, {[approval]: "approve"});
            return {text: result.output.text, storage: agent.storage};
        }""",
        [blocked["runId"], approval],
    )
    assert found["text"] == "ordered", "the run goes on in memory"
    assert found["storage"]["kind"] == "memory"
    assert "QuotaExceededError" in found["storage"]["notice"]
    kept = await other.evaluate("S.agent([]).then((agent) => agent.export())")
    (run,) = kept["runs"]
    assert json.loads(run["state"])["status"] == "blocked", "of the transaction that failed nothing is kept"
    assert kept["usedApprovals"] == []


WAITS = """[{calls: [{name: "wait", args: {}}]}, {text: "waited"}]"""


async def test_one_tab_at_a_time_writes_a_session(tab: Open) -> None:
    one, two = await tab(), await tab()
    await one.evaluate(f"""async () => {{
        window.agent = await S.agent({WAITS});
        window.run = agent.session("s").run("first");
        await S.until(() => S.go);
    }}""")
    found = await two.evaluate("""async () => {
        window.agent = await S.agent([{text: "first answer"}, {text: "second answer"}]);
        const refused = await T.error(agent.session("s", {busy: "refuse"}).run("no"));
        const other = (await agent.session("other").run("hi")).status;
        window.run = agent.session("s").run("second");
        const early = await Promise.race([run.result.then(() => "done"), T.sleep(300).then(() => "waits")]);
        const [running] = (await agent.runs.list()).filter((run) => run.status === "running");
        const inProgress = await T.error(agent.runs.delete(running.id));
        return {refused, other, early, inProgress};
    }""")
    assert found["refused"]["code"] == "SESSION_BUSY"
    assert found["inProgress"]["code"] == "SESSION_BUSY"
    assert found["other"] == "completed"
    assert found["early"] == "waits"
    await one.evaluate("S.go(), run.result.then(() => null)")
    history = await two.evaluate("run.result.then(() => agent.sessions.history('s'))")
    assert [turn["parts"][0]["text"] for turn in history] == ["first", "waited", "second", "second answer"]


async def test_a_tab_that_is_closed_gives_its_turn_on(tab: Open) -> None:
    one, two = await tab(), await tab()
    await one.evaluate(f"""async () => {{
        window.agent = await S.agent({WAITS});
        agent.session("s").run("first");
        await S.until(() => S.go);
    }}""")
    await two.evaluate(
        "S.agent([{text: 'mine'}]).then((agent) => void (window.run = (window.agent = agent).session('s').run('second')))"
    )
    await one.close()
    assert await two.evaluate("run.result.then((result) => result.output.text)") == "mine"


async def test_a_tab_that_lost_its_run_to_another_does_not_overwrite_it(tab: Open) -> None:
    """Without Web Locks nothing keeps a second tab from driving the run: the first is told with its next write."""
    one, two = await tab(), await tab()
    for page in (one, two):
        await page.evaluate("Object.defineProperty(Navigator.prototype, 'locks', {get: () => undefined})")
    run = await one.evaluate(f"""async () => {{
        window.agent = await S.agent({WAITS});
        window.run = agent.session("s").run("first");
        window.ended = T.error(run);
        await S.until(() => S.go);
        return (await agent.runs.list())[0].id;
    }}""")
    await two.evaluate(
        """async ([id, turns]) => {
            window.agent = await S.agent(turns);
            window.run = agent.resume(id);
            await S.until(() => S.go);
        }""",
        [run, [{"calls": [{"name": "wait", "args": {}}]}, {"text": "the second's"}]],
    )
    await two.evaluate("S.go(), run.result.then(() => null)")
    error = await one.evaluate("S.go(), ended")
    assert error["code"] == "STATE_INVALID"
    assert error["details"] == {"reason": "conflict"}
    assert "another tab" in error["message"]
    assert "Nothing was overwritten" in error["hint"]
    found = await one.evaluate(
        "async (id) => ({run: await agent.runs.get(id), turns: await agent.sessions.history('s')})", run
    )
    assert found["run"]["state"]["output"]["text"] == "the second's"
    assert len(found["turns"]) == 2


async def test_an_older_state_does_not_overwrite_what_is_kept(tab: Open) -> None:
    page = await tab()
    found = await page.evaluate("""async () => {
        const turns = [{calls: [{name: "note", args: {n: 1}}]}, {text: "done"}];
        const agent = await S.agent(turns, {maxSteps: 1, finalizeOnExhaustion: false});
        const paused = await agent.run("x");
        const state = JSON.parse(JSON.stringify(paused.state));
        const done = await agent.resume(state, {}, {extend: {maxSteps: 3}});
        const again = await T.error(agent.resume(state, {}, {extend: {maxSteps: 3}}));
        return {paused: paused.status, done: done.status, again, kept: (await agent.runs.list())[0].status, log: S.logged()};
    }""")
    assert found["paused"] == "continuation"
    assert found["done"] == found["kept"] == "completed"
    assert found["again"]["details"] == {"reason": "conflict"}
    assert found["log"] == ["asked 0", "note 1", "asked 1"], "nothing has moved"


NOTES = """[{text: "First. ", calls: [{name: "note", args: {n: 1}}]},
            {calls: [{name: "note", args: {n: 2}}, {name: "note", args: {n: 3}}]}, {text: "The end."}]"""


@pytest.mark.parametrize("moment", ["heard", "answered"])
@pytest.mark.parametrize("number", [5, 9, 13])
async def test_a_worker_killed_in_mid_run_loses_nothing(tab: Open, number: int, moment: str) -> None:
    """At its n-th message, before it is heard (a save that never came), or as it is to be answered (a save, or an action,
    of which Python never hears). What was kept as finished is not done again."""
    page = await tab()
    found = await page.evaluate(
        f"""async ([number, moment]) => {{
            S.killAt(number, moment);
            let agent = await S.agent({NOTES});
            const first = agent.session("s").run("note it");
            const killed = await Promise.race([S.killed, first.result.then(() => false)]);
            S.spareWorkers();
            const kept = JSON.stringify(await agent.export());
            const runs = await agent.runs.list();
            const before = S.logged();
            await agent.close();
            agent = await S.agent({NOTES});
            const result = runs.length ? await agent.resume(runs[0].id) : await agent.session("s").run("note it");
            return {{killed, kept, before, result, log: S.logged(), runs: await agent.runs.list(), turns: await agent.sessions.history("s")}};
        }}""",
        [number, moment],
    )
    assert found["killed"], "the run was over before: fewer kill points, please"
    assert found["result"]["status"] == "completed"
    assert found["result"]["output"]["text"] == "The end."
    assert [turn["parts"][0]["text"] for turn in found["turns"]] == ["note it", "The end."]
    assert len(found["runs"]) == 1
    times = Counter(found["log"])
    assert {line for line in times if line.startswith("note")} == {"note 1", "note 2", "note 3"}
    finished = [n for n in (1, 2, 3) if f'\\"noted\\":{n}' in found["kept"]]
    assert [times[f"note {n}"] for n in finished] == [1] * len(finished)
    assert all(count <= 2 for count in times.values()), "only the call in flight is made again"
    repeated = [line for line, count in times.items() if count > 1]
    assert len(repeated) <= 2, "the last call, or two that ran side by side"


HANGS = """
from agrun_wasm import skill_tool

@skill_tool(description="Hangs.", parameters={"type": "object", "properties": {}})
def hang():
    while True:
        pass
"""
HANG = (
    f"const tools = {json.dumps(HANGS)};"
    """
    window.hangs = {files: {"SKILL.md": "---\\nname: hang\\ndescription: Hangs.\\n---\\nHang.", "tools.py": tools}, trustTools: true};
    window.hanging = [
        {calls: [{name: "read_agent_skill", args: {skillName: "hang"}}]},
        {calls: [{name: "use_agent_skill", args: {skillName: "hang"}}]},
        {calls: [{name: "note", args: {n: 7}}]},
        {text: "Let me see. ", calls: [{name: "execute_skill_tool", args: {toolName: "hang"}}]},
        {text: "never"},
    ];
    void (window.toTheHang = async (run) => {
        const seen = [];
        for await (const event of S.follow(run)) {
            seen.push(event);
            if (event.type === "text-delta") break;
        }
        await T.sleep(500);
    });
"""
)


@pytest.mark.parametrize("store", ["indexeddb", "memory"])
async def test_a_run_that_does_not_react_to_its_stop_ends_as_aborted(tab: Open, store: str) -> None:
    page = await tab()
    await page.evaluate(HANG)
    found = await page.evaluate(
        """async (store) => {
            const agent = await S.agent(hanging, {skills: [hangs], store});
            const other = await S.agent([{calls: [{name: "wait", args: {}}]}, {text: "other"}], {store});
            const beside = other.run("beside");
            await S.until(() => S.go);
            const run = agent.session("s").run("hang");
            const told = [];
            const listening = (async () => { for await (const event of run) told.push(event); })();
            await S.until(() => told.some((event) => event.type === "text-delta"));
            await T.sleep(300);
            const {go} = S;
            run.stop("now");
            const result = await run.result;
            await listening;
            await S.until(() => S.go !== go); // the other run has been taken up, and waits again
            S.go();
            const text = (await beside.result).output.text;
            const next = (await agent.describeComposition()).profile;
            const over = await T.error(agent.resume(result.runId));
            return {result, told: told.map((event) => [event.seq, event.type]), text, next, over, log: S.logged(),
                    kept: (await agent.runs.get(result.runId)).status, turns: await agent.sessions.history("s")};
        }""",
        store,
    )
    result = found["result"]
    assert result["status"] == found["kept"] == "aborted"
    superseded = [event for event in found["told"] if event[1] == "answer-superseded"]
    assert superseded, "the text beside a call was no answer, and the replay of the journal says so"
    assert result["diagnostics"]["partialText"] == ""
    assert found["told"][-1][1] == "run-aborted"
    steps = [(seq, type_) for seq, type_ in found["told"] if not type_.endswith("-delta")]
    assert len(set(steps)) == len(steps), "no step is told twice"
    assert found["log"].count("note 7") == 1
    assert found["text"] == "other", "a run beside it goes on in the new worker"
    assert found["log"].count("wait") == 2, "the call in flight is made again"
    assert found["next"]
    assert found["over"]["code"] == "STATE_INVALID"
    assert [turn["parts"][0]["text"] for turn in found["turns"]] == ["hang"]
    for _ in range(400):  # Chromium breaks into the loop of a worker that was ended after some seconds only
        if len(page.workers) == 1:
            break
        await asyncio.sleep(0.05)
    assert len(page.workers) == 1


async def test_without_a_store_a_stuck_run_fails_and_the_runtime_goes_on(tab: Open) -> None:
    page = await tab()
    await page.evaluate(HANG)
    found = await page.evaluate("""async () => {
        const agent = await S.agent(hanging, {skills: [hangs], store: null});
        const run = agent.run("hang");
        await toTheHang(run);
        run.stop("now");
        const error = await T.error(run);
        const next = agent.run("hang");
        await toTheHang(next);
        return {error, storage: agent.storage, kept: await T.error(() => agent.runs.list())};
    }""")
    assert found["error"]["code"] == "PYTHON_STUCK"
    assert "store" in found["error"]["hint"]
    assert found["storage"] is None
    assert found["kept"]["code"] == "CONFIG_INVALID"
    assert "indexeddb" in found["kept"]["hint"]


async def test_where_the_browser_refuses_everything_goes_on_in_memory(tab: Open) -> None:
    page = await tab()
    found = await page.evaluate(f"""async () => {{
        S.refuseOpen();
        const told = [];
        let agent = await S.agent({ASKS}, {{onStorage: (status) => told.push(status)}});
        const blocked = await agent.session("s").run("order");
        await agent.close();
        agent = await S.agent({ASKS}); // in the same page: what was kept in memory is there
        const result = await agent.resume(blocked.runId, {{[blocked.output.approvals[0].approvalId]: "approve"}});
        const [run] = await agent.runs.list();
        return {{told, storage: agent.storage, text: result.output.text, run, turns: await agent.sessions.history("s"), diagnostics: result.diagnostics}};
    }}""")
    assert found["text"] == "ordered"
    assert found["run"]["status"] == "completed"
    assert len(found["turns"]) == 2
    assert "store" not in found["diagnostics"]
    assert found["told"] == [found["storage"]]
    assert found["storage"]["kind"] == "memory"
    assert "SecurityError" in found["storage"]["notice"]
    assert "export" in found["storage"]["notice"]


async def test_a_disk_that_fills_in_mid_run_costs_nothing(tab: Open) -> None:
    page = await tab()
    found = await page.evaluate(f"""async () => {{
        const told = [];
        const agent = await S.agent({WAITS}, {{onStorage: (status) => told.push(status.kind)}});
        await agent.session("s").run("before").stop("now");
        const run = agent.session("s").run("x");
        await S.until(() => S.go);
        S.refusePuts();
        S.go();
        const result = await run.result;
        return {{told, status: result.status, store: result.diagnostics.store ?? null, runs: await agent.runs.list()}};
    }}""")
    assert found["told"] == ["memory"]
    assert found["status"] == "completed"
    assert found["store"] is None
    assert len(found["runs"]) == 2, "what could still be read is there too"


async def test_a_database_that_is_deleted_in_mid_run_costs_only_what_it_held(tab: Open) -> None:
    page, other = await tab(), await tab()
    await page.evaluate(f"""async () => {{
        window.agent = await S.agent({WAITS});
        window.run = agent.run("x");
        await S.until(() => S.go);
    }}""")
    deleted = await other.evaluate("""() => new Promise((resolve) => {
        const request = indexedDB.deleteDatabase("agrun");
        request.onsuccess = () => resolve("deleted");
        request.onblocked = () => resolve("blocked");
    })""")
    assert deleted == "deleted", "no tab stands in the way"
    found = await page.evaluate("""async () => {
        S.go();
        const result = await run.result;
        return {status: result.status, runs: (await agent.runs.list()).map((run) => run.status), storage: agent.storage.kind};
    }""")
    assert found == {"status": "completed", "runs": ["completed"], "storage": "indexeddb"}


BIG = 1152921504606846976
KEY = "sk-very-secret-1"


async def test_an_export_comes_back_identical(tab: Open) -> None:
    page = await tab()
    found = await page.evaluate(
        """async ([big, key]) => {
            const turns = [{calls: [{name: "note", argsText: `{"n":${big}}`}, {name: "order", args: {sku: "B"}}]}, {text: `done, ${key}`}];
            let agent = await S.agent(turns, {provider: {name: "fake", model: "m", apiKey: key, headers: {"x-own": "sk-header-2"}}});
            const blocked = await agent.session("s").run("x");
            await agent.resume(blocked.runId, {[blocked.output.approvals[0].approvalId]: "approve"});
            await agent.session("t").run("y"); // blocked, and left so
            const before = await agent.export();
            const file = new File([JSON.stringify(before)], "agrun.json");
            await agent.close();
            await new Promise((resolve) => (indexedDB.deleteDatabase("agrun").onsuccess = resolve));
            agent = await S.agent(turns);
            const empty = await agent.export();
            const added = await agent.import(file);
            const after = await agent.export();
            const again = await agent.import(JSON.stringify(before));
            const waiting = (await agent.runs.list()).find((run) => run.status === "blocked");
            const {state} = await agent.runs.get(waiting.id);
            const used = await T.error(agent.resume(blocked.runId, {[blocked.output.approvals[0].approvalId]: "approve"}));
            const result = await agent.resume(state, {[state.output.approvals[0].approvalId]: "approve"});
            return {before, empty, added, after, again, used, status: result.status, text: JSON.stringify(before)};
        }""",
        [str(BIG), KEY],
    )
    assert found["empty"]["runs"] == found["empty"]["sessions"] == found["empty"]["usedApprovals"] == []
    assert found["added"] == {"runs": 2, "sessions": 1}
    assert found["after"] == found["before"]
    assert len(found["before"]["usedApprovals"]) == 1
    assert found["again"] == {"runs": 0, "sessions": 0}, "what is there stays"
    assert str(BIG) in found["text"]
    assert "1152921504606847000" not in found["text"]
    assert "done, " in found["text"]
    assert KEY not in found["text"]
    assert "sk-header-2" not in found["text"]
    assert found["used"]["code"] in ("APPROVAL_INVALID", "STATE_INVALID")
    assert found["status"] == "completed", "a run that came in goes on"


async def test_a_file_that_is_no_export_changes_nothing(tab: Open) -> None:
    page = await tab()
    found = await page.evaluate("""async () => {
        const agent = await S.agent([{text: "hi"}], {store: "memory"});
        await agent.session("s").run("x");
        const good = await agent.export();
        const fresh = await S.agent([], {store: {name: "other"}});
        const bad = {
            nothing: null, text: "{", format: {}, version: {...good, version: 2}, runs: {...good, runs: null},
            state: {...good, runs: [{...good.runs[0], state: "[]"}]}, history: {...good, sessions: [{id: "s", updated: 1, history: "{}"}]},
            journal: {...good, runs: [good.runs[0], {...good.runs[0], journal: ["x"]}]}, approvals: {...good, usedApprovals: [1]},
        };
        const errors = {};
        for (const [name, data] of Object.entries(bad)) errors[name] = await T.error(fresh.import(data));
        return {errors, kept: await fresh.export()};
    }""")
    assert {error["code"] for error in found["errors"].values()} == {"STATE_INVALID"}
    assert "runs[1].journal[0]" in found["errors"]["journal"]["message"]
    assert "runs[0].state" in found["errors"]["state"]["message"]
    assert found["kept"]["runs"] == []


async def test_where_runs_are_kept_is_an_option(tab: Open) -> None:
    page = await tab()
    found = await page.evaluate("""async () => {
        const where = async (options) => {
            const agent = await Agrun.createRuntime(options);
            await agent.close();
            return agent.storage;
        };
        await S.agent([], {store: null}); // stays, so that Python starts once
        const openai = {name: "openai", model: "m", apiKey: "k"};
        const fake = {provider: "fake:x", providers: {fake: S.model([])}};
        return {
            network: await where({provider: openai}), none: await where({provider: openai, store: null}), own: await where(fake),
            offline: await where({provider: "offline"}), asked: await where({...fake, store: "indexeddb"}),
            named: await where({provider: openai, store: {name: "mine"}}), memory: await where({provider: openai, store: "memory"}),
            errors: [await T.error(where({...fake, store: "indexdb"})), await T.error(where({...fake, store: {nam: "x"}})), await T.error(where({...fake, store: 3}))],
            databases: (await indexedDB.databases()).map((database) => database.name).sort(),
        };
    }""")
    kept = {"kind": "indexeddb", "name": "agrun", "notice": None}
    assert found["network"] == found["asked"] == kept
    assert found["named"] == {**kept, "name": "mine"}
    assert found["memory"] == {"kind": "memory", "name": None, "notice": None}
    assert found["none"] is found["own"] is found["offline"] is None
    assert {error["code"] for error in found["errors"]} == {"CONFIG_INVALID"}
    assert all("'store'" in error["message"] for error in found["errors"])
    assert found["databases"] == ["agrun", "mine"]
