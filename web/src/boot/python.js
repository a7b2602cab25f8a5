/**
 * Python from nothing to a Page that answers, wherever this code runs: in the worker, or in the page itself.
 *
 * All downloads run at once. The side module of pydantic-core is compiled beside Pyodide and linked before Python's
 * `main` runs, so that its place in memory is the same at every boot; Python finds it under the path it would open.
 */

import { loadPyodide } from "pyodide";
import { assetUrl, loadAsset } from "./assets.js";
import { Downloads } from "./downloads.js";
import { BootError } from "./stages.js";

/** @typedef {import("./assets.js").Manifest} Manifest */
/** @typedef {import("./stages.js").BootEvent} BootEvent */
/** @typedef {import("./stages.js").Stage} Stage */

const SITE_PACKAGES = "/lib/python3.14/site-packages";
const ARCHIVE = "/lib/agrun/site.zip";

/** Native modules: the file of the bundle, and the path Python opens. */
const SIDE_MODULE = {
  asset: "pydantic_core.so.gz",
  folder: `${SITE_PACKAGES}/pydantic_core`,
  path: `${SITE_PACKAGES}/pydantic_core/_pydantic_core.cpython-314-wasm32-emscripten.so`,
};

/** Puts the archive on sys.path, and the Python files of packages with a native module beside it. */
const UNPACK = `
import sys, zipimport
from pathlib import Path
archive = zipimport.zipimporter(${JSON.stringify(ARCHIVE)})
for name in archive._get_files():
    if name.startswith("native/") and not name.endswith("/"):
        target = Path(${JSON.stringify(SITE_PACKAGES)}) / name.removeprefix("native/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(archive.get_data(name))
sys.path.append(${JSON.stringify(ARCHIVE)})
del archive, name, target, Path, zipimport
`;

/**
 * @param {object} options
 * @param {string} options.base where the bundle lies
 * @param {Manifest} options.manifest
 * @param {boolean} options.ownScope whether the global scope is ours, so that Pyodide's own downloads can be counted
 * @param {(event: BootEvent) => void} options.report
 * @param {(text: string) => void} options.post takes what Python says
 * @param {(error: unknown) => void} options.onFatal told when Python has broken down for good
 * @returns {Promise<{receive: (text: string) => void, close: () => void, pyodide: any}>}
 */
export async function bootPython({ base, manifest, ownScope, report, post, onFatal }) {
  const stages = new StageClock(report);
  const indexURL = new URL(`${manifest.pyodide}/`, base).href;
  const downloads = new Downloads(manifest, (loaded, total) => stages.progress(loaded, total));

  stages.enter("assets");
  const site = downloads.add("site.zip.gz", (counted) => loadAsset(base, manifest, "site.zip.gz", counted));
  const sideModule = downloads
    .add(SIDE_MODULE.asset, (counted) => loadAsset(base, manifest, SIDE_MODULE.asset, counted))
    .then((bytes) => WebAssembly.compile(bytes));
  const asm = `${manifest.pyodide}/pyodide.asm.mjs`;
  const factory = downloads.add(asm, () => importAsset(base, asm, manifest));
  const restoreFetch = ownScope ? downloads.countFetches(indexURL, PYODIDE_DOWNLOADS) : () => {};
  const starting = loadPyodide({
    indexURL,
    lockFileContents: EMPTY_LOCK,
    packageBaseUrl: base,
    enableRunUntilComplete: false,
    stdout: (line) => console.info(line),
    stderr: (line) => console.warn(line),
    createPyodideModule: async (settings) => createModule((await factory).default, settings, sideModule),
  }).catch((error) => {
    throw error instanceof BootError ? error : new BootError("runtime", messageOf(error));
  });
  await Promise.race([downloads.finished(), starting.then(() => new Promise(() => {}))]);
  const archive = await site;

  stages.enter("runtime");
  const pyodide = await starting;
  restoreFetch();

  stages.enter("packages");
  await sideModule;
  try {
    pyodide.FS.mkdirTree(ARCHIVE.slice(0, ARCHIVE.lastIndexOf("/")));
    pyodide.FS.writeFile(ARCHIVE, archive, { canOwn: true });
    pyodide.FS.mkdirTree(SIDE_MODULE.folder);
    pyodide.FS.writeFile(SIDE_MODULE.path, ""); // the module is linked already, the file is only looked for
    pyodide.runPython(UNPACK);
  } catch (error) {
    throw new BootError("packages", messageOf(error), { details: { traceback: String(error) } });
  }

  stages.enter("core");
  let receive;
  try {
    const module = pyodide.pyimport("agrun_wasm.browser.page");
    receive = module.open_page(post);
    module.destroy();
  } catch (error) {
    throw new BootError("core", messageOf(error), { details: { traceback: String(error) } });
  }
  /** @type {any} */ (pyodide)._api.on_fatal = onFatal;
  stages.enter("ready");
  return { receive, close: () => receive.destroy(), pyodide };
}

/** @param {string} base @param {string} name @param {Manifest} manifest */
async function importAsset(base, name, manifest) {
  const url = assetUrl(base, name, manifest.files[name]);
  return import(url).catch((error) => {
    throw new BootError("assets", `${url} could not be loaded: ${messageOf(error)}`);
  });
}

/** No package of Pyodide's own distribution is looked up while booting. */
const EMPTY_LOCK = JSON.stringify({ info: PYODIDE_LOCK_INFO, packages: {} });

/**
 * Pyodide's module, with the side module linked in before `main`.
 * @param {(settings: any) => Promise<any>} factory @param {any} settings @param {Promise<WebAssembly.Module>} sideModule
 */
function createModule(factory, settings, sideModule) {
  const link = (/** @type {any} */ module) => {
    module.addRunDependency("side-module");
    linkSideModule(module, sideModule).then(
      () => module.removeRunDependency("side-module"),
      (error) => module.abort?.(error) ?? console.error(error),
    );
  };
  return factory({ ...settings, preRun: [...settings.preRun, link] });
}

/** @param {any} module @param {Promise<WebAssembly.Module>} sideModule */
async function linkSideModule(module, sideModule) {
  const { LDSO } = module;
  const flags = { loadAsync: true, global: false, nodelete: true, allowUndefined: true };
  const exports = await module.loadWebAssemblyModule(await sideModule, flags, SIDE_MODULE.path, {}, 0);
  module.newDSO(SIDE_MODULE.path, 0, exports).global = false;
  LDSO.loadedLibsByHandle[0] = LDSO.loadedLibsByName["__main__"];
}

/** How often progress is told. */
const PROGRESS_MS = 50;

const PYODIDE_DOWNLOADS = ["pyodide.asm.wasm", "python_stdlib.zip"];

/** Reports entering and leaving each stage, with its time. */
class StageClock {
  /** @type {Stage | null} */
  #stage = null;
  #since = 0;
  #reported = 0;
  #progress = { loaded: 0, total: 0 };
  #report;

  /** @param {(event: BootEvent) => void} report */
  constructor(report) {
    this.#report = report;
  }

  /** @param {Stage} stage */
  enter(stage) {
    const now = performance.now();
    if (this.#stage === "assets") this.#report({ stage: "assets", status: "progress", ...this.#progress });
    if (this.#stage) this.#report({ stage: this.#stage, status: "done", ms: Math.round(now - this.#since) });
    this.#stage = stage;
    this.#since = now;
    this.#report({ stage, status: stage === "ready" ? "done" : "started" });
  }

  /** @param {number} loaded @param {number} total */
  progress(loaded, total) {
    this.#progress = { loaded, total };
    const now = performance.now();
    if (this.#stage !== "assets" || now - this.#reported < PROGRESS_MS) return;
    this.#reported = now;
    this.#report({ stage: "assets", status: "progress", loaded, total });
  }
}

/** The last line of a Python traceback, or the message. @param {unknown} error */
function messageOf(error) {
  const lines = (error instanceof Error ? error.message : String(error)).trim().split("\n");
  return lines[lines.length - 1];
}
