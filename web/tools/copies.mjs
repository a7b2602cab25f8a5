/** What dist/ takes over from elsewhere: Pyodide, the skills, the page, our wheel for those who bring their own Pyodide. */

import { createHash } from "node:crypto";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";

/** @typedef {import("./paths.js").Paths} Paths */

const PYODIDE_FILES = ["pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"];
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
 * Our wheel, and a lock file for `loadPyodide({lockFileURL})` in which it stands beside Pyodide's own packages. Those
 * keep lying where Pyodide publishes them.
 * @param {Paths} paths
 */
export async function copyWheel(paths) {
  const wheels = `${paths.root}dist/wheels`;
  const name = existsSync(wheels) ? readdirSync(wheels).find((file) => file.startsWith("agrun_wasm-")) : undefined;
  if (!name) return;
  copyFileSync(`${wheels}/${name}`, `${paths.dist}/${name}`);
  const lock = pyodideLock(paths);
  const published = `https://cdn.jsdelivr.net/pyodide/v${pyodideVersion(paths)}/full/`;
  for (const entry of Object.values(lock.packages)) entry.file_name = new URL(entry.file_name, published).href;
  lock.packages["agrun-wasm"] = {
    name: "agrun-wasm",
    version: name.split("-")[1],
    file_name: name,
    install_dir: "site",
    sha256: createHash("sha256").update(readFileSync(`${wheels}/${name}`)).digest("hex"),
    package_type: "package",
    imports: ["agrun_wasm"],
    depends: DEPENDS.filter((dependency) => dependency in lock.packages),
    unvendored_tests: false,
  };
  writeFileSync(`${paths.dist}/${LOCK}`, JSON.stringify(lock));
}

/** Those of our dependencies that Pyodide distributes; micropip finds the others, which are pure, on PyPI. */
const DEPENDS = ["pydantic", "jsonschema", "rpds-py", "markdown-it-py", "ruamel-yaml", "micropip"];
