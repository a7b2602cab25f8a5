/** manifest.json: every file of dist/ with its size and hash, and the build's own id. */

import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { decompress } from "fzstd";
import { pyodideFolder } from "./copies.mjs";

const MANIFEST = "manifest.json";

/** @param {import("./paths.js").Paths} paths */
export async function buildId(paths) {
  const lines = Object.entries(entries(paths.dist)).map(([name, { sha256 }]) => `${sha256}  ${name}\n`);
  return sha256(Buffer.from(lines.join(""))).slice(0, 16);
}

/** @param {import("./paths.js").Paths} paths @param {string} build */
export async function writeManifest(paths, build) {
  const manifest = { build, pyodide: pyodideFolder(paths), files: entries(paths.dist) };
  writeFileSync(`${paths.dist}/${MANIFEST}`, `${JSON.stringify(manifest, null, 1)}\n`);
}

/** @param {string} dist @returns {Record<string, {bytes: number, sha256: string, content?: string}>} */
function entries(dist) {
  const names = readdirSync(dist, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== MANIFEST)
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(dist.length + 1))
    .sort();
  return Object.fromEntries(names.map((name) => [name, entryOf(name, readFileSync(`${dist}/${name}`))]));
}

/** @param {string} name @param {Buffer} bytes */
function entryOf(name, bytes) {
  const entry = { bytes: bytes.length, sha256: sha256(bytes) };
  return name.endsWith(".zst") ? { ...entry, content: sha256(decompress(bytes)) } : entry;
}

/** @param {Uint8Array} bytes */
function sha256(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}
