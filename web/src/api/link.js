/**
 * A runtime's line to Python: the runtime is created there, and created anew in a new worker after the old one had to be
 * ended because it was stuck. Knows nothing of runs.
 */

import { acquire, PYTHON_STUCK } from "../boot/interpreter.js";
import { loadSkills } from "./options.js";

/** @typedef {import("../boot/interpreter.js").Interpreter} Interpreter */
/**
 * @typedef {object} LinkOptions
 * @property {import("../boot/interpreter.js").InterpreterOptions} python
 * @property {Record<string, any>} config
 * @property {string} [proxyUrl]
 * @property {string} [proxyToken]
 * @property {Record<string, Function> | null} store
 * @property {Function | null} languageModel streams from the browser's own model
 * @property {((event: import("../boot/stages.js").BootEvent) => void)} [onBoot]
 */

let runtimes = 0;

export class Link {
  /** The runtime's id, the same in every Python. */
  id = `runtime-${++runtimes}`;
  #options;
  /** @type {Interpreter} */
  #interpreter;
  #forget = () => {};
  #created = false;
  /** @type {Promise<void>} */
  #opening;

  /** @param {LinkOptions} options */
  constructor(options) {
    this.#options = options;
    this.#interpreter = acquire(options.python);
    this.#opening = this.#open();
    this.#opening.catch(() => {});
  }

  /** What to talk over, while it is `open`. */
  get channel() {
    return this.#interpreter.channel;
  }

  /** Is the runtime there? What is sent before is heard by nobody. */
  get open() {
    return this.#created && !this.lost;
  }

  /** Has its Python been ended because it was stuck? Then `opened` starts another. */
  get lost() {
    return this.#interpreter.ended?.code === PYTHON_STUCK;
  }

  /** When the runtime is there, in a new Python if need be. @returns {Promise<void>} */
  opened() {
    if (this.lost) {
      this.#forget();
      this.#created = false;
      this.#interpreter = acquire(this.#options.python);
      this.#opening = this.#open();
      this.#opening.catch(() => {});
    }
    return this.#opening;
  }

  /** After a stop: ends Python if it does not answer. */
  endIfStuck() {
    return this.#interpreter.endIfStuck();
  }

  async close() {
    await this.#opening.catch(() => {});
    await this.#interpreter.release(this.#created ? this.id : undefined);
    this.#forget();
  }

  async #open() {
    const { config, proxyUrl, proxyToken, store, languageModel, onBoot } = this.#options;
    const interpreter = this.#interpreter;
    try {
      if (onBoot) {
        interpreter.history.forEach((event) => onBoot(event));
        interpreter.listeners.add(onBoot);
      }
      const skills = loadSkills(config.skills, this.#options.python.base, interpreter.manifest);
      const [loaded] = await Promise.all([skills, interpreter.ready]);
      const scope = interpreter.channel.functions.scope();
      this.#forget = scope.forget;
      const params = { runtime: this.id, config: { ...config, skills: loaded }, proxyUrl, proxyToken, store, languageModel };
      await interpreter.channel.request("create", params, scope.reference);
      this.#created = true;
    } finally {
      if (onBoot) interpreter.listeners.delete(onBoot);
    }
  }
}
