/**
 * Pyodide on the files of the bundle: what is downloaded for it, how it is started, and how our packages get into it.
 *
 * The one module that knows Pyodide's loader. Must not know: the stages of a boot, nor what Python is started for.
 */

import { loadPyodide } from "pyodide";
import { assetUrl, loadAsset } from "./assets.js";
import { fetchAhead, madeAhead } from "./handover.js";
import { loadPacked } from "./packing.js";
import { SIDE_MODULE, createLinked } from "./side_module.js";
import { BootError, messageOf } from "./stages.js";

/** @typedef {import("./assets.js").Manifest} Manifest */
/** @typedef {import("./downloads.js").Downloads} Downloads */
/** @typedef {import("./handover.js").Ahead} Ahead */
/** @typedef {{indexURL: string, base: string, site: Promise<Uint8Array<ArrayBuffer>>, native: Promise<Uint8Array<ArrayBuffer>>, sideModule: Promise<WebAssembly.Module>, factory: Promise<any>, ahead: Ahead | null}} Files */

export const SITE = "site.zip.zst";
const SITE_PACKAGES = "/lib/python3.14/site-packages";
const ARCHIVE = "/lib/agrun/site.zip";
/** No package of Pyodide's own distribution is looked up while booting. */
const EMPTY_LOCK = JSON.stringify({ info: PYODIDE_LOCK_INFO, packages: {} });

/** Puts the archive on sys.path, and the Python files of packages with a native module beside it. */
const UNPACK = `
import gc, sys, zipimport
gc.disable()  # until the page is open: what is imported until then stays, and there is no garbage worth looking for
from pathlib import Path
archive = zipimport.zipimporter(${JSON.stringify(ARCHIVE)})
for name in archive._get_files():
    if name.startswith("native/") and not name.endswith("/"):
        target = Path(${JSON.stringify(SITE_PACKAGES)}) / name.removeprefix("native/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(archive.get_data(name))
if ${JSON.stringify(ARCHIVE)} not in sys.path:
    sys.path.append(${JSON.stringify(ARCHIVE)})
del archive, name, target, Path, gc, zipimport
`;

/**
 * Begin to download all that Python needs.
 * @param {string} base @param {Manifest} manifest @param {Downloads} downloads
 * @param {boolean} ownScope also what Pyodide would fetch by itself: it will ask for it by the global `fetch`, which is ours
 * @returns {Files}
 */
export function downloadFiles(base, manifest, downloads, ownScope = false) {
  const asset = (/** @type {string} */ name) => downloads.add(name, (counted) => loadAsset(base, manifest, name, counted));
  const packed = (/** @type {string} */ name) => downloads.add(name, (counted) => loadPacked(base, manifest, name, counted));
  const native = packed(SIDE_MODULE.asset); // before the Python files, which nobody waits for until Python is there
  const asm = `${manifest.pyodide}/pyodide.asm.mjs`;
  const indexURL = new URL(`${manifest.pyodide}/`, base).href;
  return {
    base,
    indexURL,
    ahead: ownScope ? fetchAhead(manifest.pyodide, indexURL, downloads, asset) : null,
    native,
    sideModule: native.then((bytes) => WebAssembly.compile(bytes)),
    site: packed(SITE),
    factory: downloads.add(asm, () => importAsset(base, asm, manifest)),
  };
}

/**
 * @param {Files} files
 * @param {{snapshot?: import("./snapshot.js").Snapshot, making?: boolean}} [mode] from a snapshot, or to make one
 * @returns {Promise<any>} the running Pyodide
 */
export async function startPyodide(files, { snapshot, making = false } = {}) {
  const { factory, sideModule, ahead } = files;
  /** @type {(error: unknown) => void} */
  let fail = () => {};
  const failed = new Promise((_, reject) => {
    fail = reject;
  });
  try {
    const loading = loadPyodide({
      indexURL: files.indexURL,
      lockFileContents: EMPTY_LOCK,
      packageBaseUrl: files.base,
      enableRunUntilComplete: false,
      env: { PYDANTIC_DISABLE_PLUGINS: "__all__" }, // it would look through all packages for some, and there are none
      stdout: (line) => console.info(line),
      stderr: (line) => console.warn(line),
      createPyodideModule: async (settings) =>
        createLinked((await factory).default, ahead ? madeAhead(settings, ahead, fail) : settings, sideModule, snapshot),
      ...(snapshot ? { _loadSnapshot: snapshot.memory } : {}),
      ...(making ? { _makeSnapshot: true } : {}),
    });
    return await Promise.race([loading, failed]);
  } catch (error) {
    throw error instanceof BootError ? error : new BootError("runtime", messageOf(error));
  }
}

/** Our packages, where Python finds them. A snapshot holds no files, so this is for every boot. @param {any} pyodide @param {Files} files */
export async function unpack({ FS, runPython }, files) {
  await files.sideModule;
  FS.mkdirTree(ARCHIVE.slice(0, ARCHIVE.lastIndexOf("/")));
  FS.writeFile(ARCHIVE, await files.site, { canOwn: true });
  FS.mkdirTree(SIDE_MODULE.folder);
  FS.writeFile(SIDE_MODULE.path, ""); // the module is linked already, the file is only looked for
  runPython(UNPACK);
}

/**
 * The time zone, which C asks for once: in a snapshot it is the maker's. @param {any} module
 */
export function readTimeZone(module) {
  const names = module._tzname >>> 2;
  module.__tzset_js(module._timezone, module._daylight, module.HEAPU32[names], module.HEAPU32[names + 1]);
}

/** @param {string} base @param {string} name @param {Manifest} manifest */
async function importAsset(base, name, manifest) {
  const url = assetUrl(base, name, manifest.files[name]);
  return import(url).catch((error) => {
    throw new BootError("assets", `${url} could not be loaded: ${messageOf(error)}`);
  });
}
