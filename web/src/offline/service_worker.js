/**
 * The service worker beside agrun.js: what a visit has loaded is there without a network at the next one.
 *
 * Files whose address carries their hash come from the cache; everything else comes from the network, and from the cache
 * when there is none, so a new build is seen at once. It keeps what a page tells it of, whole or not at all, and touches
 * no request but such. Must not know: Python, or what a page does with its files.
 */

import { CACHE, isHashed } from "./kept_files.js";

const scope = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (globalThis));
/** What a page consists of; data of an application is none of it. */
const PARTS = ["document", "script", "style", "image", "font", "worker"];

scope.addEventListener("install", (event) => {
  scope.skipWaiting();
  addRoutes(event);
});
scope.addEventListener("activate", (event) => event.waitUntil(scope.clients.claim()));
scope.addEventListener("message", (event) => {
  const answering = keep(event.data).then(
    () => event.ports[0]?.postMessage({ kept: true }),
    (error) => event.ports[0]?.postMessage({ kept: false, reason: String(error) }),
  );
  event.waitUntil(answering);
});
scope.addEventListener("fetch", (event) => {
  if (isOurs(event.request)) event.respondWith(answer(event.request));
});

/** Hashed files without even starting this worker, and pages without waiting for it, where the browser can. @param {any} event */
function addRoutes(event) {
  const { pathname } = new URL(scope.registration.scope);
  const hashed = ["*.zst", "worker.mjs", "chat.mjs", "pyodide-*"].map((name) => ({ urlPattern: { pathname: `${pathname}${name}` } }));
  const routes = [
    { condition: { or: hashed }, source: { cacheName: CACHE } },
    { condition: { requestMode: "navigate" }, source: "race-network-and-fetch-handler" },
  ];
  event.waitUntil(Promise.resolve(event.addRoutes?.(routes)).catch(() => {}));
}

/** @param {Request} request */
function isOurs({ method, url, headers, destination }) {
  if (method !== "GET" || !url.startsWith(scope.registration.scope) || headers.has("range")) return false;
  return PARTS.includes(destination) || isHashed(url) || /\/(manifest|skills)\.json$|\/pyodide-[^/]+\/[^/]+$/.test(url);
}

/** @param {Request} request @returns {Promise<Response>} */
async function answer(request) {
  const kept = await (await caches.open(CACHE)).match(request, { ignoreVary: true, ignoreSearch: request.mode === "navigate" });
  if (kept && isHashed(request.url)) return kept;
  try {
    // Asked again each time, since files of two builds do not go together; of a navigation that cannot be said.
    return await (request.mode === "navigate" ? fetch(request) : fetch(request, { cache: "no-cache" }));
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}

/**
 * Everything of one build, or nothing: a page that is behind the server's build would mix two.
 * @param {{manifest: string, build: string, urls: string[]}} told
 */
async function keep({ manifest, build, urls }) {
  const cache = await caches.open(CACHE);
  const found = await (await fetch(manifest, { cache: "no-cache" })).json();
  if (found.build !== build) throw new Error(`the server has build ${found.build} by now, the page ${build}`);
  const there = new Set((await cache.keys()).map(({ url }) => url));
  const wanted = urls.filter((url) => !(isHashed(url) && there.has(url)));
  const loaded = await Promise.all(wanted.map(async (url) => /** @type {const} */ ([url, await load(url)])));
  for (const [url, response] of loaded) if (response) await cache.put(url, response);
  const ours = [...there].filter((url) => url.startsWith(scope.registration.scope));
  const old = ours.filter((url) => isHashed(url) && !urls.includes(url));
  await Promise.all(old.map((url) => cache.delete(url)));
}

/** What may be kept of it: nothing, where the server says so. @param {string} url @returns {Promise<Response | null>} */
async function load(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  if (/\bno-store\b/.test(response.headers.get("Cache-Control") ?? "")) return null;
  // A redirected response is no answer to a navigation.
  return response.redirected ? new Response(response.body, { headers: response.headers }) : response;
}
