/** The line to Python: requests with replies, and what Python says by itself. Only JSON text goes over it. */

import { AgrunError } from "../api/errors.js";
import { HostFunctions } from "./calls.js";
import { fromText, toText } from "./json.js";

/** What a run is told. @typedef {{events: (events: any[]) => void, result: (result: any) => void, failed: (error: unknown) => void}} RunListener */

export class Channel {
  /** @type {Map<number, {resolve: (value: any) => void, reject: (error: AgrunError) => void}>} */
  #requests = new Map();
  /** @type {Map<number, RunListener>} */
  #runs = new Map();
  #next = 1;
  /** @type {AgrunError | null} */
  #lost = null;
  #post;
  functions;

  /** @param {(text: string) => void} post */
  constructor(post) {
    this.#post = post;
    this.functions = new HostFunctions((message) => this.send(message));
  }

  /**
   * @param {string} method @param {Record<string, unknown>} params
   * @param {(fn: Function) => unknown} [reference]
   * @returns {Promise<any>}
   */
  request(method, params, reference) {
    return new Promise((resolve, reject) => {
      if (this.#lost) throw this.#lost;
      const id = this.#next++;
      const text = toText({ type: "request", id, method, params }, reference);
      this.#requests.set(id, { resolve, reject });
      this.#post(text);
    });
  }

  /**
   * Start a run; what happens in it goes to the listener. Gives the id by which to stop it.
   * @param {string} method @param {Record<string, unknown>} params @param {RunListener} listener
   * @returns {number}
   */
  start(method, params, listener) {
    const run = this.#next++;
    if (this.#lost) {
      listener.failed(this.#lost);
      return run;
    }
    const text = toText({ type: "start", run, method, params });
    this.#runs.set(run, listener);
    this.#post(text);
    return run;
  }

  /** Whether a run is going on. */
  get busy() {
    return this.#runs.size > 0;
  }

  /** @param {Record<string, unknown>} message */
  send(message) {
    if (!this.#lost) this.#post(toText(message));
  }

  /** @param {string} text */
  receive(text) {
    const message = fromText(text);
    switch (message.type) {
      case "reply":
        this.#requests.get(message.id)?.resolve(message.value);
        this.#requests.delete(message.id);
        break;
      case "refused":
        this.#requests.get(message.id)?.reject(new AgrunError(message.error));
        this.#requests.delete(message.id);
        break;
      case "events":
        this.#runs.get(message.run)?.events(message.events);
        break;
      case "result":
        this.#runs.get(message.run)?.result(message.result);
        this.#runs.delete(message.run);
        break;
      case "failed":
        this.#runs.get(message.run)?.failed(new AgrunError(message.error));
        this.#runs.delete(message.run);
        break;
      case "call":
        void this.functions.call(message);
        break;
      case "cancel":
        this.functions.cancel(message.call);
        break;
    }
  }

  /** Python is gone: everything that waits for it fails with this error, and so does everything to come. @param {AgrunError} error */
  lose(error) {
    this.#lost = error;
    this.functions.cancelAll();
    for (const { reject } of this.#requests.values()) reject(error);
    for (const listener of this.#runs.values()) listener.failed(error);
    this.#requests.clear();
    this.#runs.clear();
  }
}
