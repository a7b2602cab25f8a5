/**
 * A snapshot as bytes: a checksum of all the rest, what it was made for, and Python's memory. Not packed: to unpack it
 * takes two to three times as long as to read and check it as it is.
 *
 * It fits only the very bundle it was made with, in a browser that has (or has not) JSPI as the maker had: that changes
 * Python's function table. Must not know: where the bytes are kept.
 */

/** @typedef {import("./assets.js").Manifest} Manifest */
/**
 * `checked` rejects where the bytes are not those that were written: nothing may be done with the memory before.
 * @typedef {{memory: Uint8Array, fit: import("./side_module.js").Fit, checked: Promise<void>}} Snapshot
 */

/** A change of this file's format, or of what is in Python's memory beyond what the bundle's hash covers. */
const FORMAT = 1;
const CHECKSUM_BYTES = 32;
/** Checksum and facts; the memory must begin at a multiple of 4. */
const HEAD_BYTES = 1024;

/** What this browser's snapshot of this bundle is called. @param {Manifest} manifest */
export function snapshotKey({ pyodide, build }) {
  const jspi = "Suspending" in WebAssembly || "Suspender" in WebAssembly;
  return `${FORMAT}-${pyodide}-${build}-${jspi ? "jspi" : "plain"}`;
}

/** @param {string} key @param {Omit<Snapshot, "checked">} snapshot @returns {Promise<Uint8Array<ArrayBuffer>>} */
export async function snapshotBytes(key, { memory, fit }) {
  const bytes = new Uint8Array(HEAD_BYTES + memory.length);
  const facts = JSON.stringify({ key, fit }).padEnd(HEAD_BYTES - CHECKSUM_BYTES);
  const { read } = new TextEncoder().encodeInto(facts, bytes.subarray(CHECKSUM_BYTES, HEAD_BYTES));
  if (read !== facts.length) throw new Error("the facts about the snapshot are too long");
  bytes.set(memory, HEAD_BYTES);
  bytes.set(await checksum(bytes));
  return bytes;
}

/**
 * Throws where they are no snapshot of this key.
 * @param {string} key @param {Uint8Array<ArrayBuffer>} bytes @returns {Promise<Snapshot>}
 */
export async function readSnapshot(key, bytes) {
  if (bytes.length <= HEAD_BYTES) throw new Error("it is too short");
  const checked = isWhole(bytes);
  checked.catch(() => {}); // whoever uses the memory waits for it
  try {
    const facts = JSON.parse(new TextDecoder().decode(bytes.subarray(CHECKSUM_BYTES, HEAD_BYTES)));
    if (facts.key !== key) throw new Error(`it was made for ${facts.key}, this is ${key}`);
    return { memory: bytes.subarray(HEAD_BYTES), fit: facts.fit, checked };
  } catch (error) {
    await checked; // damage is the better reason
    throw error;
  }
}

/** @param {Uint8Array<ArrayBuffer>} bytes */
async function isWhole(bytes) {
  const found = await checksum(bytes);
  if (found.some((byte, place) => byte !== bytes[place])) throw new Error("it was damaged: its checksum is wrong");
}

/** @param {Uint8Array<ArrayBuffer>} bytes */
async function checksum(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes.subarray(CHECKSUM_BYTES)));
}
