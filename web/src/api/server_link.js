/** Requests to a server of runs: the token with each, its errors as AgrunError. Knows paths and JSON, not runs. */

import { AgrunError } from "./errors.js";

/** Answers that another try may better; everything else is told to whoever asked. */
const PASSING = [408, 429, 502, 503, 504];
const TRIES = 8;
const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 10_000;

/** @typedef {string | (() => string | Promise<string>)} Token */

export class ServerLink {
  #base;
  #token;
  #closed = new AbortController();

  /** @param {string} endpoint @param {Token | undefined} token asked for at each request */
  constructor(endpoint, token) {
    this.#base = new URL(endpoint, document.baseURI).href.replace(/\/+$/, "");
    this.#token = token;
  }

  /** Aborts what is open, and whatever is asked later. */
  close() {
    this.#closed.abort();
  }

  get isClosed() {
    return this.#closed.signal.aborted;
  }

  /**
   * One request that has been answered well; tried again where only the way there failed, unless it is one that would do
   * something else when it comes twice (`once`).
   * @param {string} path @param {{body?: unknown, headers?: Record<string, string>, once?: boolean}} [what]
   * @returns {Promise<Response>}
   */
  async ask(path, { body, headers = {}, once = false } = {}) {
    for (let tried = 1; ; tried++) {
      const answer = await this.#send(path, body, headers).catch((error) => /** @type {AgrunError} */ (error));
      if (!(answer instanceof Error) && answer.ok) return answer;
      const error = answer instanceof Error ? answer : await problemOf(answer);
      const passing = answer instanceof Error ? error.code === "NETWORK_OR_CORS" : PASSING.includes(answer.status);
      if (!passing || once || tried === TRIES || this.isClosed) throw error;
      const asked = answer instanceof Error ? NaN : Number(answer.headers.get("retry-after") ?? NaN) * 1000;
      await this.wait(tried, asked);
    }
  }

  /** @param {number} tried how often it went wrong @param {number} [ms] what the server asked for */
  async wait(tried, ms = NaN) {
    const pause = Number.isNaN(ms) ? Math.min(FIRST_WAIT_MS * 2 ** (tried - 1), MOST_WAIT_MS) : ms;
    await new Promise((resolve) => {
      setTimeout(resolve, pause);
      this.#closed.signal.addEventListener("abort", resolve, { once: true });
    });
    if (this.isClosed) throw closedError();
  }

  /** @param {string} path @param {unknown} body @param {Record<string, string>} headers */
  async #send(path, body, headers) {
    if (this.isClosed) throw closedError();
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    try {
      return await fetch(this.#base + path, {
        method: body === undefined ? "GET" : "POST",
        headers: {
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(token ? { authorization: `Bearer ${token}` } : {}),
          ...headers,
        },
        body: body === undefined ? null : JSON.stringify(body),
        credentials: "omit",
        cache: "no-store",
        signal: this.#closed.signal,
      });
    } catch (cause) {
      throw this.isClosed ? closedError() : networkError(this.#base, cause);
    }
  }
}

/** @param {string} base @param {unknown} cause */
function networkError(base, cause) {
  const { origin } = new URL(base);
  const hint = `Is it running? A page of another origin may only call it when it was started with --allow-origin ${location.origin}.`;
  return new AgrunError({ code: "NETWORK_OR_CORS", message: `the server at ${origin} could not be reached`, hint }, { cause });
}

export function closedError() {
  return new AgrunError({ code: "ABORTED", message: "this runtime was closed; its runs go on at the server" });
}

/** @param {Response} answer */
async function problemOf(answer) {
  const told = await answer.json().catch(() => null);
  return new AgrunError(told?.error ?? { code: "BAD_RESPONSE", message: `the server answered with HTTP ${answer.status}` });
}
