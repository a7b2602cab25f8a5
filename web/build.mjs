/**
 * Builds dist/: `node build.mjs`, after `npm ci` and with Pyodide's wheels in ../.build/pyodide-wheels (`python build.py web`
 * does both). The same tree gives the same bytes.
 */

import { mkdir, rename, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { bundleAssets, bundleServiceWorker, bundleShim } from "./tools/bundle.mjs";
import { copyPage, copyPyodide, copySkills, writeLock } from "./tools/copies.mjs";
import { writeLicenses } from "./tools/licenses.mjs";
import { buildId, writeManifest } from "./tools/manifest.mjs";
import { buildSite } from "./tools/site.mjs";
import { writeTypes } from "./tools/types.mjs";

const web = fileURLToPath(new URL(".", import.meta.url));
const DIST = `${web}dist`;
const paths = {
  web,
  root: fileURLToPath(new URL("..", import.meta.url)),
  dist: `${web}dist.new`, // becomes dist/ when it is whole, so that a page being served never misses a file for long
  wheels: fileURLToPath(new URL("../.build/pyodide-wheels", import.meta.url)),
};

try {
  await rm(paths.dist, { recursive: true, force: true });
  await mkdir(paths.dist);
  const { licenses, schemas, lockEntries } = await buildSite(paths);
  const copying = [copyPyodide(paths), copySkills(paths), copyPage(paths)];
  const [assets] = await Promise.all([bundleAssets(paths), bundleServiceWorker(paths), ...copying]);
  writeLock(paths, lockEntries);
  const build = await buildId(paths); // of all that agrun.js checks, which is what is there by now
  const [shims] = await Promise.all([bundleShim(paths, build), writeTypes(paths, schemas)]);
  writeLicenses(paths, licenses, [assets, ...shims]);
  await writeManifest(paths, build);
  await rm(DIST, { recursive: true, force: true });
  await rename(paths.dist, DIST);
} catch (error) {
  console.error(`web/build.mjs: ${error instanceof Error ? error.message.slice(-4000) : error}`);
  process.exit(1);
}
