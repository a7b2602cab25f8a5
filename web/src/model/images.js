/** Images as the browser's model takes them: by value. */

/**
 * @param {string | {type: string, value: string}[]} content an image's value is its URL
 * @param {AbortSignal} signal
 */
export async function contentOf(content, signal) {
  if (typeof content === "string") return content;
  return Promise.all(content.map(async (part) => (part.type === "image" ? { ...part, value: await blobOf(part.value, signal) } : part)));
}

/** @param {string} url `data:` or `https:` @param {AbortSignal} signal @returns {Promise<Blob>} */
async function blobOf(url, signal) {
  if (url.startsWith("data:")) return decoded(url);
  const response = await fetch(url, { signal, credentials: "omit", referrerPolicy: "no-referrer" });
  if (!response.ok) throw new TypeError(`the image at ${new URL(url).host} answered ${response.status}`);
  return response.blob();
}

/** Without fetch, which a page's policy may not allow for `data:`. @param {string} url */
function decoded(url) {
  const comma = url.indexOf(",");
  const [type, ...parameters] = url.slice("data:".length, comma).split(";");
  const text = decodeURIComponent(url.slice(comma + 1));
  const bytes = parameters.includes("base64") ? Uint8Array.from(atob(text), (char) => char.charCodeAt(0)) : new TextEncoder().encode(text);
  return new Blob([bytes], { type });
}
