/** What dist/ takes over from elsewhere: Pyodide, the skills, the page; a lock file for those who bring their own Pyodide. */

import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";

/** @typedef {import("./paths.js").Paths} Paths */

const PYODIDE_FILES = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"];
const LOCK = "pyodide-lock.json";

/** @param {Paths} paths */
function pyodidePackage({ web }) {
  return `${web}node_modules/pyodide`;
}

/** @param {Paths} paths @returns {string} */
function pyodideVersion(paths) {
  return JSON.parse(readFileSync(`${pyodidePackage(paths)}/package.json`, "utf8")).version;
}

/** The folder of dist/ for Pyodide; its version is in the name, so that no cache mixes two. @param {Paths} paths */
export function pyodideFolder(paths) {
  return `pyodide-${pyodideVersion(paths)}`;
}

/** Pyodide's lock file: its build, and the packages it publishes. @param {Paths} paths @returns {{info: any, packages: Record<string, any>}} */
export function pyodideLock(paths) {
  return JSON.parse(readFileSync(`${pyodidePackage(paths)}/${LOCK}`, "utf8"));
}

/** @param {Paths} paths */
export async function copyPyodide(paths) {
  const folder = `${paths.dist}/${pyodideFolder(paths)}`;
  mkdirSync(folder, { recursive: true });
  for (const name of PYODIDE_FILES) copyFileSync(`${pyodidePackage(paths)}/${name}`, `${folder}/${name}`);
}

/** @param {Paths} paths */
export async function copyPage({ web, dist }) {
  cpSync(`${web}src/page`, dist, { recursive: true });
}

/**
 * skills.json: `{"skills": [{"files": {"SKILL.md": ..., ...}}]}`, the texts as they are.
 * @param {Paths} paths
 */
export async function copySkills({ root, dist }) {
  const home = `${root}skills`;
  const folders = existsSync(home) ? readdirSync(home).filter((name) => existsSync(`${home}/${name}/SKILL.md`)).sort() : [];
  const skills = folders.map((name) => ({ files: textsOf(`${home}/${name}`) }));
  writeFileSync(`${dist}/skills.json`, `${JSON.stringify({ skills })}\n`);
}

/** @param {string} folder @returns {Record<string, string>} */
function textsOf(folder) {
  const names = /** @type {string[]} */ (readdirSync(folder, { recursive: true }))
    .filter((name) => !name.includes("__pycache__") && statSync(`${folder}/${name}`).isFile())
    .sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(`${folder}/${name}`, "utf8")]));
}

/**
 * A lock file for `loadPyodide({lockFileURL})`, in which our wheel and all that it needs stand beside Pyodide's own
 * packages. Ours lie in dist/ and stand for Pyodide's of the same name; the others keep lying where Pyodide publishes them.
 * @param {Paths} paths @param {Record<string, any>} entries of the wheels in dist/
 */
export function writeLock(paths, entries) {
  const lock = pyodideLock(paths);
  const published = `https://cdn.jsdelivr.net/pyodide/v${pyodideVersion(paths)}/full/`;
  for (const entry of Object.values(lock.packages)) entry.file_name = new URL(entry.file_name, published).href;
  Object.assign(lock.packages, entries);
  writeFileSync(`${paths.dist}/${LOCK}`, JSON.stringify(lock));
}
