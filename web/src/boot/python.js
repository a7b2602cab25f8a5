/**
 * Python from nothing to a Page that answers, wherever this code runs: in the worker, or in the page itself.
 *
 * All downloads run at once. A snapshot, where there is one, is tried first; whatever is wrong with it, it is discarded,
 * the page is told, and Python starts as if there had been none.
 */

import { Downloads } from "./downloads.js";
import { answerFetches } from "./handover.js";
import { downloadFiles, readTimeZone, startPyodide, unpack } from "./pyodide.js";
import { snapshotSource } from "./snapshot_source.js";
import { StageClock } from "./stage_clock.js";
import { BootError, messageOf } from "./stages.js";

/** @typedef {import("./assets.js").Manifest} Manifest */
/** @typedef {import("./stages.js").BootEvent} BootEvent */
/** @typedef {import("./pyodide.js").Files} Files */

/**
 * @param {object} options
 * @param {string} options.base where the bundle lies
 * @param {Manifest} options.manifest
 * @param {string} options.snapshot "auto", "off" or a URL
 * @param {boolean} options.ownScope whether the global scope is ours, so that Pyodide's own downloads can be counted
 * @param {(event: BootEvent) => void} options.report
 * @param {(text: string) => void} options.post takes what Python says
 * @param {(error: unknown) => void} options.onFatal told when Python has broken down for good
 * @returns {Promise<{receive: (text: string) => void, close: () => void, pyodide: any}>}
 */
export async function bootPython({ base, manifest, snapshot, ownScope, report, post, onFatal }) {
  const clock = new StageClock(report);
  const downloads = new Downloads(manifest, (loaded, total) => clock.progress(loaded, total));
  clock.enter("assets");
  const files = downloadFiles(base, manifest, downloads, ownScope);
  const restoreFetch = files.ahead ? answerFetches(files.indexURL, files.ahead) : () => {};

  const source = snapshotSource(snapshot, base, manifest, downloads);
  const reject = async (/** @type {unknown} */ error) => {
    await source.discard().catch(() => {});
    clock.rejected(messageOf(error));
    return null;
  };
  const found = await source.read().catch(reject);
  const waking = found && wake(files, found).catch((error) => (isDownload(error) ? null : reject(error)));
  const starting = waking ? null : startPyodide(files);
  await Promise.race([downloads.finished(), waking ?? starting?.then(() => new Promise(() => {}))]);

  clock.enter("runtime");
  const woken = await waking;
  const pyodide = woken ?? (await (starting ?? startPyodide(files)));
  restoreFetch();

  clock.enter("packages");
  if (!woken) await inStage("packages", () => unpack(pyodide, files));

  clock.enter("core");
  const receive = await inStage("core", () => openPage(pyodide, post));
  pyodide._api.on_fatal = onFatal;
  clock.ready(Boolean(woken));
  return { receive, close: () => receive.destroy(), pyodide };
}

/**
 * Python as it was when the snapshot was made, seen to work.
 * @param {Files} files @param {import("./snapshot.js").Snapshot} snapshot
 */
async function wake(files, snapshot) {
  const pyodide = await startPyodide(files, { snapshot }).catch(async (error) => {
    await snapshot.checked; // damage is the better reason
    throw error;
  });
  await unpack(pyodide, files);
  readTimeZone(pyodide._module);
  pyodide.runPython("from agrun_wasm.browser import warm_start; warm_start.wake(); del warm_start");
  return pyodide;
}

/** @param {any} pyodide @param {(text: string) => void} post */
function openPage(pyodide, post) {
  const module = pyodide.pyimport("agrun_wasm.browser.page");
  const receive = module.open_page(post);
  module.destroy();
  return receive;
}

/**
 * @template T
 * @param {"packages" | "core"} stage @param {() => T | Promise<T>} work
 * @returns {Promise<T>}
 */
async function inStage(stage, work) {
  try {
    return await work();
  } catch (error) {
    throw new BootError(stage, messageOf(error), { details: { traceback: String(error) } });
  }
}

/** Is it of a file that did not come? Then the snapshot is not to blame. @param {unknown} error */
function isDownload(error) {
  return error instanceof BootError && error.details.stage === "assets";
}
