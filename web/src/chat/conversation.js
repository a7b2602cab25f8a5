/** What stands behind the view: the runtime, the session, the run in progress. Knows turns only by what they take. */

/** @typedef {{createRuntime: typeof import("../api/runtime.js").createRuntime, base: string}} AgrunApi */
/** @typedef {import("./turn.js").AgentTurn} AgentTurn */
/** @typedef {import("../api/run.js").Run} Run */
/**
 * @typedef {object} ConversationListener
 * @property {(event: import("../boot/stages.js").BootEvent) => void} onBoot
 * @property {(busy: boolean) => void} onBusy
 * @property {(error: any) => void} onBootFailed
 */

const MORE_STEPS = 8;

export class Conversation {
  busy = false;
  #host;
  #api;
  #listener;
  /** @type {Promise<import("../api/runtime.js").Runtime> | null} */
  #runtime = null;
  /** @type {Run | null} */
  #run = null;
  #stopped = false;
  /** States to go on from, by the turn that ended with them. @type {WeakMap<AgentTurn, any>} */
  #states = new WeakMap();
  #session = `chat-${Math.random().toString(36).slice(2)}`;

  /** @param {import("./element.js").ChatHost} host @param {AgrunApi} api @param {ConversationListener} listener */
  constructor(host, api, listener) {
    this.#host = host;
    this.#api = api;
    this.#listener = listener;
  }

  /** Boot, and boot again after a failure. */
  start() {
    const onBoot = this.#listener.onBoot;
    this.#runtime = this.#host.runtime
      ? Promise.resolve(this.#host.runtime)
      : this.#api.createRuntime({ ...this.#host.runtimeOptions(), onBoot });
    this.#runtime.catch((error) => this.#listener.onBootFailed(error));
  }

  /** @param {string} prompt @param {AgentTurn} turn */
  run(prompt, turn) {
    return this.#drive(turn, (runtime) => runtime.session(this.#session).run(prompt));
  }

  /** @param {AgentTurn} turn @param {Record<string, "approve" | "deny">} decisions */
  decide(turn, decisions) {
    turn.resume();
    return this.#drive(turn, (runtime) => runtime.resume(this.#states.get(turn), decisions));
  }

  /** @param {AgentTurn} turn */
  extend(turn) {
    turn.resume();
    return this.#drive(turn, (runtime) => runtime.resume(this.#states.get(turn), {}, { extend: { maxSteps: MORE_STEPS } }));
  }

  stop() {
    this.#stopped = true;
    this.#run?.stop("now");
  }

  async close() {
    const runtime = await this.#runtime?.catch(() => null);
    if (runtime && runtime !== this.#host.runtime) await runtime.close();
  }

  /** @param {AgentTurn} turn @param {(runtime: import("../api/runtime.js").Runtime) => Run} begin */
  async #drive(turn, begin) {
    this.#setBusy(true);
    this.#stopped = false;
    try {
      turn.waiting("Waiting for Python to start");
      const runtime = await /** @type {Promise<import("../api/runtime.js").Runtime>} */ (this.#runtime);
      this.#run = begin(runtime);
      if (this.#stopped) this.#run.stop("now");
      turn.waiting("Thinking");
      for await (const event of this.#run) {
        turn.take(event);
        this.#tell("agrun-step", event);
      }
      const result = await this.#run.result;
      this.#states.set(turn, result.state);
      turn.end(result);
      this.#tell("agrun-result", result);
    } catch (error) {
      turn.fail(/** @type {any} */ (error));
    } finally {
      this.#run = null;
      this.#setBusy(false);
    }
  }

  /** @param {boolean} busy */
  #setBusy(busy) {
    this.busy = busy;
    this.#listener.onBusy(busy);
  }

  /** @param {string} name @param {unknown} detail */
  #tell(name, detail) {
    this.#host.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }
}
