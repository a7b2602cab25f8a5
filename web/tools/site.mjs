/**
 * site.zip and the side module: the Python packages of the page, made with Pyodide itself running in Node; and the same
 * packages as wheels, for those who bring their own Pyodide.
 */

import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { loadPyodide } from "pyodide";

/** Line tables without columns, and the same order of everything at every build. */
const COMPILER = { PYTHONNODEBUGRANGES: "1", PYTHONHASHSEED: "0" };
const WHEELS = "wheels";
const NATIVE = ["pydantic_core"];
const SIDE_MODULE = "/site/pydantic_core/_pydantic_core.cpython-314-wasm32-emscripten.so";

/**
 * @param {import("./paths.js").Paths} paths
 * @returns {Promise<{licenses: string, schemas: Record<string, any>, lockEntries: Record<string, any>}>}
 */
export async function buildSite({ web, root, dist, wheels }) {
  const pyodide = await loadPyodide({ enableRunUntilComplete: false, env: COMPILER });
  const { FS } = pyodide;
  for (const wheel of readdirSync(wheels).filter((name) => name.endsWith(".whl")).sort()) {
    pyodide.unpackArchive(new Uint8Array(readFileSync(`${wheels}/${wheel}`)), "wheel", { extractDir: "/site" });
  }
  copyFolder(FS, `${root}agrun_wasm`, "/site/agrun_wasm");
  FS.mkdirTree("/tools");
  for (const name of ["site_archive.py", "lock_entries.py"]) FS.writeFile(`/tools/${name}`, readFileSync(`${web}tools/${name}`));

  const tools = pyodide.runPython("import sys; sys.path.insert(0, '/tools'); import site_archive; site_archive");
  tools.build("/site", pyodide.toPy(NATIVE), "/site.zip");
  for (const [source, name] of [["/site.zip", "site.zip.zst"], [SIDE_MODULE, "pydantic_core.so.zst"]]) {
    tools.pack(source, `/${name}`);
    writeFileSync(`${dist}/${name}`, FS.readFile(`/${name}`));
  }
  const lockEntries = writeWheels(pyodide, { dist, folders: [wheels, `${root}dist/wheels`], rpds: tools.RPDS });
  return { licenses: tools.licenses("/site"), schemas: JSON.parse(tools.schemas("/site.zip", "/site")), lockEntries };
}

/**
 * dist/wheels/, and the entries of a lock file for what lies there.
 * @param {any} pyodide @param {{dist: string, folders: string[], rpds: string}} parts @returns {Record<string, any>}
 */
function writeWheels({ FS, pyimport }, { dist, folders, rpds }) {
  FS.mkdirTree("/wheels");
  for (const folder of folders.filter((name) => existsSync(name))) {
    const names = readdirSync(folder).filter((name) => name.endsWith(".whl") && !name.startsWith("agrun_host-"));
    for (const name of names) FS.writeFile(`/wheels/${name}`, readFileSync(`${folder}/${name}`));
  }
  const tools = pyimport("lock_entries");
  tools.write_rpds("/wheels", rpds);
  const entries = JSON.parse(tools.entries("/wheels", `${WHEELS}/`));
  mkdirSync(`${dist}/${WHEELS}`);
  for (const { file_name } of Object.values(entries)) writeFileSync(`${dist}/${file_name}`, FS.readFile(`/${file_name}`));
  return entries;
}

/** @param {any} FS @param {string} from @param {string} to */
function copyFolder(FS, from, to) {
  FS.mkdirTree(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.name === "__pycache__") continue;
    if (entry.isDirectory()) copyFolder(FS, `${from}/${entry.name}`, `${to}/${entry.name}`);
    else FS.writeFile(`${to}/${entry.name}`, readFileSync(`${from}/${entry.name}`));
  }
}
