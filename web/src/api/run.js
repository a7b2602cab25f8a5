/**
 * A run in progress: its events, its result, and the ways to stop it.
 *
 * `for await (const event of run)` gives every event from the first on; leaving the loop early stops the run on the wire.
 * `await run.result` (or `await run`) gives the RunResult.
 */

import { AgrunError } from "./errors.js";

/** @typedef {"now" | "after_step"} StopMode */

const STOP_MODES = ["now", "after_step"];

export class Run {
  /** @type {any[]} */
  #events = [];
  /** @type {(() => void)[]} */
  #waiting = [];
  /** @type {"running" | "finished" | "failed"} */
  #phase = "running";
  /** @type {unknown} */
  #error = null;
  /** @type {((mode: StopMode) => void) | undefined} */
  #stop;
  /** The RunResult; rejects with an AgrunError when the run could not be started at all. @type {Promise<any>} */
  result;

  /**
   * @param {(listener: import("../border/channel.js").RunListener) => (mode: StopMode) => void} start
   */
  constructor(start) {
    this.result = new Promise((resolve, reject) => {
      /** @type {import("../border/channel.js").RunListener} */
      const listener = {
        events: (events) => {
          this.#events.push(...events);
          this.#wake();
        },
        result: (result) => {
          this.#phase = "finished";
          resolve(result);
          this.#wake();
        },
        failed: (error) => {
          this.#phase = "failed";
          this.#error = error;
          reject(error);
          this.#wake();
        },
      };
      try {
        this.#stop = start(listener);
      } catch (error) {
        listener.failed(error); // what it was given cannot cross
      }
    });
    this.result.catch(() => {}); // whoever iterates is told there
  }

  /** @param {StopMode} [mode] "now" cuts the call in flight, "after_step" lets the actions in progress finish */
  stop(mode = "now") {
    if (!STOP_MODES.includes(mode)) {
      throw new AgrunError({ code: "CONFIG_INVALID", message: `stop: must be "now" or "after_step", not ${String(mode)}` });
    }
    if (this.#phase === "running") this.#stop?.(mode);
  }

  /** @returns {AsyncGenerator<any, void, void>} */
  async *[Symbol.asyncIterator]() {
    let next = 0;
    try {
      for (;;) {
        while (next < this.#events.length) yield this.#events[next++];
        if (this.#phase === "failed") throw this.#error;
        if (this.#phase === "finished") return;
        await new Promise((resolve) => this.#waiting.push(() => resolve(undefined)));
      }
    } finally {
      this.stop("now");
    }
  }

  /**
   * @template A, B
   * @param {((result: any) => A | PromiseLike<A>) | null} [fulfilled]
   * @param {((error: unknown) => B | PromiseLike<B>) | null} [rejected]
   * @returns {Promise<A | B>}
   */
  then(fulfilled, rejected) {
    return this.result.then(fulfilled, rejected);
  }

  #wake() {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
