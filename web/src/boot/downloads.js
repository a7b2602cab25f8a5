/** The downloads of a boot: all at once, counted together, failing together. */

import { bodyOf, responseOf } from "./assets.js";

/** @typedef {import("./assets.js").Manifest} Manifest */

export class Downloads {
  #loaded = 0;
  #total = 0;
  #manifest;
  #onProgress;
  /** @type {Promise<unknown>[]} */
  #all = [];

  /** @param {Manifest} manifest @param {(loaded: number, total: number) => void} onProgress */
  constructor(manifest, onProgress) {
    this.#manifest = manifest;
    this.#onProgress = onProgress;
  }

  /**
   * @template T
   * @param {string} name @param {(counted: (bytes: number) => void) => Promise<T>} load
   * @returns {Promise<T>}
   */
  add(name, load) {
    const size = this.#manifest.files[name]?.bytes ?? 0;
    this.#total += size;
    let counted = 0;
    const count = (/** @type {number} */ bytes) => {
      counted += bytes;
      this.#count(bytes);
    };
    const loading = load(count).then((value) => {
      this.#count(size - counted); // what was not seen coming, or came unpacked
      return value;
    });
    this.#all.push(loading);
    return loading;
  }

  /**
   * Count what Pyodide fetches by itself, through the global `fetch`, until the returned function is called. A response
   * is handed on as it came: only such a one is compiled while it streams, and cached compiled.
   * @param {string} indexURL @param {string[]} names
   */
  countFetches(indexURL, names) {
    const original = globalThis.fetch;
    /** @type {Map<string, ReturnType<typeof deferred> & {count: (bytes: number) => void}>} */
    const expected = new Map();
    for (const name of names) {
      const download = { ...deferred(), count: (/** @type {number} */ _bytes) => {} };
      expected.set(new URL(name, indexURL).href, download);
      this.add(`${this.#manifest.pyodide}/${name}`, (count) => {
        download.count = count;
        return download.promise;
      });
    }
    globalThis.fetch = async (input, init) => {
      const url = input instanceof Request ? input.url : String(input);
      const download = expected.get(url);
      if (!download) return original(input, init);
      try {
        const response = await responseOf(url, init, original);
        bodyOf(response.clone(), download.count).then(download.resolve, download.reject);
        return response;
      } catch (error) {
        download.reject(error);
        throw error;
      }
    };
    return () => {
      globalThis.fetch = original;
    };
  }

  /** Something came that is not among what is counted: a sign of life. @param {number} _bytes */
  sign(_bytes) {
    this.#count(0);
  }

  /** Resolves when everything is here, rejects with the first download that failed. */
  async finished() {
    await Promise.all(this.#all);
  }

  /** @param {number} bytes */
  #count(bytes) {
    this.#loaded += bytes;
    this.#onProgress(Math.min(this.#loaded, this.#total), this.#total);
  }
}

function deferred() {
  /** @type {(value?: unknown) => void} */
  let resolve = () => {};
  /** @type {(error: unknown) => void} */
  let reject = () => {};
  const promise = new Promise((yes, no) => {
    resolve = yes;
    reject = no;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}
