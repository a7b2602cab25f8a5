/** The worker: boots Python in a thread of its own and passes text both ways. Also a module that boots it in the page. */

import { bootPython } from "./python.js";
import { AgrunError, errorFields } from "../api/errors.js";
import { BootError, WORKER_NAME } from "./stages.js";

export { bootPython };

const scope = /** @type {any} */ (globalThis);

/** @param {{base: string, manifest: import("./assets.js").Manifest}} start */
async function run({ base, manifest }) {
  try {
    const { receive, pyodide } = await bootPython({
      base,
      manifest,
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

if (typeof scope.WorkerGlobalScope === "function" && scope.name === WORKER_NAME) {
  scope.onmessage = (/** @type {MessageEvent} */ event) => run(event.data);
}
