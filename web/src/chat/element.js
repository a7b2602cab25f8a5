/**
 * `<agrun-chat>` as agrun.js knows it: an element that loads its view (chat.mjs) when it comes onto a page.
 *
 * Attributes: `endpoint` (the `/v1` of a server that drives the runs: then there is no Python in the page, and no choice
 * of provider; `options` may hold its `token`), or else `provider` ("offline" by default), `skills` (a URL), `placeholder`, `theme` ("light", "dark"; else the
 * reader's own), `settings` ("off": no choice of provider and key). Slots: `greeting`, and `starter` for buttons whose text (or `data-prompt`) is asked. Properties: `options`
 * (whatever else createRuntime takes) or `runtime` (one of yours), set before the element comes onto the page.
 * Events: `agrun-step`, `agrun-result`.
 */

import { createRemoteRuntime } from "../api/remote_runtime.js";
import { createRuntime } from "../api/runtime.js";
import { showMissing } from "./missing.js";

/** @typedef {import("./view.js").ChatView} ChatView */
/** @typedef {HTMLElement & {runtime: import("../api/runtime.js").Runtime | null, runtimeOptions: () => Record<string, any>}} ChatHost */

/** @param {string} base where the bundle lies */
export function defineChatElement(base) {
  if (typeof customElements === "undefined" || customElements.get("agrun-chat")) return;
  customElements.define("agrun-chat", chatElement(base));
}

/** @param {string} base */
function chatElement(base) {
  return class AgrunChat extends HTMLElement {
    /** @type {Record<string, any>} */
    options = {};
    /** @type {import("../api/runtime.js").Runtime | null} */
    runtime = null;
    /** Nothing where it could not be loaded. @type {Promise<ChatView | void> | null} */
    #view = null;

    constructor() {
      super();
      this.attachShadow({ mode: "open", delegatesFocus: true });
    }

    connectedCallback() {
      if (this.#view) void this.#view.then((view) => view?.start());
      else this.#load();
    }

    #load() {
      const file = new URL(`chat.mjs?${BUILD}`, base).href;
      this.#view = import(file).then(
        ({ mount }) => mount(this, { createRuntime: this.hasAttribute("endpoint") ? createRemoteRuntime : createRuntime, base }),
        (error) => showMissing(/** @type {ShadowRoot} */ (this.shadowRoot), file, error),
      );
    }

    /** Taken off the page for good (not just moved), the element lets its runtime go. */
    disconnectedCallback() {
      queueMicrotask(() => {
        if (!this.isConnected) void this.close();
      });
    }

    /** What the attributes and `options` say, for createRuntime. */
    runtimeOptions() {
      const endpoint = this.getAttribute("endpoint");
      if (endpoint !== null) return { ...this.options, endpoint };
      const skills = this.getAttribute("skills");
      return {
        assetBase: base,
        provider: this.getAttribute("provider") ?? "offline",
        ...(skills ? { skills } : {}),
        ...this.options,
      };
    }

    /** Ask as if the text had been typed. @param {string} text */
    async ask(text) {
      (await this.#view)?.ask(text);
    }

    async stop() {
      (await this.#view)?.stop();
    }

    /**
     * Show a notice over the composer; what is returned takes it away.
     * @param {string} text @param {import("./notices.js").NoticeOptions} [options]
     */
    async notice(text, options) {
      return (await this.#view)?.notice(text, options);
    }

    /** End the runtime behind the element. */
    async close() {
      await (await this.#view)?.close();
    }
  };
}
