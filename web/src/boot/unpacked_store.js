/**
 * Packed files as they are when unpacked, kept beside the snapshot: a warm start has no time to unpack them again. Under
 * the hash of their content, so nothing of another build is ever taken, and checked by it like every file.
 */

/** @typedef {import("./assets.js").Manifest} Manifest */

const CACHE = "agrun-unpacked";

export class UnpackedStore {
  #folder;
  #manifest;

  /** @param {string} base where the bundle lies @param {Manifest} manifest */
  constructor(base, manifest) {
    this.#folder = new URL("agrun-unpacked/", base).href; // a name only: nothing is ever fetched from there
    this.#manifest = manifest;
  }

  /** @param {string} name @returns {Promise<Response | undefined>} */
  async read(name) {
    if (!("caches" in globalThis)) return undefined;
    return (await caches.open(CACHE)).match(this.#url(name)).catch(() => undefined);
  }

  /** Keep these, in the place of those of older builds. @param {Record<string, Uint8Array<ArrayBuffer>>} files */
  async write(files) {
    const cache = await caches.open(CACHE);
    const urls = Object.keys(files).map((name) => this.#url(name));
    const old = (await cache.keys()).filter(({ url }) => url.startsWith(this.#folder) && !urls.includes(url));
    await Promise.all(old.map((request) => cache.delete(request)));
    await Promise.all(Object.entries(files).map(([name, bytes]) => cache.put(this.#url(name), new Response(bytes))));
  }

  /** @param {string} name */
  #url(name) {
    return new URL(`${name}?${this.#manifest.files[name]?.content}`, this.#folder).href;
  }
}
