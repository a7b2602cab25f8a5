/** The JS of dist/: worker and chat view, and the shim that loads and checks them. */

import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { pyodideLock } from "./copies.mjs";

/** @typedef {import("./paths.js").Paths} Paths */

/** @param {Paths} paths @param {Record<string, string>} [define] @returns {import("esbuild").BuildOptions} */
function settings({ web, dist }, define = {}) {
  const { version } = JSON.parse(readFileSync(`${web}package.json`, "utf8"));
  return {
    absWorkingDir: web,
    outdir: dist,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    platform: "browser",
    charset: "utf8",
    legalComments: "none", // the texts stand in licenses.txt
    logLevel: "warning",
    define: { VERSION: JSON.stringify(version), ...define },
  };
}

/** @param {Paths} paths @returns {Promise<import("esbuild").Metafile>} what is in them */
export async function bundleAssets(paths) {
  const { metafile } = await build({
    ...settings(paths, { PYODIDE_LOCK_INFO: JSON.stringify(pyodideLock(paths).info) }),
    entryPoints: { worker: "src/boot/worker.js", chat: "src/chat/view.js" },
    outExtension: { ".js": ".mjs" },
    external: ["node:*", "ws"], // Pyodide's loader asks for them in Node only
    loader: { ".css": "text", ".svg": "text" },
    metafile: true,
  });
  return metafile;
}

/** @param {Paths} paths */
export async function bundleServiceWorker(paths) {
  // A classic script, since not every browser takes a module here.
  await build({ ...settings(paths), format: "iife", entryPoints: { "service-worker": "src/offline/service_worker.js" } });
}

/** @param {Paths} paths @param {string} buildId @returns {Promise<import("esbuild").Metafile[]>} */
export async function bundleShim(paths, buildId) {
  const shared = { ...settings(paths, { BUILD: JSON.stringify(buildId) }), metafile: true };
  const built = await Promise.all([
    build({ ...shared, format: "iife", globalName: "Agrun", entryPoints: { agrun: "src/agrun.classic.js" } }),
    build({ ...shared, entryPoints: { agrun: "src/agrun.module.js" }, outExtension: { ".js": ".mjs" } }),
  ]);
  return built.flatMap(({ metafile }) => metafile ?? []);
}
