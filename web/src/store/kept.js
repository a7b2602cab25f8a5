/** What a page can do with what is kept: list, read and delete it. */

import { AgrunError } from "../api/errors.js";
import { stateFromText } from "../border/json.js";
import { isTaken } from "./locks.js";
import { turnName } from "./port.js";
import { wholeText } from "./records.js";

/** @typedef {import("./storage.js").Storage} Storage */
/** @typedef {import("./tables.js").RunRow} RunRow */
/** A run as a page sees it. @typedef {{id: string, session: string, status: string, updated: number}} RunSummary */

export class KeptRuns {
  #storage;

  /** @param {Storage} storage */
  constructor(storage) {
    this.#storage = storage;
  }

  /** The latest first. @returns {Promise<RunSummary[]>} */
  async list() {
    const rows = await this.#storage.transact("readonly", (tables) => tables.all("runs"));
    return rows.map(summary).sort((one, other) => other.updated - one.updated);
  }

  /** With its state, or null. @param {string} id @returns {Promise<(RunSummary & {state: any}) | null>} */
  async get(id) {
    const found = await this.#storage.transact("readonly", async (tables) => {
      const row = await tables.get("runs", id);
      return row ? { row, text: await wholeText(tables, id) } : null;
    });
    return found && { ...summary(found.row), state: stateFromText(found.text) };
  }

  /** Refused while the run is in progress; its used approvals stay used. @param {string} id */
  async delete(id) {
    const row = await this.#storage.transact("readonly", (tables) => tables.get("runs", id));
    if (row?.status === "running" && (await isTaken(turnName(this.#storage, row.session)))) {
      throw new AgrunError({ code: "SESSION_BUSY", message: `runs.delete: run ${id} is in progress`, hint: "Stop it first." });
    }
    await this.#storage.transact("readwrite", async (tables) => {
      await Promise.all([tables.remove("runs", id), tables.remove("states", id), tables.clear("journal", id)]);
    });
  }
}

export class KeptSessions {
  #storage;

  /** @param {Storage} storage */
  constructor(storage) {
    this.#storage = storage;
  }

  /** @returns {Promise<{id: string, updated: number}[]>} */
  async list() {
    const rows = await this.#storage.transact("readonly", (tables) => tables.all("sessions"));
    return rows.map(({ id, updated }) => ({ id, updated })).sort((one, other) => other.updated - one.updated);
  }

  /** The turns so far: `{role, parts, runId}`. @param {string} id @returns {Promise<any[]>} */
  async history(id) {
    const row = await this.#storage.transact("readonly", (tables) => tables.get("sessions", id));
    return row ? JSON.parse(row.text) : [];
  }

  /** @param {string} id */
  async delete(id) {
    await this.#storage.transact("readwrite", (tables) => tables.remove("sessions", id));
  }
}

/** @param {RunRow} row @returns {RunSummary} */
function summary({ id, session, status, updated }) {
  return { id, session, status, updated };
}
