/**
 * The pages behind an answer, as a compact list of links beside its text: cited ones first, then those read, then those
 * that could not be. Folded away where the text names them all itself, so that nothing is said twice.
 */

import { el } from "./dom.js";
import { LINK_SCHEMES } from "./markdown.js";

/** @typedef {{url: string, title: string, state: "cited" | "read" | "failed"}} Source */

const WORDS = { cited: "cited", read: "read", failed: "could not be read" };
const ORDER = ["cited", "read", "failed"];

/** @param {any} result the RunResult @returns {Source[]} */
export function sourcesOf({ output, state }) {
  const cited = new Set(output?.citations ?? []);
  const known = /** @type {any[]} */ (state?.researchContext?.sources ?? []).filter((source) => source.state !== "found");
  const listed = known.map(({ url, canonical, title, state: how }) => ({
    url,
    title: title || url,
    state: /** @type {Source["state"]} */ (cited.has(url) || cited.has(canonical) ? "cited" : how === "read" ? "read" : "failed"),
  }));
  const unlisted = [...cited].filter((url) => !known.some((source) => source.url === url || source.canonical === url));
  const all = [...listed, ...unlisted.map((url) => ({ url, title: url, state: /** @type {const} */ ("cited") }))];
  return all.filter(({ url }) => isLink(url)).sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
}

/** Does the text itself name all that counts? @param {Source[]} sources @param {string} text */
export function areAllNamed(sources, text) {
  return sources.every(({ url, state }) => state === "failed" || text.includes(url));
}

/** @param {Source[]} sources */
export function sourceList(sources) {
  const rows = sources.map(({ url, title, state }) =>
    el(
      "li",
      { "data-state": state },
      el("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow", dir: "auto" }, title),
      el("span", { class: "source-host" }, `${new URL(url).host}, ${WORDS[state]}`),
    ),
  );
  return el("section", { class: "panel sources", part: "sources", role: "group", "aria-label": "Sources" }, el("ol", {}, ...rows));
}

/** @param {string} url */
function isLink(url) {
  return URL.canParse(url) && LINK_SCHEMES.includes(new URL(url).protocol);
}
