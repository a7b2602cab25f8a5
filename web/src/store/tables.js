/**
 * What is kept, as rows in tables: the shape that IndexedDB and the page's memory share.
 *
 * Rows hold JSON as text, exactly as Python wrote it: no number is rounded, and nothing is parsed to be kept.
 */

/** @typedef {"runs" | "states" | "journal" | "sessions" | "approvals"} TableName */
/** @typedef {"readonly" | "readwrite"} Mode */
/** A run without its state. `seq` is how far it has come, `revision` counts the writes. @typedef {{id: string, session: string, status: string, updated: number, seq: number, revision: number}} RunRow */
/** A run's state without its journal. @typedef {{id: string, text: string}} StateRow */
/** @typedef {{run: string, number: number, text: string}} JournalRow */
/** @typedef {{id: string, updated: number, revision: number, text: string}} SessionRow */
/** An approval that was used. @typedef {{id: string, run: string}} ApprovalRow */

/**
 * What one transaction can do. `owner` is the run of journal rows; without it all rows of the table are meant.
 * @typedef {object} Tables
 * @property {(table: TableName, key: string) => Promise<any>} get
 * @property {(table: TableName, owner?: string) => Promise<any[]>} all in the order of their keys
 * @property {(table: TableName, row: any) => Promise<void>} put
 * @property {(table: TableName, key: string) => Promise<void>} remove
 * @property {(table: "journal", owner: string) => Promise<void>} clear
 */
/** All of `work` happens, or nothing of it. @typedef {{transact: <T>(mode: Mode, work: (tables: Tables) => Promise<T>) => Promise<T>}} Transactor */

/** The key of each table's rows. @type {Record<TableName, string | string[]>} */
export const TABLES = {
  runs: "id",
  states: "id",
  journal: ["run", "number"],
  sessions: "id",
  approvals: "id",
};

export const TABLE_NAMES = /** @type {TableName[]} */ (Object.keys(TABLES));
