/** What the element has to say beside the conversation: a place for notices, each of which may offer one thing to do. */

import { el, icon } from "./dom.js";

/** @typedef {"info" | "warning" | "error"} NoticeKind */
/**
 * @typedef {object} NoticeOptions
 * @property {NoticeKind} [kind]
 * @property {string} [id] a later notice of the same id takes the place of this one
 * @property {string} [hint] what to do about it
 * @property {string} [code]
 * @property {{label: string, run: () => void}} [action]
 * @property {boolean} [dismissable] true unless said otherwise
 */

const ICONS = /** @type {const} */ ({ info: "info", warning: "warning", error: "warning" });

export class Notices {
  element = el("div", { class: "notices", part: "notices" });
  /** @type {Map<string, HTMLElement>} */
  #shown = new Map();
  #count = 0;

  /** Show one; what is returned takes it away. @param {string} text @param {NoticeOptions} [options] */
  show(text, { kind = "info", id = `notice-${++this.#count}`, hint, code, action, dismissable = true } = {}) {
    const remove = () => this.remove(id);
    const buttons = [
      action && el("button", { type: "button", class: "secondary", onclick: action.run }, action.label),
      dismissable && el("button", { type: "button", class: "quiet", "aria-label": "Dismiss", onclick: remove }, icon("cross")),
    ];
    const words = el("div", { class: "notice-words" }, el("p", {}, text), hint ? el("p", { class: "hint" }, hint) : null, code ? el("code", {}, code) : null);
    const notice = el("div", { class: "notice", part: `notice notice-${kind}`, "data-kind": kind, role: kind === "error" ? "alert" : "status" }, icon(ICONS[kind]), words, ...buttons.map((button) => button || null));
    const before = this.#shown.get(id);
    if (before) before.replaceWith(notice);
    else this.element.append(notice);
    this.#shown.set(id, notice);
    return remove;
  }

  /** @param {string} id */
  remove(id) {
    this.#shown.get(id)?.remove();
    this.#shown.delete(id);
  }
}
