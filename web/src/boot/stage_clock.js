/** Tells whoever watches a boot which stage it is in, how long each took, and how much has been downloaded. */

/** @typedef {import("./stages.js").BootEvent} BootEvent */
/** @typedef {import("./stages.js").Stage} Stage */

/** How often progress is told. */
const PROGRESS_MS = 50;

export class StageClock {
  /** @type {Stage | null} */
  #stage = null;
  #since = 0;
  #reported = 0;
  #progress = { loaded: 0, total: 0 };
  #report;

  /** @param {(event: BootEvent) => void} report */
  constructor(report) {
    this.#report = report;
  }

  /** @param {Exclude<Stage, "ready">} stage */
  enter(stage) {
    this.#leave();
    this.#stage = stage;
    this.#since = performance.now();
    this.#report({ stage, status: "started" });
  }

  /** @param {boolean} warm whether Python came from a snapshot */
  ready(warm) {
    this.#leave();
    this.#stage = "ready";
    this.#report({ stage: "ready", status: "done", warm });
  }

  /** @param {number} loaded @param {number} total */
  progress(loaded, total) {
    this.#progress = { loaded, total };
    const now = performance.now();
    if (this.#stage !== "assets" || now - this.#reported < PROGRESS_MS) return;
    this.#reported = now;
    this.#report({ stage: "assets", status: "progress", loaded, total });
  }

  /** The boot goes on without the snapshot. @param {string} reason */
  rejected(reason) {
    this.#report({ stage: this.#stage ?? "assets", status: "snapshot-rejected", reason });
  }

  #leave() {
    if (!this.#stage) return;
    if (this.#stage === "assets") this.#report({ stage: "assets", status: "progress", ...this.#progress });
    this.#report({ stage: this.#stage, status: "done", ms: Math.round(performance.now() - this.#since) });
  }
}
