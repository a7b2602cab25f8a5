/**
 * The worker: boots Python in a thread of its own and passes text both ways, or makes a snapshot and is done. Also a module
 * that does both in the page.
 */

import { bootPython } from "./python.js";
import { keepSnapshot, makeSnapshot } from "./snapshot_maker.js";
import { AgrunError, errorFields } from "../api/errors.js";
import { BootError, WORKER_NAME } from "./stages.js";

export { bootPython, makeSnapshot };

/** @typedef {{base: string, manifest: import("./assets.js").Manifest}} Bundle */

const scope = /** @type {any} */ (globalThis);

/** @param {Bundle & {snapshot: string}} start */
async function run({ base, manifest, snapshot }) {
  try {
    const { receive, pyodide } = await bootPython({
      base,
      manifest,
      snapshot,
      ownScope: true,
      report: (event) => scope.postMessage({ boot: event }),
      post: (text) => scope.postMessage(text),
      onFatal: (error) => scope.postMessage({ crashed: String(error) }),
    });
    scope.pyodide = pyodide; // for whoever debugs in this worker
    scope.onmessage = (/** @type {MessageEvent<string>} */ event) => receive(event.data);
  } catch (error) {
    const told = error instanceof AgrunError ? error : new BootError("runtime", String(error));
    scope.postMessage({ failed: errorFields(told) });
  }
}

/** @param {Bundle} bundle */
async function keep({ base, manifest }) {
  await keepSnapshot(base, manifest).catch((error) => console.info(`agrun: no snapshot was made: ${error}`));
  scope.postMessage({ ended: true });
}

if (typeof scope.WorkerGlobalScope === "function" && scope.name === WORKER_NAME) {
  scope.onmessage = (/** @type {MessageEvent} */ { data }) => (data.task === "snapshot" ? keep(data) : run(data));
}
