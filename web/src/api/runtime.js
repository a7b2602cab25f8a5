/** The agent of a page: one runtime in Python, driven by text, and what it keeps. */

import { stateText } from "../border/json.js";
import { exportAll, importAll } from "../store/exports.js";
import { KeptRuns, KeptSessions } from "../store/kept.js";
import { storePort } from "../store/port.js";
import { Drive } from "./drive.js";
import { AgrunError } from "./errors.js";
import { Link } from "./link.js";
import { chosenModel, chosenStorage, snapshotSetting, splitOptions } from "./options.js";
import { Run } from "./run.js";

/** @typedef {Record<string, any> | string} RunInput a prompt, or `{prompt, system, parts, conversation, requestedCitations}` */
/** @typedef {"approve" | "deny" | {decision: "approve" | "deny", note?: string}} ApprovalDecision */
/** @typedef {import("../store/storage.js").Storage} Storage */
/** @typedef {import("../model/built_in_model.js").BuiltInModel} BuiltInModel */

/** Where this script came from: the default place of the bundle. Set once, by the entry. */
let defaultBase = "";

/** @param {string} base */
export function setDefaultBase(base) {
  defaultBase = base;
}

/**
 * @param {Record<string, any>} options document 2's RuntimeConfig in camelCase, and the page's own (./options.js)
 * @returns {Promise<Runtime>}
 */
export async function createRuntime(options) {
  const { page, config } = splitOptions(options);
  const storage = chosenStorage(page, config);
  const model = chosenModel(page, config);
  await model?.open(); // before anything is downloaded for nothing
  const base = new URL(page.assetBase ?? defaultBase, document.baseURI).href.replace(/\/?$/, "/");
  const link = new Link({
    python: {
      base,
      thread: page.thread ?? "worker",
      snapshot: snapshotSetting(page.snapshot),
      offline: page.serviceWorker !== "off",
      timeouts: page.stageTimeouts ?? {},
    },
    config,
    proxyUrl: page.proxyUrl && new URL(page.proxyUrl, document.baseURI).href,
    proxyToken: page.proxyToken,
    store: storage && storePort(storage),
    languageModel: model && ((/** @type {any} */ call, /** @type {any} */ caller) => model.stream(call, caller)),
    onBoot: page.onBoot,
  });
  try {
    await Promise.all([link.opened(), storage?.open()]);
    return new Runtime(link, storage, model, page.onStorage);
  } catch (error) {
    await link.close();
    model?.close();
    throw error;
  }
}

/**
 * An action of the page. Everything else about it is checked when a runtime is created with it.
 * @template {{name: string, execute: Function}} T
 * @param {T} action
 * @returns {T}
 */
export function defineAction(action) {
  return Object.freeze({ ...action });
}

export class Runtime {
  #link;
  #storage;
  #model;
  #onStorage;
  /** @type {Promise<void> | null} */
  #closing = null;

  /** @param {Link} link @param {Storage | null} storage @param {BuiltInModel | null} model @param {(status: any) => void} [onStorage] */
  constructor(link, storage, model, onStorage = () => {}) {
    this.#link = link;
    this.#storage = storage;
    this.#model = model;
    this.#onStorage = onStorage;
    storage?.listeners.add(onStorage);
    if (storage?.status.notice) onStorage(storage.status);
  }

  /** @param {RunInput} input @returns {Run} */
  run(input) {
    return this.#start("run", { input });
  }

  /**
   * Go on with a blocked or interrupted run. `await` gives its result, `for await` its events.
   * @param {Record<string, any> | string} run its id, where it is kept, or `result.state`
   * @param {Record<string, ApprovalDecision>} [decisions] by approval id
   * @param {{extend?: {maxSteps?: number, runDeadlineMs?: number, maxCostUsd?: number}}} [options]
   * @returns {Run}
   */
  resume(run, decisions = {}, { extend } = {}) {
    return this.#start("resume", { state: typeof run === "string" ? run : stateText(run), decisions, extend });
  }

  /**
   * A conversation: its runs see the turns before them.
   * @param {string} id @param {{busy?: "wait" | "refuse"}} [options]
   */
  session(id, { busy = "wait" } = {}) {
    return { id, run: (/** @type {RunInput} */ input) => this.#start("run", { input, session: id, busy }) };
  }

  /** Where runs and sessions are kept, or null where they are not. */
  get storage() {
    return this.#storage && { ...this.#storage.status };
  }

  /** How the browser's own model is, with provider "prompt-api"; else null. */
  get builtInModel() {
    return this.#model && { ...this.#model.status };
  }

  /** Has the browser download its model: call it in answer to a click. Resolves when the model can be asked. */
  async prepareModel() {
    if (this.#model) return this.#model.prepare();
    throw new AgrunError({ code: "CONFIG_INVALID", message: "prepareModel: this runtime does not use the browser's own model", hint: 'Create it with provider: "prompt-api".' });
  }

  /** The runs that are kept. */
  get runs() {
    return new KeptRuns(this.#kept("runs"));
  }

  /** The conversations that are kept. */
  get sessions() {
    return new KeptSessions(this.#kept("sessions"));
  }

  /** All that is kept, as JSON for a file. Neither keys nor headers are in it. */
  async export() {
    return exportAll(this.#kept("export"));
  }

  /** Adds what `export` gave; what is there and newer stays. @param {unknown} data that, its JSON text, or a file of it */
  async import(data) {
    return importAll(this.#kept("import"), data);
  }

  /** @returns {Promise<any>} */
  describeComposition() {
    return this.#request("describe", {});
  }

  /** @param {RunInput} input @returns {Promise<any>} */
  inspectPrompt(input) {
    return this.#request("inspect", { input });
  }

  /** @returns {Promise<any>} */
  surfaceIndex() {
    return this.#request("surface", {});
  }

  /** Stops its runs and frees what it holds; the last runtime of a page ends Python too. @returns {Promise<void>} */
  close() {
    this.#storage?.listeners.delete(this.#onStorage);
    this.#closing ??= this.#link.close().finally(() => this.#model?.close());
    return this.#closing;
  }

  /** @param {string} what */
  #kept(what) {
    if (this.#storage) return this.#storage;
    throw new AgrunError({
      code: "CONFIG_INVALID",
      message: `${what}: this runtime keeps nothing`,
      hint: 'Create it with store: "indexeddb", "memory" or {name: "<database>"}.',
    });
  }

  /** @param {string} method @param {Record<string, unknown>} params */
  async #request(method, params) {
    if (!this.#link.open && !this.#closing) await this.#link.opened();
    return this.#link.channel.request(method, { ...params, runtime: this.#link.id });
  }

  /** @param {string} method @param {Record<string, unknown>} params @returns {Run} */
  #start(method, params) {
    return new Run((listener) => {
      const drive = new Drive(this.#link, this.#storage !== null, listener);
      drive.begin(method, params);
      return (mode) => drive.stop(mode);
    });
  }
}
