/** When a snapshot is made: once the page has nothing to do, in a worker of its own. It can be called off at any time. */

import { newWorker } from "./workers.js";

/** How long the page must have had no run. */
const QUIET_MS = 2_000;

export class IdleMaking {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {Worker | undefined} */
  #worker;

  /**
   * @param {string} url of the worker @param {Record<string, unknown>} message that makes it make one
   * @param {() => boolean} busy
   */
  constructor(url, message, busy) {
    const make = () => {
      if (this.#timer === undefined) return;
      if (busy()) return wait();
      this.#worker = newWorker(url);
      this.#worker.onmessage = () => this.cancel(); // it has made one, or cannot
      this.#worker.onerror = () => this.cancel();
      this.#worker.postMessage(message);
    };
    const idle = globalThis.requestIdleCallback ?? ((/** @type {() => void} */ callback) => callback());
    const wait = () => {
      this.#timer = setTimeout(() => idle(make), QUIET_MS);
    };
    wait();
  }

  cancel() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#worker?.terminate();
  }
}
