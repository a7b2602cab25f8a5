/** The downloads of a boot: all at once, counted together, failing together. */

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
