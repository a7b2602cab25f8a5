/**
 * The files of the bundle: fetched from where the page has them, counted, and checked against the manifest.
 *
 * A URL carries its file's hash, so that no cache can mix two builds. Packed files are for packing.js.
 */

import { BootError } from "./stages.js";

/** `content` is the hash of a packed file's content. @typedef {{bytes: number, sha256: string, content?: string}} ManifestEntry */
/** @typedef {{build: string, pyodide: string, files: Record<string, ManifestEntry>}} Manifest */
/** Told how many bytes have come in since the last time. @typedef {(bytes: number) => void} Counted */

export const MANIFEST = "manifest.json";

/**
 * @param {string} base where the bundle lies, with a slash at the end
 * @param {string} build the build that this code belongs to
 * @returns {Promise<Manifest>}
 */
export async function loadManifest(base, build) {
  const url = new URL(MANIFEST, base);
  const manifest = await (await responseOf(url, { cache: "no-cache" })).json().catch((/** @type {unknown} */ error) => {
    throw new BootError("assets", `${url} is not a manifest: ${error}`);
  });
  if (manifest.build !== build) {
    throw new BootError("assets", `${url} is of build ${manifest.build}, this code is of build ${build}`);
  }
  return manifest;
}

/** @param {string} base @param {string} name @param {ManifestEntry} entry */
export function assetUrl(base, name, entry) {
  return new URL(`${name}?${entry.sha256.slice(0, 12)}`, base).href;
}

/**
 * @param {string} base @param {Manifest} manifest @param {string} name @param {Counted} [counted]
 * @param {(bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array<ArrayBuffer>>} [unpack]
 * @returns {Promise<Uint8Array<ArrayBuffer>>} its content, as the manifest has it
 */
export async function loadAsset(base, manifest, name, counted, unpack = async (bytes) => bytes) {
  const entry = manifest.files[name];
  if (!entry) throw new BootError("assets", `${name} is not in ${MANIFEST}`);
  const response = await responseOf(assetUrl(base, name, entry));
  const bytes = await unpack(await bodyOf(response, counted));
  await check(bytes, entry.content ?? entry.sha256, response.url);
  return bytes;
}

/**
 * A response that is there, or a BootError that names the file.
 * @param {string | URL} url @param {RequestInit} [init] @param {typeof fetch} [fetching]
 */
export async function responseOf(url, init, fetching = fetch) {
  let response;
  try {
    response = await fetching(url, init);
  } catch (error) {
    throw new BootError("assets", `${url} could not be fetched: ${error instanceof Error ? error.message : error}`);
  }
  if (!response.ok) throw new BootError("assets", `${url} answered ${response.status} ${response.statusText}`.trim());
  return response;
}

/**
 * The body, with every piece counted as it comes.
 * @param {Response} response @param {Counted} [counted]
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function bodyOf(response, counted) {
  if (!response.body || !counted) return new Uint8Array(await response.arrayBuffer());
  const pieces = [];
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    counted(value.byteLength);
    pieces.push(value);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/** @param {Uint8Array<ArrayBuffer>} bytes @param {string} expected @param {string} url */
export async function check(bytes, expected, url) {
  if (!globalThis.crypto?.subtle) return; // only where the page is no secure context
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const found = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (found !== expected) {
    throw new BootError("assets", `${url} is not the file of this build (sha256 ${found.slice(0, 12)}, expected ${expected.slice(0, 12)})`);
  }
}
