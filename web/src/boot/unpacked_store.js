/**
 * Packed files as they are when unpacked, kept beside the snapshot: a warm start has no time to unpack them again. Under
 * the hash of their content, so nothing of another build is ever taken, and checked by it like every file.
 */

import { replaceEntries } from "./kept_entries.js";

/** @typedef {import("./assets.js").Manifest} Manifest */

const CACHE = "agrun-unpacked";

export class UnpackedStore {
  #folder;
  #manifest;

  /** @param {string} base where the bundle lies @param {Manifest} manifest */
  constructor(base, manifest) {
    this.#folder = new URL("agrun-unpacked/", base).href;
    this.#manifest = manifest;
  }

  /** @param {string} name @returns {Promise<Response | undefined>} */
  async read(name) {
    if (!("caches" in globalThis)) return undefined;
    return (await caches.open(CACHE)).match(this.#url(name)).catch(() => undefined);
  }

  /** Keep these, in the place of those of older builds. @param {Record<string, Uint8Array<ArrayBuffer>>} files */
  async write(files) {
    const named = Object.entries(files).map(([name, bytes]) => [this.#url(name), bytes]);
    await replaceEntries(CACHE, this.#folder, Object.fromEntries(named));
  }

  /** @param {string} name */
  #url(name) {
    return new URL(`${name}?${this.#manifest.files[name]?.content}`, this.#folder).href;
  }
}
