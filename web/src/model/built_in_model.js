/**
 * The browser's own model (`LanguageModel`, W3C Prompt API) as Python reaches it: one function that streams, and what is told
 * to people about its state. It exists on the page's thread only, so this never runs in the worker. Counterpart:
 * agrun_wasm/browser/language_model.py; what a request means as prompts is decided there.
 */

import { AgrunError } from "../api/errors.js";
import { contentOf } from "./images.js";
import { Sessions } from "./sessions.js";
import { statusOf } from "./status.js";

/** @typedef {import("./status.js").ModelStatus} ModelStatus */
/** @typedef {import("./status.js").Availability} Availability */
/** @typedef {{system: string, prompts: any[], responseConstraint: object | null, options: Record<string, any>}} PromptCall */

/** `prepare` begins the download; before Python is there too, so that a click counts. @typedef {(status: ModelStatus, prepare: () => Promise<void>) => void} OnStatus */

const TIMEOUT_MS = 60_000;

export class BuiltInModel {
  /** @type {ModelStatus} */
  status = statusOf("unavailable");
  #sessions = new Sessions((options) => this.#create(options));
  #timeoutMs;
  #options;
  #onStatus;
  #isClosed = false;

  /** @param {{settings?: Record<string, any>, timeoutMs?: number}} config @param {OnStatus} [onStatus] */
  constructor({ settings = {}, timeoutMs = TIMEOUT_MS }, onStatus = () => {}) {
    this.#options = settings;
    this.#timeoutMs = timeoutMs;
    this.#onStatus = onStatus;
  }

  /** Looks whether there is a model. Rejects where there is none, or these settings ask too much of it. */
  async open() {
    this.#tell(await this.#availability());
    const { availability, notice, hint } = this.status;
    if (availability === "unavailable") throw new AgrunError({ code: "CONFIG_INVALID", message: `${notice} (provider 'prompt-api')`, hint: hint ?? "" });
  }

  /** Has the model downloaded where it is not here yet: call it in answer to a click. Resolves when it can be asked. */
  async prepare() {
    const session = await this.#create(this.#options);
    session.destroy();
  }

  /**
   * One call, in a session of its own.
   * @param {PromptCall} call @param {{signal: AbortSignal}} caller
   */
  async *stream({ system, prompts, responseConstraint, options }, { signal }) {
    const ended = new AbortController();
    const stop = AbortSignal.any([signal, ended.signal]);
    let session;
    try {
      const input = await Promise.all(prompts.map(async ({ role, content }) => ({ role, content: await contentOf(content, stop) })));
      session = await this.#sessions.take(system, options, stop);
      const constraint = responseConstraint ? { responseConstraint, omitResponseConstraintInput: true } : {};
      const before = usage(session);
      const measured = await measure(session, input, { ...constraint, signal: stop });
      const window = session.contextWindow ?? session.inputQuota;
      const requested = before === null || measured === null ? null : before + measured;
      if (requested !== null && requested > window) throw overflow(requested, window);
      yield* this.#pieces(session, input, { ...constraint, signal: stop }, ended, requested);
    } catch (error) {
      throw told(error);
    } finally {
      ended.abort(new DOMException("nobody reads on", "AbortError"));
      session?.destroy();
    }
  }

  /** Ends every session. */
  close() {
    this.#isClosed = true;
    this.#sessions.close();
  }

  /**
   * @param {any} session @param {any[]} input @param {Record<string, any>} options @param {AbortController} ended
   * @param {number | null} requested
   */
  async *#pieces(session, input, options, ended, requested) {
    let overflowed = false;
    const onOverflow = () => (overflowed = true);
    // older browsers say it by its first name
    for (const name of ["contextoverflow", "quotaoverflow"]) session.addEventListener(name, onOverflow);
    const reader = session.promptStreaming(input, options).getReader();
    let written = false;
    for (;;) {
      const { done, value } = await this.#inTime(reader.read(), ended);
      // What the browser drops to make room is missing in the answer: no answer is better than that one.
      if (overflowed && !written) throw overflow(requested, session.contextWindow ?? session.inputQuota);
      if (done) break;
      if (!value) continue;
      written = true;
      yield { text: value };
    }
    const total = usage(session);
    const outputTokens = total === null || requested === null ? null : Math.max(0, total - requested);
    yield { done: true, inputTokens: requested, outputTokens, truncated: overflowed };
  }

  /** @template T @param {Promise<T>} work @param {AbortController} ended @returns {Promise<T>} */
  async #inTime(work, ended) {
    const error = new DOMException(`the browser's model wrote nothing for ${this.#timeoutMs} ms`, "TimeoutError");
    const timer = setTimeout(() => ended.abort(error), this.#timeoutMs);
    try {
      return await work;
    } finally {
      clearTimeout(timer);
    }
  }

  /** @returns {Promise<Availability>} */
  async #availability() {
    const model = languageModel();
    return model ? model.availability(this.#options) : "unavailable";
  }

  /** @param {Record<string, unknown>} options @returns {Promise<any>} */
  async #create(options) {
    const model = languageModel();
    if (!model) throw new DOMException("this browser has no LanguageModel", "NotSupportedError");
    const monitor = (/** @type {EventTarget} */ target) =>
      target.addEventListener("downloadprogress", (event) => {
        const { loaded } = /** @type {ProgressEvent} */ (event);
        if (this.status.availability !== "available") this.#tell("downloading", loaded);
      });
    try {
      const session = await model.create({ ...options, monitor });
      this.#tell("available");
      return session;
    } catch (error) {
      await this.#availability().then((now) => this.#tell(now), () => {});
      throw error;
    }
  }

  /** @param {Availability} availability @param {number | null} [loaded] */
  #tell(availability, loaded = null) {
    if (this.#isClosed) return;
    const { availability: before, loaded: last } = this.status;
    if (before === availability && last === loaded) return;
    this.status = statusOf(availability, loaded);
    this.#onStatus({ ...this.status }, () => this.prepare());
  }
}

/** @returns {any} */
function languageModel() {
  return /** @type {any} */ (globalThis).LanguageModel;
}

/** Tokens that the session holds, under its newer name or its older one. @param {any} session @returns {number | null} */
function usage(session) {
  return session.contextUsage ?? session.inputUsage ?? null;
}

/** @param {any} session @param {any[]} input @param {Record<string, any>} options @returns {Promise<number | null>} */
async function measure(session, input, options) {
  if (session.measureContextUsage) return session.measureContextUsage(input, options);
  return session.measureInputUsage ? session.measureInputUsage(input, options) : null;
}

/** @param {number | null} requested @param {number} quota */
function overflow(requested, quota) {
  const error = new DOMException("the request is longer than the context of the browser's model", "QuotaExceededError");
  return Object.assign(error, { wanted: { requested, quota } });
}

/** The browser's error with what it counted, for Python. @param {unknown} error */
function told(error) {
  const { name = "UnknownError", message = String(error), requested, quota, wanted } = /** @type {any} */ (error ?? {});
  return Object.assign(new Error(message), { name, details: wanted ?? { requested: requested ?? null, quota: finite(quota) } });
}

/** @param {unknown} value */
function finite(value) {
  return Number.isFinite(value) ? value : null;
}
