/** What a model thought before it spoke or acted, as one foldable line among the tool calls. */

import { el, icon } from "./dom.js";

const PREVIEW_LENGTH = 160;

export class ReasoningRow {
  #preview = el("span", { class: "tool-detail" });
  #text = el("div", { class: "reasoning-text", dir: "auto" });
  element = el(
    "details",
    { class: "tool reasoning", part: "reasoning" },
    el("summary", {}, el("span", { class: "mark" }, icon("thought")), el("span", { class: "tool-title" }, "Reasoning"), this.#preview, icon("chevron")),
    el("div", { class: "tool-body" }, this.#text),
  );

  /** @param {string} text */
  append(text) {
    this.#text.append(text);
    const { length } = this.#preview.textContent ?? "";
    if (length < PREVIEW_LENGTH) this.#preview.append(text.replace(/\s+/g, " ").slice(0, PREVIEW_LENGTH - length));
  }
}
