/** How Python is coming along, as a bar: what it does, and how far it is. Must not know what is done when it is there. */

import { el } from "./dom.js";

/** The part of the bar that each stage fills, in per cent. */
const SHARES = { assets: [0, 60], runtime: [60, 85], packages: [85, 88], core: [88, 100], ready: [100, 100] };
const WORDS = {
  assets: "Downloading Python",
  runtime: "Starting Python",
  packages: "Unpacking packages",
  core: "Loading the agent",
  ready: "",
};

export class BootBar {
  #bar = el("div", { class: "boot-bar" });
  #text = el("span", {});
  element = el("div", { class: "boot", part: "boot", role: "status" }, this.#text, el("div", { class: "boot-track" }, this.#bar));

  /** @param {import("../boot/stages.js").BootEvent} event */
  show({ stage, status, loaded = 0, total = 1 }) {
    const [from, to] = SHARES[stage];
    const share = status === "done" ? to : from + ((to - from) * loaded) / total;
    this.#bar.style.width = `${share}%`;
    if (this.#text.textContent !== WORDS[stage]) this.#text.textContent = WORDS[stage];
    this.element.classList.toggle("done", stage === "ready");
    this.element.hidden = false;
  }

  hide() {
    this.element.hidden = true;
  }
}
