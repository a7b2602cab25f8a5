/**
 * The functions of the page that Python may call: actions, providers, a key callback, hooks.
 *
 * A function crosses as a reference. A call comes as text with its arguments, and is answered by `return` or `throw`, and
 * before that by `yield` for each item of an async iterator. Every function gets `{signal}` as (part of) its last
 * argument; the signal aborts when Python no longer waits.
 */

import { errorFields } from "../api/errors.js";
import { FUNCTION_KEY } from "./json.js";

/** How many parameters decide whether an action wants the whole context; see `actionArguments`. */
const CONTEXT_PARAMETERS = 2;

/** @typedef {{type: "call", call: number, function: number, arguments: any[], context?: any}} CallMessage */

export class HostFunctions {
  /** @type {Map<number, Function>} */
  #functions = new Map();
  /** @type {Map<number, AbortController>} */
  #running = new Map();
  #next = 1;
  #send;

  /** @param {(message: Record<string, unknown>) => void} send */
  constructor(send) {
    this.#send = send;
  }

  /**
   * A scope of references that are forgotten together: those of one runtime.
   * @returns {{reference: (fn: Function) => unknown, forget: () => void}}
   */
  scope() {
    /** @type {Map<Function, number>} */
    const ids = new Map();
    return {
      reference: (fn) => {
        const id = ids.get(fn) ?? this.#next++;
        ids.set(fn, id);
        this.#functions.set(id, fn);
        return { [FUNCTION_KEY]: id, wantsContext: fn.length >= CONTEXT_PARAMETERS };
      },
      forget: () => ids.forEach((id) => this.#functions.delete(id)),
    };
  }

  /** @param {CallMessage} message */
  async call({ call, function: id, arguments: args, context }) {
    const controller = new AbortController();
    this.#running.set(call, controller);
    try {
      const fn = this.#functions.get(id);
      if (!fn) throw new Error("this function belongs to a runtime that was closed");
      const last = context === undefined ? { signal: controller.signal } : contextView(context, controller.signal);
      const result = fn(...args, last);
      const value = isAsyncIterable(result) ? await this.#relay(call, result, controller.signal) : await result;
      this.#answer(call, controller, { kind: "return", value: value === undefined ? null : value });
    } catch (error) {
      this.#answer(call, controller, { kind: "throw", error: errorFields(error) });
    } finally {
      this.#running.delete(call);
    }
  }

  /** @param {number} call */
  cancel(call) {
    this.#running.get(call)?.abort(new DOMException("the run was stopped", "AbortError"));
  }

  cancelAll() {
    for (const call of this.#running.keys()) this.cancel(call);
  }

  /**
   * @param {number} call @param {AsyncIterable<unknown>} items @param {AbortSignal} signal
   */
  async #relay(call, items, signal) {
    const iterator = items[Symbol.asyncIterator]();
    const stop = () => void iterator.return?.()?.catch(() => {});
    signal.addEventListener("abort", stop, { once: true });
    try {
      for (;;) {
        const { done, value } = await iterator.next();
        if (done || signal.aborted) return undefined;
        this.#send({ type: "answer", call, kind: "yield", value });
      }
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** @param {number} call @param {AbortController} controller @param {Record<string, unknown>} answer */
  #answer(call, controller, answer) {
    if (controller.signal.aborted) return; // nobody waits any more
    try {
      this.#send({ type: "answer", call, ...answer });
    } catch (error) {
      // what it returned is not JSON
      this.#send({ type: "answer", call, kind: "throw", error: errorFields(error) });
    }
  }
}

/** @param {unknown} value @returns {value is AsyncIterable<unknown>} */
function isAsyncIterable(value) {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/**
 * What an action sees of its run. Without a declared second parameter only the cheap part was sent; asking for more says so.
 * @param {Record<string, unknown>} context @param {AbortSignal} signal
 */
function contextView(context, signal) {
  const view = { ...context, signal };
  if (context.runState === undefined) {
    for (const key of ["runState", "toolContext", "searchResults", "agentSkills", "agentSkillContext", "request"]) {
      Object.defineProperty(view, key, {
        get() {
          throw new Error(`declare the context as a plain second parameter, execute(args, context), to read ${key}`);
        },
      });
    }
  }
  return view;
}
