/** Which files of a visit are kept, and under which names: what the page and its service worker must agree on. */

export const CACHE = "agrun-offline";

/** Does the address carry the hash of what lies there, or of its build? Then it is the same for ever. @param {string} url */
export function isHashed(url) {
  return /\?([0-9a-f]{12}|[0-9a-f]{16})$/.test(url);
}
