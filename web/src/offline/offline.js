/**
 * After the first visit the page starts without a network: its service worker keeps what the visit has loaded.
 *
 * Only where the page lies within the folder of agrun.js (a service worker sees no other page), where that folder has no
 * service worker of somebody else, and where there is room. Must not know: when Python starts, nor what runs.
 */

import { MANIFEST, assetUrl } from "../boot/assets.js";
import { CACHE } from "./kept_files.js";

/** @typedef {import("../boot/assets.js").Manifest} Manifest */

const SCRIPT = "service-worker.js";
/** What the worker loads by itself, which the page's own list of resources does not tell. */
const PYTHON = /^(site\.zip\.zst|pydantic_core\.so\.zst|worker\.mjs|pyodide-[^/]+\/.+)$/;
const PAGE_PARTS = ["script", "link", "css", "img"];
/** Room for the files, and as much again for what the page keeps itself. */
const ROOM_BYTES = 64 * 2 ** 20;

/**
 * Keep this visit's files. @param {string} base where the bundle lies @param {Manifest} manifest
 * @returns {Promise<boolean>} whether they are kept
 */
export async function keepOffline(base, manifest) {
  if (!available(base) || (await foreign(base))) return false;
  const { quota = Infinity, usage = 0 } = await navigator.storage.estimate();
  if (quota - usage < ROOM_BYTES) return false;
  const registration = await navigator.serviceWorker.register(new URL(SCRIPT, base), { scope: base, updateViaCache: "none" });
  const { port1, port2 } = new MessageChannel();
  const answered = new Promise((resolve) => (port1.onmessage = ({ data }) => resolve(data)));
  const told = { manifest: new URL(MANIFEST, base).href, build: manifest.build, urls: urlsOf(base, manifest) };
  (await activated(registration)).postMessage(told, [port2]);
  const { kept, reason } = await answered;
  if (!kept) console.info(`agrun: not kept for visits without a network: ${reason}`);
  return kept;
}

/** The page does not want it (any more). @param {string} base */
export async function forgetOffline(base) {
  if (!available(base) || (await foreign(base))) return;
  const registration = await registered(base);
  if (!registration) return;
  await registration.unregister();
  const cache = await caches.open(CACHE);
  const ours = (await cache.keys()).filter(({ url }) => url.startsWith(base));
  await Promise.all(ours.map((request) => cache.delete(request)));
  if (!(await cache.keys()).length) await caches.delete(CACHE);
}

/** @param {string} base */
function available(base) {
  return "serviceWorker" in navigator && isSecureContext && location.href.startsWith(base);
}

/** The service worker of this very folder, not of one above it. @param {string} base */
async function registered(base) {
  const found = await navigator.serviceWorker.getRegistration(base);
  return found?.scope === base ? found : undefined;
}

/** Is there one that is not ours? @param {string} base */
async function foreign(base) {
  const registration = await registered(base);
  const worker = registration?.active ?? registration?.waiting ?? registration?.installing;
  return worker !== undefined && worker !== null && worker.scriptURL !== new URL(SCRIPT, base).href;
}

/** @param {ServiceWorkerRegistration} registration @returns {Promise<ServiceWorker>} */
async function activated({ active, waiting, installing }) {
  const worker = active ?? waiting ?? /** @type {ServiceWorker} */ (installing);
  while (worker.state !== "activated") {
    if (worker.state === "redundant") throw new Error("the service worker could not be installed");
    await new Promise((resolve) => worker.addEventListener("statechange", resolve, { once: true }));
  }
  return worker;
}

/** @param {string} base @param {Manifest} manifest @returns {string[]} */
function urlsOf(base, manifest) {
  const python = Object.keys(manifest.files).filter((name) => PYTHON.test(name));
  const hashed = python.map((name) => assetUrl(base, name, manifest.files[name]));
  const bare = python.filter((name) => name.endsWith(".wasm")).map((name) => new URL(name, base).href); // Pyodide's own address
  const resources = /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByType("resource"));
  const loaded = resources.filter(({ name, initiatorType }) => PAGE_PARTS.includes(initiatorType) || isListed(name, base, manifest));
  const [page] = location.href.split("#");
  return [...new Set([page, ...loaded.map(({ name }) => name), ...hashed, ...bare])].filter((url) => url.startsWith(base));
}

/** @param {string} url @param {string} base @param {Manifest} manifest */
function isListed(url, base, manifest) {
  const [name] = url.slice(base.length).split("?");
  return url.startsWith(base) && (name === MANIFEST || name in manifest.files);
}
