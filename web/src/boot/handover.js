/**
 * What Pyodide fetches by itself when its turn has come, which is late where a snapshot is read first: here it is fetched,
 * counted and compiled from the first moment on, and handed over when Pyodide asks. Only where the global `fetch` is ours.
 */

import { bodyOf, responseOf } from "./assets.js";
import { BootError, messageOf } from "./stages.js";

const WASM = "pyodide.asm.wasm";
const STDLIB = "python_stdlib.zip";
const WASM_TYPE = "application/wasm";
/** The smallest module there is, which Pyodide compiles in the place of its own. */
const STAND_IN = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

/** @typedef {{wasm: Promise<WebAssembly.Module>, stdlib: Promise<Uint8Array<ArrayBuffer>>}} Ahead */

/**
 * @param {string} folder of Pyodide, within the bundle
 * @param {string} indexURL the same as a URL
 * @param {import("./downloads.js").Downloads} downloads
 * @param {(name: string) => Promise<Uint8Array<ArrayBuffer>>} asset loads one
 * @returns {Ahead}
 */
export function fetchAhead(folder, indexURL, downloads, asset) {
  return {
    wasm: downloads.add(`${folder}/${WASM}`, (counted) => compiled(new URL(WASM, indexURL).href, counted)),
    stdlib: asset(`${folder}/${STDLIB}`),
  };
}

/** From now on until the returned function is called, Pyodide gets what is ahead. @param {string} indexURL @param {Ahead} ahead */
export function answerFetches(indexURL, { stdlib }) {
  const original = globalThis.fetch;
  /** @type {Map<string, () => Promise<Response>>} */
  const answers = new Map([
    [new URL(WASM, indexURL).href, async () => new Response(STAND_IN, { headers: { "Content-Type": WASM_TYPE } })],
    [new URL(STDLIB, indexURL).href, async () => new Response(await stdlib)],
  ]);
  globalThis.fetch = (input, init) =>
    answers.get(input instanceof Request ? input.url : String(input))?.() ?? original(input, init);
  return () => {
    globalThis.fetch = original;
  };
}

/**
 * Settings of Pyodide's module that have it made of what was compiled ahead. Pyodide completes the imports and makes an
 * instance of the stand-in; then comes ours.
 * @param {any} settings @param {Ahead} ahead @param {(error: unknown) => void} fail
 */
export function madeAhead(settings, { wasm }, fail) {
  return {
    ...settings,
    instantiateWasm(/** @type {WebAssembly.Imports} */ imports, /** @type {Function} */ receive) {
      const ours = async () => {
        const module = await wasm;
        receive(await WebAssembly.instantiate(module, imports), module);
      };
      return settings.instantiateWasm(imports, () => ours().catch(fail));
    },
  };
}

/**
 * Compiled while it streams: a response as it came may be cached compiled. A server that does not know the type of such
 * files is no obstacle.
 * @param {string} url @param {(bytes: number) => void} counted
 */
async function compiled(url, counted) {
  const response = await responseOf(url);
  bodyOf(response.clone(), counted).catch(() => {}); // the other half fails likewise
  const known = response.headers.get("Content-Type")?.startsWith(WASM_TYPE);
  try {
    return await WebAssembly.compileStreaming(known ? response : new Response(response.body, { headers: { "Content-Type": WASM_TYPE } }));
  } catch (error) {
    throw new BootError("assets", `${url} could not be compiled: ${messageOf(error)}`);
  }
}
