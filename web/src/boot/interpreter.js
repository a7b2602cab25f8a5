/**
 * One running Python, as the page sees it: started in a worker (or in the page), watched while it boots, shared by every
 * runtime of the page, ended with the last of them.
 */

import { AgrunError } from "../api/errors.js";
import { Channel } from "../border/channel.js";
import { forgetOffline, keepOffline } from "../offline/offline.js";
import { assetUrl, loadAsset, loadManifest } from "./assets.js";
import { IdleMaking } from "./idle_making.js";
import { snapshotKey } from "./snapshot.js";
import { SnapshotStore } from "./snapshot_store.js";
import { BOOT_TIMEOUT, BootError, STAGES } from "./stages.js";
import { newWorker } from "./workers.js";

/** @typedef {import("./stages.js").Stage} Stage */
/** @typedef {import("./stages.js").BootEvent} BootEvent */
/** @typedef {import("./assets.js").Manifest} Manifest */
/** @typedef {"worker" | "page"} Thread */
/** @typedef {{base: string, thread: Thread, snapshot: string, offline: boolean, timeouts: Partial<Record<Stage, number>>}} InterpreterOptions */

const WORKER = "worker.mjs";
/** A worker that does not answer a request to end within this time is ended. */
const CLOSE_TIMEOUT_MS = 2_000;

/** A worker that does not answer for this long after a stop is ended. */
const STUCK_MS = 2_000;
/** The code of what waited for it. */
export const PYTHON_STUCK = "PYTHON_STUCK";

/** @type {Map<string, Interpreter>} */
const shared = new Map();

/** The Python that runtimes with these options share. @param {InterpreterOptions} options @returns {Interpreter} */
export function acquire(options) {
  const key = `${options.thread} ${options.base}`;
  let interpreter = shared.get(key);
  if (!interpreter) {
    interpreter = new Interpreter(options, () => {
      if (shared.get(key) === interpreter) shared.delete(key);
    });
    shared.set(key, interpreter);
  }
  interpreter.users += 1;
  return interpreter;
}

export class Interpreter {
  users = 0;
  /** Resolves when Python answers. @type {Promise<void>} */
  ready;
  /** @type {Promise<Manifest>} */
  manifest;
  /** What happened in the boot so far, for runtimes that come later. @type {BootEvent[]} */
  history = [];
  /** @type {Set<(event: BootEvent) => void>} */
  listeners = new Set();
  /** Why it was ended, once it was. @type {AgrunError | null} */
  ended = null;
  channel = new Channel((text) => this.#post(text));
  #options;
  #forget;
  /** @type {(text: string) => void} */
  #post = () => {};
  #end = () => {};
  /** @type {(error: AgrunError) => void} */
  #fail = () => {};
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #watchdog;
  /** @type {IdleMaking | undefined} */
  #making;

  /** @param {InterpreterOptions} options @param {() => void} forget */
  constructor(options, forget) {
    this.#options = options;
    this.#forget = forget;
    this.manifest = loadManifest(options.base, BUILD);
    this.ready = new Promise((resolve, reject) => {
      this.#fail = (error) => {
        if (error.code === BOOT_TIMEOUT) this.#discardSnapshot(); // it might be what does not come to an end
        reject(error);
        this.terminate(error);
      };
      this.#watch("assets");
      this.#boot(this.manifest).then(resolve, (error) => this.#fail(error));
    });
    this.ready.catch(() => {});
  }

  /**
   * One runtime less; the last one ends Python, and so does a Python that does not answer.
   * @param {string} [runtime] its id, where it came to be
   */
  async release(runtime) {
    this.users -= 1;
    const last = this.users === 0;
    if (last) this.#forget();
    const closing = runtime ? this.channel.request("close", { runtime }) : Promise.resolve();
    const answered = await Promise.race([closing.then(() => true, () => true), later(CLOSE_TIMEOUT_MS)]);
    if (last || !answered) {
      this.terminate(new AgrunError({ code: "CLOSED", message: "this runtime is closed", hint: "Create a new one." }));
    }
  }

  /** End Python at once; what waits for it fails with this error. @param {AgrunError} error */
  terminate(error) {
    if (this.ended) return;
    this.ended = error;
    clearTimeout(this.#watchdog);
    this.#making?.cancel();
    this.#forget();
    this.#end();
    this.channel.lose(error);
  }

  /**
   * End a worker that does not answer, after a stop that it did not take. In the page's own thread nobody could tell.
   */
  async endIfStuck() {
    if (this.#options.thread === "page") return;
    const answering = this.channel.request("ping", {}).then(() => true, () => true);
    if (await Promise.race([answering, later(STUCK_MS)])) return;
    this.terminate(
      new AgrunError({
        code: PYTHON_STUCK,
        message: "Python did not react to the stop, and was ended",
        hint: "A new one has been started. With a store (createRuntime({store})) runs go on there; this one was not kept.",
      }),
    );
  }

  /** @param {Promise<Manifest>} manifest */
  async #boot(manifest) {
    const { base, thread, snapshot, offline } = this.#options;
    const found = await manifest;
    await loadAsset(base, found, WORKER); // checked here, and then in the cache for whoever runs it
    await (thread === "page" ? this.#bootHere(base, found) : this.#bootWorker(base, found));
    clearTimeout(this.#watchdog);
    (offline ? keepOffline(base, found) : forgetOffline(base)).catch((error) => console.info(`agrun: no service worker: ${error}`));
    if (snapshot === "auto" && !this.history.at(-1)?.warm) {
      const message = { task: "snapshot", base, manifest: found };
      this.#making = new IdleMaking(assetUrl(base, WORKER, found.files[WORKER]), message, () => this.channel.busy);
    }
  }

  /** @param {string} base @param {Manifest} manifest */
  async #bootWorker(base, manifest) {
    const worker = newWorker(assetUrl(base, WORKER, manifest.files[WORKER]));
    this.#end = () => worker.terminate();
    this.#post = (text) => worker.postMessage(text);
    await new Promise((resolve, reject) => {
      worker.onerror = (event) => {
        const details = { file: event.filename, line: event.lineno };
        reject(new BootError("runtime", event.message || "the worker could not be started", { details }));
      };
      worker.onmessage = ({ data }) => {
        if (typeof data === "string") return this.channel.receive(data);
        if (data.failed) return reject(new AgrunError(data.failed));
        if (data.crashed) return this.terminate(crashed(data.crashed));
        this.#report(data.boot);
        return data.boot.stage === "ready" ? resolve(undefined) : undefined;
      };
      worker.postMessage({ task: "boot", base, manifest, snapshot: this.#options.snapshot });
    });
  }

  /** @param {string} base @param {Manifest} manifest */
  async #bootHere(base, manifest) {
    const { bootPython } = await import(assetUrl(base, WORKER, manifest.files[WORKER]));
    const python = await bootPython({
      base,
      manifest,
      snapshot: this.#options.snapshot,
      ownScope: false,
      report: (/** @type {BootEvent} */ event) => this.#report(event),
      post: (/** @type {string} */ text) => queueMicrotask(() => this.channel.receive(text)),
      onFatal: (/** @type {unknown} */ error) => this.terminate(crashed(String(error))),
    });
    this.#post = python.receive;
    this.#end = python.close;
  }

  #discardSnapshot() {
    const { base, snapshot } = this.#options;
    if (snapshot !== "auto" || !SnapshotStore.available) return;
    this.manifest.then((manifest) => new SnapshotStore(base, snapshotKey(manifest)).discard()).catch(() => {});
  }

  /** @param {BootEvent} event */
  #report(event) {
    this.history.push(event);
    if (event.status !== "done") this.#watch(event.stage);
    for (const listener of this.listeners) listener(event);
  }

  /** @param {Stage} stage */
  #watch(stage) {
    clearTimeout(this.#watchdog);
    const ms = this.#options.timeouts[stage] ?? STAGES[stage].timeoutMs;
    this.#watchdog = setTimeout(() => {
      this.#fail(new BootError(stage, `no progress for ${ms / 1000} s`, { code: BOOT_TIMEOUT }));
    }, ms);
  }
}

/** @param {string} what */
function crashed(what) {
  return new AgrunError({
    code: "PYTHON_CRASHED",
    message: `Python broke down: ${what}`,
    hint: "Create a new runtime; a run that was kept, or whose state you have, goes on there with resume(id or state).",
  });
}

/** @param {number} ms */
function later(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
