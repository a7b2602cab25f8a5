/** Where a person writes: a box that grows with its text, one button that sends or stops. Knows nothing of who answers. */

import { el, icon } from "./dom.js";

/** @typedef {{onSend: (text: string) => boolean, onStop: () => void}} ComposerActions */

export class Composer {
  #input = el("textarea", { rows: 1, part: "input", "aria-label": "Message", enterKeyHint: "send", autocomplete: "off", dir: "auto" });
  #send = el("button", { type: "submit", class: "send", part: "send", "aria-label": "Send" }, icon("send"));
  #busy = false;
  #actions;
  element = el("form", { class: "composer", part: "composer" }, this.#input, this.#send);

  /** @param {string} placeholder @param {ComposerActions} actions `onSend` says whether the text was taken */
  constructor(placeholder, actions) {
    this.#actions = actions;
    this.#input.placeholder = placeholder;
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#busy) this.#actions.onStop();
      else this.#submit();
    });
    this.#input.addEventListener("input", () => this.#fit());
    this.#input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        if (!this.#busy) this.#submit();
      }
    });
    this.showBusy(false);
  }

  focus() {
    this.#input.focus();
  }

  /** @param {string} text */
  fill(text) {
    this.#input.value = text;
    this.#fit();
  }

  /** @param {boolean} busy */
  showBusy(busy) {
    this.#busy = busy;
    this.#send.replaceChildren(icon(busy ? "stop" : "send"));
    this.#send.setAttribute("aria-label", busy ? "Stop" : "Send");
    this.#send.classList.toggle("stopping", busy);
    this.#send.disabled = !busy && !this.#input.value.trim();
  }

  #submit() {
    const text = this.#input.value;
    if (text.trim() && this.#actions.onSend(text)) this.fill("");
  }

  #fit() {
    this.#input.style.height = "auto";
    this.#input.style.height = `${this.#input.scrollHeight}px`;
    this.showBusy(this.#busy);
  }
}
