/**
 * Exports: everything that is kept, as one value for a file, and such a file back in.
 *
 * What comes in is a file that anybody may have edited: it is checked whole before any of it is kept, and what a run's
 * row says is taken from its state.
 */

import { AgrunError } from "../api/errors.js";
import { putRun } from "./records.js";

/** @typedef {import("./storage.js").Storage} Storage */
/** @typedef {{updated: number, state: string, journal: string[]}} ExportedRun */
/** @typedef {{id: string, updated: number, history: string}} ExportedSession */
/**
 * States, journal entries and histories are JSON texts, so that a file holds every number as it was.
 * @typedef {{format: "agrun", version: 1, runs: ExportedRun[], sessions: ExportedSession[], usedApprovals: {id: string, run: string}[]}} Exported
 */

const FORMAT = "agrun";
const VERSION = 1;

/** @param {Storage} storage @returns {Promise<Exported>} */
export function exportAll(storage) {
  return storage.transact("readonly", async (tables) => {
    const runs = [];
    for (const { id, updated } of await tables.all("runs")) {
      const journal = (await tables.all("journal", id)).map((row) => row.text);
      runs.push({ updated, state: (await tables.get("states", id)).text, journal });
    }
    const sessions = (await tables.all("sessions")).map(({ id, updated, text }) => ({ id, updated, history: text }));
    return { format: FORMAT, version: VERSION, runs, sessions, usedApprovals: await tables.all("approvals") };
  });
}

/**
 * Adds what an export holds; of what is there already, whatever is further or newer stays. All or nothing.
 * @param {Storage} storage @param {unknown} data an export, its JSON text, or a Blob (a File) of that
 * @returns {Promise<{runs: number, sessions: number}>} how many came in
 */
export async function importAll(storage, data) {
  const { runs, sessions, usedApprovals } = await readExport(data);
  return storage.transact("readwrite", async (tables) => {
    const added = { runs: 0, sessions: 0 };
    for (const { row, state, journal } of runs) {
      const before = await tables.get("runs", row.id);
      if (before && before.seq >= row.seq) continue;
      await putRun(tables, { ...row, revision: (before?.revision ?? 0) + 1 }, state, journal);
      added.runs += 1;
    }
    for (const { id, updated, history } of sessions) {
      const before = await tables.get("sessions", id);
      if (before && before.updated >= updated) continue;
      await tables.put("sessions", { id, updated, text: history, revision: (before?.revision ?? 0) + 1 });
      added.sessions += 1;
    }
    for (const { id, run } of usedApprovals) await tables.put("approvals", { id, run });
    return added;
  });
}

/** @param {unknown} data */
async function readExport(data) {
  const text = data instanceof Blob ? await data.text() : data;
  const found = typeof text === "string" ? parsed(text, "the file", isObject) : /** @type {any} */ (text);
  if (!isObject(found) || found.format !== FORMAT) throw refused("this is no export of agrun");
  if (found.version !== VERSION) throw refused(`its version is ${JSON.stringify(found.version)}, and this one reads ${VERSION}`);
  return {
    runs: list(found.runs, "runs").map(readRun),
    sessions: list(found.sessions, "sessions").map(readSession),
    usedApprovals: list(found.usedApprovals, "usedApprovals").map(readApproval),
  };
}

/** @param {any} item @param {number} at */
function readRun(item, at) {
  const where = `runs[${at}]`;
  check(Number.isFinite(item?.updated), `${where}.updated`, "a number");
  const state = parsed(item.state, `${where}.state`, isObject);
  const { runId: id, sessionId: session, status } = state;
  for (const [key, value] of Object.entries({ runId: id, sessionId: session, status })) {
    check(typeof value === "string" && value !== "", `${where}.state.${key}`, "a text");
  }
  const entries = list(item.journal, `${where}.journal`).map((entry, n) => parsed(entry, `${where}.journal[${n}]`, isObject));
  const seq = Math.max(state.seq, ...entries.map((entry) => entry.seq));
  check(Number.isFinite(seq), `${where}.state.seq`, "a number");
  return { row: { id, session, status, seq, updated: item.updated }, state: item.state, journal: item.journal };
}

/** @param {any} item @param {number} at */
function readSession(item, at) {
  const where = `sessions[${at}]`;
  check(typeof item?.id === "string" && item.id !== "", `${where}.id`, "a text");
  check(Number.isFinite(item.updated), `${where}.updated`, "a number");
  parsed(item.history, `${where}.history`, Array.isArray);
  return { id: item.id, updated: item.updated, history: item.history };
}

/** @param {any} item @param {number} at */
function readApproval(item, at) {
  check(typeof item?.id === "string" && typeof item.run === "string", `usedApprovals[${at}]`, "{id, run}");
  return { id: item.id, run: item.run };
}

/** @param {unknown} value @param {string} where @returns {any[]} */
function list(value, where) {
  check(Array.isArray(value), where, "a list");
  return /** @type {any[]} */ (value);
}

/** @param {unknown} text @param {string} where @param {(value: any) => boolean} fits @returns {any} */
function parsed(text, where, fits) {
  let value;
  try {
    value = typeof text === "string" ? JSON.parse(text) : undefined;
  } catch {
    // said below
  }
  check(fits(value), where, fits === isObject ? "the JSON text of an object" : "the JSON text of a list");
  return value;
}

/** @param {unknown} value @returns {value is Record<string, any>} */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {boolean} fits @param {string} where @param {string} what */
function check(fits, where, what) {
  if (!fits) throw refused(`${where} must be ${what}`);
}

/** @param {string} why */
function refused(why) {
  return new AgrunError({ code: "STATE_INVALID", message: `import: ${why}`, hint: "Give what `export()` gave; nothing was imported." });
}
