/** site.zip and the side module: the Python packages of the page, made with Pyodide itself running in Node. */

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { loadPyodide } from "pyodide";

/** Line tables without columns, and the same order of everything at every build. */
const COMPILER = { PYTHONNODEBUGRANGES: "1", PYTHONHASHSEED: "0" };
const NATIVE = ["pydantic_core"];
const SIDE_MODULE = "/site/pydantic_core/_pydantic_core.cpython-314-wasm32-emscripten.so";

/**
 * @param {import("./paths.js").Paths} paths
 * @returns {Promise<{schemas: Record<string, any>}>}
 */
export async function buildSite({ web, root, dist, wheels }) {
  const pyodide = await loadPyodide({ enableRunUntilComplete: false, env: COMPILER });
  const { FS } = pyodide;
  for (const wheel of readdirSync(wheels).filter((name) => name.endsWith(".whl")).sort()) {
    pyodide.unpackArchive(new Uint8Array(readFileSync(`${wheels}/${wheel}`)), "wheel", { extractDir: "/site" });
  }
  copyFolder(FS, `${root}agrun_wasm`, "/site/agrun_wasm");
  FS.mkdirTree("/tools");
  FS.writeFile("/tools/site_archive.py", readFileSync(`${web}tools/site_archive.py`));

  const tools = pyodide.runPython("import sys; sys.path.insert(0, '/tools'); import site_archive; site_archive");
  tools.build("/site", pyodide.toPy(NATIVE), "/site.zip");
  tools.pack("/site.zip", "/site.zip.gz");
  tools.pack(SIDE_MODULE, "/pydantic_core.so.gz");
  writeFileSync(`${dist}/site.zip.gz`, FS.readFile("/site.zip.gz"));
  writeFileSync(`${dist}/pydantic_core.so.gz`, FS.readFile("/pydantic_core.so.gz"));
  writeFileSync(`${dist}/licenses.txt`, tools.licenses("/site"));
  return { schemas: JSON.parse(tools.schemas("/site.zip", "/site")) };
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
