/** Entries of Cache Storage under one folder, which is but a name: nothing is ever fetched from there. */

/**
 * Keep these, in the place of all others of the folder.
 * @param {string} name of the cache @param {string} folder @param {Record<string, Uint8Array<ArrayBuffer>>} entries by URL
 */
export async function replaceEntries(name, folder, entries) {
  const cache = await caches.open(name);
  const old = (await cache.keys()).filter(({ url }) => url.startsWith(folder) && !Object.hasOwn(entries, url));
  await Promise.all(old.map((request) => cache.delete(request)));
  await Promise.all(Object.entries(entries).map(([url, bytes]) => cache.put(url, new Response(bytes))));
}
