/**
 * Runs, sessions and used approvals, as Python's Store port wants them kept: whole or not at all, and never over what
 * somebody else has written.
 *
 * Every write raises the revision of its run or session. Who writes must have seen the latest one; who has seen none
 * yet (a state that was handed in) must have come at least as far as what is kept.
 */

import { AgrunError } from "../api/errors.js";

/** @typedef {import("./tables.js").Tables} Tables */
/** @typedef {import("./storage.js").Storage} Storage */
/** What Python says of a state beside its text. @typedef {{id: string, session: string, status: string, seq: number}} RunHead */

export class Records {
  #storage;
  /** The revisions this runtime has given or taken, by kind and id. @type {Map<string, number>} */
  #seen = new Map();

  /** @param {Storage} storage */
  constructor(storage) {
    this.#storage = storage;
  }

  /** @param {RunHead} head @param {string} text @param {string[]} journal */
  async saveRun(head, text, journal) {
    await this.#written(runKey(head.id), (tables) => this.#putRun(tables, head, text, journal));
  }

  /** @param {string} id @param {number} seq @param {string} text */
  async addToRun(id, seq, text) {
    await this.#written(runKey(id), async (tables) => {
      const row = await tables.get("runs", id);
      if (!row) throw new AgrunError({ code: "STATE_INVALID", message: `store: run ${id} is not there any more`, hint: "It is kept again with its next checkpoint." });
      this.#check("run", row, seq);
      const revision = row.revision + 1;
      await tables.put("journal", { run: id, number: revision, text });
      await tables.put("runs", { ...row, updated: Date.now(), seq, revision });
      return revision;
    });
  }

  /** The state's JSON text, its journal in it. @param {string} id @returns {Promise<string | null>} */
  async loadRun(id) {
    const found = await this.#storage.transact("readonly", async (tables) => {
      const row = await tables.get("runs", id);
      return row ? { revision: row.revision, text: await wholeText(tables, id) } : null;
    });
    if (found) this.#seen.set(runKey(id), found.revision);
    return found && found.text;
  }

  /** @param {string} id @param {string} text */
  async saveSession(id, text) {
    await this.#written(`session ${id}`, async (tables) => {
      const row = await tables.get("sessions", id);
      if (row) this.#check("session", row);
      const revision = (row?.revision ?? 0) + 1;
      await tables.put("sessions", { id, updated: Date.now(), revision, text });
      return revision;
    });
  }

  /** @param {string} id @returns {Promise<string | null>} */
  async loadSession(id) {
    const row = await this.#storage.transact("readonly", (tables) => tables.get("sessions", id));
    if (row) this.#seen.set(`session ${id}`, row.revision);
    return row?.text ?? null;
  }

  /**
   * Marks approvals as used and saves the run, or gives the one that was used before.
   * @param {string[]} approvals @param {RunHead} head @param {string} text @param {string[]} journal
   * @returns {Promise<string | null>}
   */
  async useApprovals(approvals, head, text, journal) {
    const { used, revision } = await this.#storage.transact("readwrite", async (tables) => {
      for (const id of approvals) if (await tables.get("approvals", id)) return { used: id, revision: 0 };
      const revision = await this.#putRun(tables, head, text, journal);
      for (const id of approvals) await tables.put("approvals", { id, run: head.id });
      return { used: null, revision };
    });
    if (used === null) this.#seen.set(runKey(head.id), revision);
    return used;
  }

  /** @param {Tables} tables @param {RunHead} head @param {string} text @param {string[]} journal @returns {Promise<number>} */
  async #putRun(tables, head, text, journal) {
    const row = await tables.get("runs", head.id);
    if (row) this.#check("run", row, head.seq);
    const revision = (row?.revision ?? 0) + 1;
    await putRun(tables, { ...head, updated: Date.now(), revision }, text, journal);
    return revision;
  }

  /** @param {string} key @param {(tables: Tables) => Promise<number>} work */
  async #written(key, work) {
    this.#seen.set(key, await this.#storage.transact("readwrite", work));
  }

  /** @param {"run" | "session"} kind @param {{id: string, revision: number, seq?: number}} row @param {number} [seq] how far the writer has come */
  #check(kind, row, seq = 0) {
    const seen = this.#seen.get(`${kind} ${row.id}`);
    const known = seen === undefined ? kind === "run" : seen === row.revision;
    if (known && (row.seq ?? 0) <= seq) return;
    throw new AgrunError({
      code: "STATE_INVALID",
      message: `store: ${kind} ${row.id} has been moved on elsewhere (another tab or runtime) since it was read here`,
      hint: "Nothing was overwritten. Read it again, and go on from there if it still needs it.",
      details: { reason: "conflict" },
    });
  }
}

/** A run in place of the one before. @param {Tables} tables @param {import("./tables.js").RunRow} row @param {string} text @param {string[]} journal */
export async function putRun(tables, row, text, journal) {
  await tables.clear("journal", row.id);
  for (const [at, entry] of journal.entries()) {
    // below the numbers of what is added later, which are revisions
    await tables.put("journal", { run: row.id, number: at - journal.length, text: entry });
  }
  await tables.put("states", { id: row.id, text });
  await tables.put("runs", row);
}

/** A state's text with its journal. @param {Tables} tables @param {string} id */
export async function wholeText(tables, id) {
  const [state, journal] = await Promise.all([tables.get("states", id), tables.all("journal", id)]);
  return `${state.text.slice(0, -1)},"journal":[${journal.map((entry) => entry.text).join(",")}]}`;
}

/** @param {string} id */
function runKey(id) {
  return `run ${id}`;
}
