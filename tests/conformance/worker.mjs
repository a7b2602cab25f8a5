// The worker of a test page: Pyodide as the product boots it, with the tests' own sources beside it.
//
// Messages in: {module, item}, the item as JSON text for `module.judge`. Messages out: {ready} once, {outcome} for each
// item, {broken} when Python could not be had.
import { bootPython } from "/worker.mjs";

const HOME = "/home/pyodide";

async function prepare() {
  const manifest = await (await fetch("/manifest.json")).json();
  const base = new URL("/", self.location.href).href;
  const { pyodide } = await bootPython({ base, manifest, ownScope: true, report: () => {}, post: () => {} });
  const sources = await (await fetch("./sources.json")).json();
  for (const [path, text] of Object.entries(sources)) {
    pyodide.FS.mkdirTree(`${HOME}/${path.slice(0, path.lastIndexOf("/"))}`);
    pyodide.FS.writeFile(`${HOME}/${path}`, text);
  }
  return pyodide.runPythonAsync(`
import importlib, json, sys
sys.path.insert(0, "${HOME}")
importlib.invalidate_caches()
from tests.conformance.report import guarded

async def outcome_of(module, item):
    outcome = await guarded(json.loads(item), importlib.import_module(module).judge)
    return json.dumps(outcome.to_json())

outcome_of`);
}

try {
  const outcomeOf = await prepare();
  self.onmessage = async ({ data }) => {
    self.postMessage({ outcome: await outcomeOf(data.module, data.item) });
  };
  self.postMessage({ ready: true });
} catch (error) {
  self.postMessage({ broken: String(error) });
}
