/**
 * Makes a snapshot: a Python of its own, with all imported that a first run needs, and then its memory.
 *
 * That Python is fit for nothing else (Pyodide gives it stand-ins for the globals of JS), so this runs in a worker or page
 * that ends afterwards. Must not know: when it is wanted.
 */

import { Downloads } from "./downloads.js";
import { SITE, downloadFiles, startPyodide, unpack } from "./pyodide.js";
import { SIDE_MODULE, fitOf } from "./side_module.js";
import { snapshotBytes, snapshotKey } from "./snapshot.js";
import { SnapshotStore } from "./snapshot_store.js";
import { UnpackedStore } from "./unpacked_store.js";

/** @typedef {import("./assets.js").Manifest} Manifest */

/** Room that must be left: a snapshot, and as much again for what the page keeps itself. */
const ROOM_BYTES = 128 * 2 ** 20;

/**
 * @param {string} base @param {Manifest} manifest
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function makeSnapshot(base, manifest) {
  return madeFrom(downloadFiles(base, manifest, new Downloads(manifest, () => {})), manifest);
}

/** @param {import("./pyodide.js").Files} files @param {Manifest} manifest */
async function madeFrom(files, manifest) {
  const pyodide = await startPyodide(files, { making: true });
  await unpack(pyodide, files);
  pyodide.runPython("from agrun_wasm.browser import warm_start; warm_start.prepare(); del warm_start");
  const memory = pyodide.makeMemorySnapshot();
  return snapshotBytes(snapshotKey(manifest), { memory, fit: fitOf(pyodide._module) });
}

/**
 * Make the one that this browser lacks, unless another tab is at it, or there is no room.
 * @param {string} base @param {Manifest} manifest
 */
export async function keepSnapshot(base, manifest) {
  const key = snapshotKey(manifest);
  const store = new SnapshotStore(base, key);
  await navigator.locks.request(`agrun snapshot ${base}`, { ifAvailable: true }, async (lock) => {
    if (!lock || (await store.has())) return;
    const { quota = Infinity, usage = 0 } = await navigator.storage.estimate();
    if (quota - usage < ROOM_BYTES) return;
    const files = downloadFiles(base, manifest, new Downloads(manifest, () => {}));
    const [snapshot, native, site] = await Promise.all([madeFrom(files, manifest), files.native, files.site]);
    await new UnpackedStore(base, manifest).write({ [SIDE_MODULE.asset]: native, [SITE]: site });
    await store.write(snapshot);
  });
}
