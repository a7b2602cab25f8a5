/** What stands behind the view: the runtime, the session, the run in progress. Knows turns only by what they take. */

/** @typedef {{createRuntime: (options: any) => Promise<Runtime>, base: string}} AgrunApi */
/** @typedef {import("./turn.js").AgentTurn} AgentTurn */
/** @typedef {import("../api/run.js").Run} Run */
/** @typedef {import("../api/runtime.js").Runtime | import("../api/remote_runtime.js").RemoteRuntime} Runtime */
/**
 * @typedef {object} ConversationListener
 * @property {(event: import("../boot/stages.js").BootEvent) => void} onBoot
 * @property {import("../model/built_in_model.js").OnStatus} onModel
 * @property {(status: import("../store/storage.js").StorageStatus) => void} onStorage
 * @property {(busy: boolean) => void} onBusy
 * @property {(error: any) => void} onBootFailed
 */

/** @typedef {{role: "user" | "assistant", parts: {type: "text", text: string}[]}} Past a turn as RunInput's `conversation` takes it */

const MORE_STEPS = 8;

export class Conversation {
  busy = false;
  #host;
  #api;
  #listener;
  /** @type {Promise<Runtime> | null} */
  #runtime = null;
  /** @type {Run | null} */
  #run = null;
  #stopped = false;
  /** States to go on from, by the turn that ended with them. @type {WeakMap<AgentTurn, any>} */
  #states = new WeakMap();
  #session = newSession();
  /** Chosen by the person, in place of the host's. @type {Record<string, any> | null} */
  #chosen = null;
  /** What was said so far; a session on another runtime is told it once. @type {Past[]} */
  #past = [];
  #isTold = true;
  /** @type {WeakMap<AgentTurn, string>} */
  #prompts = new WeakMap();

  /** @param {import("./element.js").ChatHost} host @param {AgrunApi} api @param {ConversationListener} listener */
  constructor(host, api, listener) {
    this.#host = host;
    this.#api = api;
    this.#listener = listener;
  }

  /** Boot; again after a failure or a `close`. @returns {Promise<Runtime>} */
  start() {
    this.#runtime ??= this.#create();
    return this.#runtime;
  }

  /** Does a server drive the runs? */
  get isRemote() {
    return this.#host.hasAttribute("endpoint");
  }

  get provider() {
    return this.#chosen ?? this.#host.runtimeOptions().provider;
  }

  /**
   * Another provider behind the same conversation. Rejects, and leaves all as it was, where that one cannot be had.
   * @param {Record<string, any>} provider
   */
  async use(provider) {
    const runtime = await this.#api.createRuntime(this.#options(provider));
    const before = this.#runtime;
    this.#runtime = Promise.resolve(runtime); // made before the other is closed: Python stays
    this.#chosen = provider;
    this.#session = newSession();
    this.#isTold = this.#past.length === 0;
    void before?.then((old) => old.close(), () => {});
  }

  /** What the prompt of a turn is made of, without a model call. @param {string} prompt */
  async inspect(prompt) {
    const runtime = await this.start();
    const [composition, inspected] = await Promise.all([runtime.describeComposition(), runtime.inspectPrompt(prompt)]);
    return { composition, prompt: inspected };
  }

  /** @param {string} prompt @param {AgentTurn} turn */
  run(prompt, turn) {
    this.#prompts.set(turn, prompt);
    return this.#drive(turn, (runtime) => {
      const input = this.#isTold ? prompt : { prompt, conversation: this.#past };
      this.#isTold = true;
      return runtime.session(this.#session).run(input);
    });
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

  /** Everything the runtime has kept, as a file. @returns {Promise<File>} */
  async export() {
    const runtime = await /** @type {Promise<import("../api/runtime.js").Runtime>} */ (this.#runtime);
    return new File([JSON.stringify(await runtime.export())], "agrun.json", { type: "application/json" });
  }

  /** Lets the runtime go, unless it is the host's own. */
  async close() {
    const runtime = await this.#runtime?.catch(() => null);
    this.#runtime = null;
    if (runtime && runtime !== this.#host.runtime) await runtime.close();
  }

  /** @param {any} provider */
  #options(provider) {
    const options = this.#host.runtimeOptions();
    const { onBoot, onModel, onStorage } = this.#listener;
    return {
      ...options,
      provider,
      onBoot: both(onBoot, options.onBoot),
      onModel: both(onModel, options.onModel),
      onStorage: both(onStorage, options.onStorage),
    };
  }

  /** @returns {Promise<Runtime>} */
  async #create() {
    try {
      return this.#host.runtime ?? (await this.#api.createRuntime(this.#options(this.provider)));
    } catch (error) {
      this.#runtime = null;
      this.#listener.onBootFailed(error);
      throw error;
    }
  }

  /** @param {AgentTurn} turn @param {(runtime: Runtime) => Run} begin */
  async #drive(turn, begin) {
    this.#setBusy(true);
    this.#stopped = false;
    try {
      if (!this.isRemote) turn.waiting("Waiting for Python to start");
      this.#run = begin(await this.start());
      if (this.#stopped) this.#run.stop("now");
      turn.waiting("Thinking");
      for await (const event of this.#run) {
        turn.take(event);
        this.#tell("agrun-step", event);
      }
      const result = await this.#run.result;
      this.#states.set(turn, result.state ?? result.runId); // a server keeps the state
      this.#remember(turn, result);
      turn.end(result);
      this.#tell("agrun-result", result);
    } catch (error) {
      turn.fail(/** @type {any} */ (error));
    } finally {
      this.#run = null;
      this.#setBusy(false);
    }
  }

  /** @param {AgentTurn} turn @param {any} result */
  #remember(turn, { status, output }) {
    if (!output?.text || (status !== "completed" && output.kind !== "clarification")) return;
    this.#past.push(past("user", this.#prompts.get(turn) ?? ""), past("assistant", output.text));
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

function newSession() {
  return `chat-${Math.random().toString(36).slice(2)}`;
}

/** @param {Past["role"]} role @param {string} text @returns {Past} */
function past(role, text) {
  return { role, parts: [{ type: "text", text }] };
}

/**
 * Tells this element, and the page that asked for it too.
 * @template {any[]} A
 * @param {(...told: A) => void} ours @param {((...told: A) => void) | undefined} theirs
 */
function both(ours, theirs) {
  return (/** @type {A} */ ...told) => {
    ours(...told);
    theirs?.(...told);
  };
}
