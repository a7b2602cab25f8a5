/** The tables in IndexedDB. Knows the browser's ways to take a database away, and nothing of what the rows mean. */

import { openDB } from "idb";
import { TABLES, TABLE_NAMES } from "./tables.js";

/** @typedef {import("./tables.js").Tables} Tables */

/** The form of the tables; a change of TABLES raises it, and `upgrade` then says what becomes of the older rows. */
const VERSION = 1;
/** Some browsers never answer when they do not want to open a database. */
const OPEN_TIMEOUT_MS = 5_000;

export class IndexedTables {
  #name;
  /** @type {Promise<import("idb").IDBPDatabase<any>> | null} */
  #database = null;

  /** @param {string} name */
  constructor(name) {
    this.#name = name;
  }

  /**
   * @template T
   * @param {import("./tables.js").Mode} mode @param {(tables: Tables) => Promise<T>} work
   * @returns {Promise<T>}
   */
  async transact(mode, work) {
    const transaction = (await this.#opened()).transaction(TABLE_NAMES, mode);
    try {
      const value = await work(tablesOf(/** @type {any} */ (transaction)));
      await transaction.done;
      return value;
    } catch (error) {
      transaction.done.catch(() => {}); // fails with what has just been caught
      try {
        transaction.abort();
      } catch {
        // it has ended already
      }
      throw error;
    }
  }

  /** Opened with the first use, and again after the browser or another tab took it away. */
  #opened() {
    if (!this.#database) {
      const opening = openInTime(this.#name, () => {
        if (this.#database === opening) this.#database = null;
      });
      this.#database = opening;
      opening.catch(() => (this.#database = null));
    }
    return this.#database;
  }
}

/** @param {string} name @param {() => void} onGone */
async function openInTime(name, onGone) {
  const opening = openDB(name, VERSION, {
    upgrade(database) {
      for (const table of TABLE_NAMES) database.createObjectStore(table, { keyPath: TABLES[table] });
    },
    blocking(_current, _wanted, event) {
      onGone(); // another tab deletes or upgrades it: nobody waits for this one
      /** @type {IDBDatabase} */ (event.target).close();
    },
    terminated: onGone,
  });
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`IndexedDB did not open in ${OPEN_TIMEOUT_MS / 1000} s`)), OPEN_TIMEOUT_MS);
  });
  try {
    return await /** @type {typeof opening} */ (Promise.race([opening, late]));
  } catch (error) {
    opening.then((database) => database.close(), () => {});
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** @param {import("idb").IDBPTransaction<any, any, "readwrite">} transaction in either mode @returns {Tables} */
function tablesOf(transaction) {
  const store = (/** @type {string} */ table) => transaction.objectStore(table);
  return {
    get: (table, key) => store(table).get(key),
    all: (table, owner) => store(table).getAll(owner === undefined ? undefined : rowsOf(owner)),
    put: (table, row) => store(table).put(row),
    remove: (table, key) => store(table).delete(key),
    clear: (table, owner) => store(table).delete(rowsOf(owner)),
  };
}

/** Every key that begins with the owner: an array comes after all numbers. @param {string} owner */
function rowsOf(owner) {
  return IDBKeyRange.bound([owner], [owner, []]);
}
