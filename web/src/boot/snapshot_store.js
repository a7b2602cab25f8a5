/** Where a browser keeps its snapshots: one entry of Cache Storage for each bundle, and none of a bundle that is gone. */

import { replaceEntries } from "./kept_entries.js";

/** @typedef {import("./assets.js").Manifest} Manifest */

const CACHE = "agrun-snapshots";
/** A browser whose storage does not answer in this time is not waited for. */
const READ_TIMEOUT_MS = 5_000;

export class SnapshotStore {
  #folder;
  #url;

  /** @param {string} base where the bundle lies @param {string} key */
  constructor(base, key) {
    this.#folder = new URL("agrun-snapshot/", base).href;
    this.#url = new URL(key, this.#folder).href;
  }

  /** Whether this page may keep any: only a secure context has the storage. */
  static get available() {
    return "caches" in globalThis;
  }

  /** @returns {Promise<boolean>} */
  async has() {
    return Boolean(await (await caches.open(CACHE)).match(this.#url));
  }

  /** @returns {Promise<Uint8Array<ArrayBuffer> | null>} */
  async read() {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error("the browser's storage does not answer")), READ_TIMEOUT_MS);
    });
    const reading = caches
      .open(CACHE)
      .then((cache) => cache.match(this.#url))
      .then((found) => found?.arrayBuffer());
    try {
      const buffer = /** @type {ArrayBuffer | undefined} */ (await Promise.race([reading, late]));
      return buffer ? new Uint8Array(buffer) : null;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Keep it, in the place of those of older builds. @param {Uint8Array<ArrayBuffer>} bytes */
  async write(bytes) {
    await replaceEntries(CACHE, this.#folder, { [this.#url]: bytes });
  }

  /** A storage that refuses this keeps nothing that could be read either. */
  async discard() {
    const cache = await caches.open(CACHE).catch(() => null);
    await cache?.delete(this.#url);
  }
}
