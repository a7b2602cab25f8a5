/** What is known of the browser's own model, and the words for a person. Must not know how it is asked. */

/** @typedef {"unavailable" | "downloadable" | "downloading" | "available"} Availability */
/** `loaded` is a share from 0 to 1 while it is downloaded. @typedef {{availability: Availability, loaded: number | null, notice: string | null, hint: string | null}} ModelStatus */

export const PROMPT_API = "prompt-api";

/** @type {Record<Availability, {notice: string, hint: string} | null>} */
const WORDS = {
  unavailable: {
    notice: "This browser has no language model of its own that a page could use.",
    hint: "It takes Chrome or Edge on a desk, over https or localhost, with enough free disk space and memory, and built-in AI not switched off. Or choose another provider.",
  },
  downloadable: {
    notice: "The browser's model is not on this device yet.",
    hint: "The download is some gigabytes, happens once, and serves every page. It begins only when you ask for it.",
  },
  downloading: { notice: "The browser's model is being downloaded", hint: "It begins to answer as soon as it is here; other tabs can be used meanwhile." },
  available: null,
};

/**
 * @param {Availability} availability @param {number | null} [loaded]
 * @returns {ModelStatus}
 */
export function statusOf(availability, loaded = null) {
  const words = WORDS[availability];
  const share = loaded === null || availability !== "downloading" ? "" : `: ${Math.floor(loaded * 100)}%`;
  return { availability, loaded, notice: words && words.notice + (availability === "downloading" ? share || "." : ""), hint: words && words.hint };
}
