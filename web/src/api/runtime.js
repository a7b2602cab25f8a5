/** The agent of a page: one runtime in Python, driven by text. */

import { stateText } from "../border/json.js";
import { acquire } from "../boot/interpreter.js";
import { loadSkills, snapshotSetting, splitOptions } from "./options.js";
import { Run } from "./run.js";

/** @typedef {Record<string, any> | string} RunInput a prompt, or `{prompt, system, parts, conversation, requestedCitations}` */
/** @typedef {"approve" | "deny" | {decision: "approve" | "deny", note?: string}} ApprovalDecision */

/** Where this script came from: the default place of the bundle. Set once, by the entry. */
let defaultBase = "";

/** @param {string} base */
export function setDefaultBase(base) {
  defaultBase = base;
}

let runtimes = 0;

/**
 * @param {Record<string, any>} options document 2's RuntimeConfig in camelCase, and `assetBase`, `thread`, `snapshot`, `onBoot`, `stageTimeouts`, `proxyUrl`
 * @returns {Promise<Runtime>}
 */
export async function createRuntime(options) {
  const { page, config } = splitOptions(options);
  const base = new URL(page.assetBase ?? defaultBase, document.baseURI).href.replace(/\/?$/, "/");
  const interpreter = acquire({
    base,
    thread: page.thread ?? "worker",
    snapshot: snapshotSetting(page.snapshot),
    timeouts: page.stageTimeouts ?? {},
  });
  const onBoot = page.onBoot;
  try {
    if (onBoot) {
      interpreter.history.forEach((event) => onBoot(event));
      interpreter.listeners.add(onBoot);
    }
    const [skills] = await Promise.all([loadSkills(config.skills, base, interpreter.manifest), interpreter.ready]);
    const runtime = `runtime-${++runtimes}`;
    const scope = interpreter.channel.functions.scope();
    const proxyUrl = page.proxyUrl && new URL(page.proxyUrl, document.baseURI).href;
    await interpreter.channel.request("create", { runtime, config: { ...config, skills }, proxyUrl }, scope.reference);
    return new Runtime(interpreter, runtime, scope.forget);
  } catch (error) {
    await interpreter.release();
    throw error;
  } finally {
    if (onBoot) interpreter.listeners.delete(onBoot);
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
  #interpreter;
  #id;
  #forget;
  /** @type {Promise<void> | null} */
  #closing = null;

  /** @param {import("../boot/interpreter.js").Interpreter} interpreter @param {string} id @param {() => void} forget */
  constructor(interpreter, id, forget) {
    this.#interpreter = interpreter;
    this.#id = id;
    this.#forget = forget;
  }

  /** @param {RunInput} input @returns {Run} */
  run(input) {
    return this.#start("run", { input });
  }

  /**
   * Go on with a blocked or interrupted run. `await` gives its result, `for await` its events.
   * @param {Record<string, any>} state `result.state`
   * @param {Record<string, ApprovalDecision>} [decisions] by approval id
   * @param {{extend?: {maxSteps?: number, runDeadlineMs?: number, maxCostUsd?: number}}} [options]
   * @returns {Run}
   */
  resume(state, decisions = {}, { extend } = {}) {
    return this.#start("resume", { state: stateText(state), decisions, extend });
  }

  /**
   * A conversation: its runs see the turns before them.
   * @param {string} id @param {{busy?: "wait" | "refuse"}} [options]
   */
  session(id, { busy = "wait" } = {}) {
    return { id, run: (/** @type {RunInput} */ input) => this.#start("run", { input, session: id, busy }) };
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
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close() {
    await this.#interpreter.release(this.#id);
    this.#forget();
  }

  /** @param {string} method @param {Record<string, unknown>} params */
  #request(method, params) {
    return this.#interpreter.channel.request(method, { ...params, runtime: this.#id });
  }

  /** @param {string} method @param {Record<string, unknown>} params @returns {Run} */
  #start(method, params) {
    const { channel } = this.#interpreter;
    return new Run((listener) => {
      const run = channel.start(method, { ...params, runtime: this.#id }, listener);
      return (mode) => channel.send({ type: "stop", run, mode });
    });
  }
}
