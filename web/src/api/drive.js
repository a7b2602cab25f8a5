/**
 * One run on its way through Python, through more than one where the first had to be ended: what was kept goes on in the
 * next, and a run that was stopped ends there as stopped.
 */

import { PYTHON_STUCK } from "../boot/interpreter.js";

/** @typedef {import("./link.js").Link} Link */
/** @typedef {import("./run.js").StopMode} StopMode */
/** @typedef {import("../border/channel.js").RunListener} RunListener */

export class Drive {
  #link;
  #keeps;
  #listener;
  /** The id of the run in this Python, by which it is stopped. @type {number | null} */
  #number = null;
  /** The run's own id, once it is known. @type {string | null} */
  #runId = null;
  /** Steps that the listener has seen, by seq: the next Python may tell some of them again. @type {Map<number, string>} */
  #seen = new Map();
  /** @type {StopMode | null} */
  #stopped = null;
  #over = false;

  /** @param {Link} link @param {boolean} keeps does a store keep its runs? @param {RunListener} listener */
  constructor(link, keeps, listener) {
    this.#link = link;
    this.#keeps = keeps;
    this.#listener = listener;
  }

  /** @param {string} method @param {Record<string, unknown>} params */
  begin(method, params) {
    if (this.#link.open) return this.#start(method, params);
    const opened = this.#link.opened().then(() => this.#start(method, params));
    opened.catch((error) => this.failed(error));
  }

  /** @param {StopMode} mode */
  stop(mode) {
    this.#stopped = this.#stopped === "now" ? "now" : mode;
    if (this.#number === null || this.#over) return;
    this.#link.channel.send({ type: "stop", run: this.#number, mode });
    if (mode === "now") void this.#link.endIfStuck();
  }

  /** @param {any[]} events */
  events(events) {
    const fresh = events.filter(({ seq, type }) => type.endsWith("-delta") || this.#seen.get(seq) !== type);
    for (const { seq, type, runId } of fresh) {
      this.#runId = runId;
      if (this.#keeps && !type.endsWith("-delta")) this.#seen.set(seq, type);
    }
    if (fresh.length) this.#listener.events(fresh);
  }

  /** @param {any} result */
  result(result) {
    this.#over = true;
    this.#listener.result(result);
  }

  /** @param {any} error */
  failed(error) {
    const runId = this.#runId;
    if (error.code === PYTHON_STUCK && this.#keeps && runId !== null) {
      this.#number = null;
      this.begin(this.#stopped === "now" ? "abort" : "resume", { state: runId });
    } else {
      this.#over = true;
      this.#listener.failed(error);
      if (this.#link.lost) this.#link.opened().catch(() => {}); // so that the runtime is there for the next run
    }
  }

  /** @param {string} method @param {Record<string, unknown>} params */
  #start(method, params) {
    this.#number = this.#link.channel.start(method, { ...params, runtime: this.#link.id }, this);
    if (this.#stopped && method !== "abort" && !this.#over) this.stop(this.#stopped);
  }
}
