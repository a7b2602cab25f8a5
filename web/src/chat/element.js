/** `<agrun-chat>` as agrun.js knows it: an element that loads its view (chat.mjs) when one is on the page. */

import { createRuntime } from "../api/runtime.js";

/** @typedef {import("./view.js").ChatView} ChatView */

/** @param {string} base where the bundle lies */
export function defineChatElement(base) {
  if (customElements.get("agrun-chat")) return;
  customElements.define("agrun-chat", chatElement(base));
}

/** @param {string} base */
function chatElement(base) {
  return class AgrunChat extends HTMLElement {
    /** @type {Promise<ChatView> | null} */
    #view = null;

    connectedCallback() {
      this.#view ??= import(new URL(`chat.mjs?${BUILD}`, base).href).then(({ mount }) => mount(this, { createRuntime, base }));
    }
  };
}
