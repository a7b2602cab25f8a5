/** The stages of a boot in order: how long each may take without a sign of life, and what to do when it fails. */

import { AgrunError } from "../api/errors.js";

/** @typedef {"assets" | "runtime" | "packages" | "core" | "ready"} Stage */
/** What a page is told while Python starts. @typedef {{stage: Stage, status: "started" | "progress" | "done" | "snapshot-rejected", loaded?: number, total?: number, ms?: number, warm?: boolean, reason?: string}} BootEvent */
/** @typedef {{title: string, timeoutMs: number, hint: string}} StageFacts */

/** @type {Record<Stage, StageFacts>} */
export const STAGES = {
  assets: {
    title: "Downloading",
    timeoutMs: 30_000, // without a single byte
    hint: "Serve the whole folder of agrun.js (manifest.json, worker.mjs, site.zip.zst, pyodide-*/) from one place, then reload without the cache.",
  },
  runtime: {
    title: "Starting Python",
    timeoutMs: 60_000,
    hint: "The page needs WebAssembly: a browser of 2023 or later, and script-src 'wasm-unsafe-eval' where it has a Content-Security-Policy. Little memory is another cause: close other tabs and reload.",
  },
  packages: {
    title: "Unpacking packages",
    timeoutMs: 30_000,
    hint: "Reload the page. If it happens again, build and deploy the folder of agrun.js anew.",
  },
  core: {
    title: "Loading the agent runtime",
    timeoutMs: 60_000,
    hint: "Reload the page. If it happens again, build and deploy the folder of agrun.js anew; details.traceback says what Python found.",
  },
  ready: { title: "Ready", timeoutMs: 0, hint: "" },
};

/** The name by which a worker knows that it is ours, and not another that imports this code. */
export const WORKER_NAME = "agrun";

export const BOOT_FAILED = "BOOT_FAILED";
export const BOOT_TIMEOUT = "BOOT_TIMEOUT";

/** A boot that failed in a stage. */
export class BootError extends AgrunError {
  /** @param {Stage} stage @param {string} message @param {{code?: string, details?: Record<string, unknown>}} [more] */
  constructor(stage, message, { code = BOOT_FAILED, details = {} } = {}) {
    super({ code, message: `${STAGES[stage].title}: ${message}`, hint: STAGES[stage].hint, details: { stage, ...details } });
  }
}

/** The last line of a Python traceback, or the message. @param {unknown} error */
export function messageOf(error) {
  const lines = (error instanceof Error ? error.message : String(error)).trim().split("\n");
  return lines[lines.length - 1];
}
