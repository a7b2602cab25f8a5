/** Where a boot finds its snapshot, by the setting of the page: in the browser's own store, at an address, or nowhere. */

import { bodyOf, responseOf } from "./assets.js";
import { unpacked } from "./packing.js";
import { readSnapshot, snapshotKey } from "./snapshot.js";
import { SnapshotStore } from "./snapshot_store.js";

/** @typedef {import("./assets.js").Manifest} Manifest */
/** @typedef {import("./snapshot.js").Snapshot} Snapshot */
/**
 * `read` gives null where there is none, and throws where there is one that does not fit; `discard` makes that one go.
 * @typedef {{read: () => Promise<Snapshot | null>, discard: () => Promise<void>}} SnapshotSource
 */

/**
 * @param {string} setting "auto", "off" or a URL
 * @param {string} base @param {Manifest} manifest @param {import("./downloads.js").Downloads} downloads
 * @returns {SnapshotSource}
 */
export function snapshotSource(setting, base, manifest, downloads) {
  if (setting === "off" || (setting === "auto" && !SnapshotStore.available)) {
    return { read: async () => null, discard: async () => {} };
  }
  const key = snapshotKey(manifest);
  if (setting !== "auto") {
    return { read: async () => readSnapshot(key, await fetched(setting, downloads)), discard: async () => {} };
  }
  const store = new SnapshotStore(base, key);
  return {
    read: async () => {
      const bytes = await store.read();
      return bytes && readSnapshot(key, bytes);
    },
    discard: () => store.discard(),
  };
}

/** @param {string} url @param {import("./downloads.js").Downloads} downloads */
async function fetched(url, downloads) {
  const response = await responseOf(url);
  return unpacked(await bodyOf(response, (bytes) => downloads.sign(bytes)));
}
