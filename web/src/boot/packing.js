/**
 * Unpacks what the bundle has packed. What it is, its first bytes say: a server may have unpacked it already, whatever
 * the file is called.
 *
 * Zstandard is a quarter smaller than gzip here, and not every browser can unpack it by itself. Gzip is for the snapshot,
 * which is too large to be unpacked by JS. Only workers need this, so the shim does not have it.
 */

import { decompress } from "fzstd";
import { check, loadAsset } from "./assets.js";
import { UnpackedStore } from "./unpacked_store.js";

/** @typedef {import("./assets.js").Manifest} Manifest */

const ZSTD = [0x28, 0xb5, 0x2f, 0xfd];
const GZIP = [0x1f, 0x8b];

/**
 * A packed file's content: as it was kept, or from the network.
 * @param {string} base @param {Manifest} manifest @param {string} name @param {import("./assets.js").Counted} counted
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function loadPacked(base, manifest, name, counted) {
  const kept = await new UnpackedStore(base, manifest).read(name).catch(() => undefined);
  if (kept) {
    const bytes = new Uint8Array(await kept.arrayBuffer());
    const isWhole = await check(bytes, manifest.files[name].content ?? "", kept.url).then(() => true, () => false);
    if (isWhole) return bytes;
  }
  return loadAsset(base, manifest, name, counted, unpacked);
}

/** Packed bytes as they were before, others as they are. @param {Uint8Array<ArrayBuffer>} bytes @returns {Promise<Uint8Array<ArrayBuffer>>} */
export async function unpacked(bytes) {
  if (beginsWith(bytes, ZSTD)) return /** @type {Uint8Array<ArrayBuffer>} */ (decompress(bytes));
  if (!beginsWith(bytes, GZIP)) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @param {Uint8Array} bytes @param {number[]} magic */
function beginsWith(bytes, magic) {
  return magic.every((byte, place) => bytes[place] === byte);
}
