/**
 * Sessions of the browser's model. A base session holds a system prompt, already read by the model; each call gets a copy of
 * it, which ends with the call. Must not know prompts beyond the system's, nor Python.
 */

/** How many system prompts stay read: the planner's and the writer's, and one to spare. */
const KEPT = 3;

/** @typedef {(loaded: number) => void} OnProgress */

export class Sessions {
  /** By system prompt and options, the latest last. @type {Map<string, Promise<any>>} */
  #bases = new Map();
  #create;
  #closing = new AbortController();

  /** @param {(options: Record<string, unknown>) => Promise<any>} create LanguageModel.create, with the progress watched */
  constructor(create) {
    this.#create = create;
  }

  /**
   * A session of its own for one call; `destroy` it. @param {string} system @param {Record<string, unknown>} options
   * @param {AbortSignal} signal
   */
  async take(system, options, signal) {
    const base = await abortable(this.#base(system, options), signal);
    return base.clone({ signal });
  }

  /** Every session ends, and the streams that are read from them. */
  close() {
    this.#closing.abort(new DOMException("the runtime was closed", "AbortError"));
    for (const key of [...this.#bases.keys()]) this.#drop(key);
  }

  /** @param {string} system @param {Record<string, unknown>} options @returns {Promise<any>} */
  #base(system, options) {
    const key = JSON.stringify([system, options]);
    const known = this.#bases.get(key);
    this.#bases.delete(key);
    const initial = system ? { initialPrompts: [{ role: "system", content: system }] } : {};
    // Not the call's signal: who waits with it must not lose it, nor a download that others wait for.
    const base = known ?? this.#create({ ...options, ...initial, signal: this.#closing.signal });
    this.#bases.set(key, base);
    base.catch(() => this.#bases.get(key) === base && this.#bases.delete(key));
    for (const old of [...this.#bases.keys()].slice(0, -KEPT)) this.#drop(old);
    return base;
  }

  /** @param {string} key */
  #drop(key) {
    const base = this.#bases.get(key);
    this.#bases.delete(key);
    base?.then((session) => session.destroy(), () => {});
  }
}

/** What the work gives, or the reason of the signal, whichever comes first. @template T @param {Promise<T>} work @param {AbortSignal} signal @returns {Promise<T>} */
function abortable(work, signal) {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
