/** Our workers: how one is started, wherever its code lies. */

import { WORKER_NAME } from "./stages.js";

/** A worker of another origin cannot be started directly: a local one imports it. @param {string} url */
export function newWorker(url) {
  if (new URL(url).origin === location.origin) return new Worker(url, { type: "module", name: WORKER_NAME });
  const source = URL.createObjectURL(new Blob([`import ${JSON.stringify(url)};`], { type: "text/javascript" }));
  return new Worker(source, { type: "module", name: WORKER_NAME });
}
