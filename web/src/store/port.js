/** The store as Python reaches it: functions of the page whose arguments and values are texts. Counterpart: agrun_wasm/browser/store.py. */

import { holdTurn } from "./locks.js";
import { Records } from "./records.js";

/** @typedef {import("./storage.js").Storage} Storage */
/** @typedef {import("./records.js").RunHead} RunHead */
/** @typedef {{signal: AbortSignal}} Called */

/** @param {Storage} storage @returns {Record<string, Function>} */
export function storePort(storage) {
  const records = new Records(storage);
  return {
    saveRun: (/** @type {RunHead} */ head, /** @type {string} */ text, /** @type {string[]} */ journal) => records.saveRun(head, text, journal),
    addToRun: (/** @type {string} */ id, /** @type {number} */ seq, /** @type {string} */ text) => records.addToRun(id, seq, text),
    loadRun: (/** @type {string} */ id) => records.loadRun(id),
    saveSession: (/** @type {string} */ id, /** @type {string} */ text) => records.saveSession(id, text),
    loadSession: (/** @type {string} */ id) => records.loadSession(id),
    useApprovals: (/** @type {string[]} */ ids, /** @type {RunHead} */ head, /** @type {string} */ text, /** @type {string[]} */ journal) =>
      records.useApprovals(ids, head, text, journal),
    holdSession: (/** @type {string} */ id, /** @type {boolean} */ wait, /** @type {Called} */ { signal }) =>
      holdTurn(turnName(storage, id), wait, signal),
  };
}

/** The lock of a session. Memory of its own is shared with nobody, and so are its locks. @param {Storage} storage @param {string} session */
export function turnName(storage, session) {
  return `agrun ${JSON.stringify([storage.status.name ?? storage.id, session])}`;
}
