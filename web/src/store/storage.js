/**
 * Where a runtime keeps its runs and sessions: IndexedDB, or memory where that was asked for or the browser refuses.
 *
 * A refusal (a private window, a full disk, an evicted database) never costs a run: what can still be read moves into
 * memory, the notice says so, and everything goes on there.
 */

import { AgrunError } from "../api/errors.js";
import { IndexedTables } from "./indexed.js";
import { MemoryTables } from "./memory.js";
import { TABLE_NAMES } from "./tables.js";

/** @typedef {import("./tables.js").Tables} Tables */
/** `notice` is for people: why nothing outlives this page. @typedef {{kind: "indexeddb" | "memory", name: string | null, notice: string | null}} StorageStatus */

export const DEFAULT_NAME = "agrun";

/** One for each database, so that a second runtime of the page finds what the first had to move into memory. @type {Map<string, Storage>} */
const shared = new Map();

/** @param {string | null} name of the database; null for memory of its own */
export function storageAt(name) {
  if (name === null) return new Storage(null);
  const found = shared.get(name) ?? new Storage(name);
  shared.set(name, found);
  return found;
}

let made = 0;

export class Storage {
  /** Among the storages of this page. */
  id = `memory-${++made}`;
  /** @type {StorageStatus} */
  status;
  /** @type {Set<(status: StorageStatus) => void>} */
  listeners = new Set();
  /** @type {import("./tables.js").Transactor} */
  #tables;
  /** @type {Promise<void> | null} */
  #moving = null;

  /** @param {string | null} name */
  constructor(name) {
    this.#tables = name === null ? new MemoryTables() : new IndexedTables(name);
    this.status = { kind: name === null ? "memory" : "indexeddb", name, notice: null };
  }

  /** Looks whether the browser lets us. */
  async open() {
    await this.transact("readonly", (tables) => tables.get("runs", ""));
  }

  /**
   * @template T
   * @param {import("./tables.js").Mode} mode
   * @param {(tables: Tables) => Promise<T>} work done again where the first place fails, so it must not leave traces
   * @returns {Promise<T>}
   */
  async transact(mode, work) {
    const tables = this.#tables;
    try {
      return await tables.transact(mode, work);
    } catch (error) {
      if (error instanceof AgrunError || tables instanceof MemoryTables) throw error;
      this.#moving ??= this.#move(tables, error);
      await this.#moving;
      return this.#tables.transact(mode, work);
    }
  }

  /** @param {import("./tables.js").Transactor} tables @param {unknown} reason */
  async #move(tables, reason) {
    const memory = new MemoryTables();
    const rows = await tables
      .transact("readonly", (from) => Promise.all(TABLE_NAMES.map((name) => from.all(name))))
      .catch(() => []);
    await memory.transact("readwrite", async (to) => {
      for (const [at, found] of rows.entries()) for (const row of found) await to.put(TABLE_NAMES[at], row);
    });
    this.#tables = memory;
    const why = reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason);
    this.status = {
      ...this.status,
      kind: "memory",
      notice: `The browser keeps nothing for this page (${why}). Conversations go on, and are lost when it is closed; export them to keep them.`,
    };
    for (const listener of this.listeners) listener(this.status);
  }
}
