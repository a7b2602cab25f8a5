/**
 * Markdown as it streams in. Whatever a model writes stays inert: raw HTML is shown as text, links have an allowed scheme
 * or are none, images are links (a page must not fetch what a model names), and everything passes a sanitiser.
 *
 * Only blocks that changed are rendered anew, so that a selection in earlier ones survives and long texts stay cheap.
 */

import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";
import { copyButton, el } from "./dom.js";

/** @typedef {import("markdown-it").Token} Token */

export const LINK_SCHEMES = ["http:", "https:", "mailto:"];

const TAGS = [
  "p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "s", "code", "pre", "blockquote",
  "ul", "ol", "li", "a", "table", "thead", "tbody", "tr", "th", "td",
]; // prettier-ignore
const ATTRIBUTES = ["href", "title", "start", "class"];
const ALIGNED = /text-align:(left|center|right)/;

const markdown = new MarkdownIt({ html: false, linkify: true, typographer: false });
markdown.validateLink = (url) => isAllowed(url);
markdown.renderer.rules.image = (tokens, index) => {
  const { content, attrGet } = tokens[index];
  const url = String(attrGet.call(tokens[index], "src") ?? "");
  return `<a href="${markdown.utils.escapeHtml(url)}">${markdown.utils.escapeHtml(content || url)}</a>`;
};
for (const cell of ["th_open", "td_open"]) {
  markdown.renderer.rules[cell] = (tokens, index, options, _env, self) => {
    const token = tokens[index];
    const side = ALIGNED.exec(String(token.attrGet("style") ?? ""))?.[1];
    token.attrs = side ? [["class", `align-${side}`]] : null; // a style attribute would need style-src 'unsafe-inline'
    return self.renderToken(tokens, index, options);
  };
}

/** @param {string} url */
function isAllowed(url) {
  try {
    return LINK_SCHEMES.includes(new URL(url).protocol);
  } catch {
    return false; // relative to nothing a model can know
  }
}

/** What a text may carry for the page besides prose: follow-up questions, in fenced blocks (document 2, 2.7). */
const SUGGESTION_FENCES = ["g3-followups", "g3-drill-hints"];

/** @typedef {{label: string, prompt: string}} Suggestion */

export class MarkdownView {
  element = el("div", { class: "markdown", part: "markdown", dir: "auto" });
  text = "";
  /** @type {Suggestion[]} */
  suggestions = [];
  /** @type {{source: string, nodes: Node[]}[]} */
  #blocks = [];
  #scheduled = false;

  /** @param {string} text */
  append(text) {
    this.text += text;
    this.#schedule();
  }

  /** @param {string} text */
  set(text) {
    if (text === this.text) return;
    this.text = text;
    this.#schedule();
  }

  #schedule() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.render();
    });
  }

  render() {
    const env = {};
    const groups = blocksOf(markdown.parse(this.text, env));
    this.suggestions = groups.flatMap(([first]) => suggestionsOf(first));
    const sources = groups
      .filter(([first]) => !isSuggestionFence(first))
      .map((tokens) => markdown.renderer.render(tokens, markdown.options, env));
    const kept = this.#blocks.findIndex((block, index) => block.source !== sources[index]);
    const from = kept === -1 ? this.#blocks.length : kept;
    for (const { nodes } of this.#blocks.splice(from)) nodes.forEach((node) => /** @type {ChildNode} */ (node).remove());
    for (const source of sources.slice(from)) {
      const nodes = [...sanitised(source).childNodes];
      this.element.append(...nodes);
      this.#blocks.push({ source, nodes });
    }
  }
}

/** The tokens of each top-level block. @param {Token[]} tokens @returns {Token[][]} */
function blocksOf(tokens) {
  /** @type {Token[][]} */
  const groups = [];
  let depth = 0;
  for (const token of tokens) {
    if (depth === 0) groups.push([]);
    groups[groups.length - 1].push(token);
    depth += token.nesting;
  }
  return groups;
}

/** @param {string} html */
function sanitised(html) {
  const fragment = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    RETURN_DOM_FRAGMENT: true,
  });
  for (const link of fragment.querySelectorAll("a")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  for (const pre of fragment.querySelectorAll("pre")) {
    const code = pre.querySelector("code");
    const language = /language-(\S+)/.exec(code?.className ?? "")?.[1] ?? "";
    const frame = el("div", { class: "code" });
    pre.replaceWith(frame);
    const copy = copyButton(() => pre.textContent ?? "", "Copy code");
    frame.append(el("div", { class: "code-head" }, el("span", {}, language), copy), pre);
  }
  for (const table of fragment.querySelectorAll("table")) {
    const frame = el("div", { class: "table", tabIndex: 0, role: "region", "aria-label": "Table" });
    table.replaceWith(frame);
    frame.append(table);
  }
  return fragment;
}

/** @param {Token} token */
function isSuggestionFence(token) {
  return token.type === "fence" && SUGGESTION_FENCES.includes(token.info.trim().split(/\s+/)[0].toLowerCase());
}

/** @param {Token} token @returns {Suggestion[]} */
function suggestionsOf(token) {
  if (!isSuggestionFence(token)) return [];
  try {
    const items = /** @type {any[]} */ (JSON.parse(token.content));
    return items.map((item) => (typeof item === "string" ? { label: item, prompt: item } : { label: item.label, prompt: item.prompt }));
  } catch {
    return []; // still streaming, or not what it says
  }
}
