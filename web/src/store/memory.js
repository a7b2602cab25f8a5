/** The tables in the page's memory: for who wants nothing kept beyond it, and where the browser keeps nothing. */

import { TABLES, TABLE_NAMES } from "./tables.js";

/** @typedef {import("./tables.js").Tables} Tables */
/** @typedef {import("./tables.js").TableName} TableName */

export class MemoryTables {
  /** Rows by key, of each table. @type {Map<TableName, Map<string, any>>} */
  #rows = new Map(TABLE_NAMES.map((name) => [name, new Map()]));
  /** The end of the transaction before. @type {Promise<unknown>} */
  #last = Promise.resolve();

  /**
   * @template T
   * @param {import("./tables.js").Mode} _mode @param {(tables: Tables) => Promise<T>} work
   * @returns {Promise<T>}
   */
  transact(_mode, work) {
    const done = this.#last.then(() => this.#whole(work));
    this.#last = done.catch(() => {});
    return done;
  }

  /** @template T @param {(tables: Tables) => Promise<T>} work @returns {Promise<T>} */
  async #whole(work) {
    /** What takes each change back, the latest first. @type {(() => void)[]} */
    const undo = [];
    try {
      return await work(this.#tables(undo));
    } catch (error) {
      for (const back of undo) back();
      throw error;
    }
  }

  /** @param {(() => void)[]} undo @returns {Tables} */
  #tables(undo) {
    const rows = (/** @type {TableName} */ table) => /** @type {Map<string, any>} */ (this.#rows.get(table));
    const change = (/** @type {TableName} */ table, /** @type {string} */ key, /** @type {any} */ row) => {
      const before = rows(table).get(key);
      undo.unshift(() => set(rows(table), key, before));
      set(rows(table), key, row);
    };
    const owned = (/** @type {TableName} */ table, /** @type {string} */ owner) =>
      [...rows(table).values()].filter((row) => row.run === owner);
    return {
      get: async (table, key) => rows(table).get(key),
      all: async (table, owner) => (owner === undefined ? sorted(table, rows(table)) : owned(table, owner)),
      put: async (table, row) => change(table, keyOf(table, row), row),
      remove: async (table, key) => change(table, key, undefined),
      clear: async (table, owner) => owned(table, owner).forEach((row) => change(table, keyOf(table, row), undefined)),
    };
  }
}

/** @param {Map<string, any>} rows @param {string} key @param {any} row */
function set(rows, key, row) {
  if (row === undefined) rows.delete(key);
  else rows.set(key, row);
}

/** @param {TableName} table @param {any} row @returns {string} */
function keyOf(table, row) {
  const path = TABLES[table];
  return typeof path === "string" ? row[path] : JSON.stringify(path.map((name) => row[name]));
}

/** Journal rows are put in their order; other tables are sorted as IndexedDB has them. @param {TableName} table @param {Map<string, any>} rows */
function sorted(table, rows) {
  if (Array.isArray(TABLES[table])) return [...rows.values()];
  return [...rows].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
}
