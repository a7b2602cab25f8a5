/**
 * Markdown as it streams in. Whatever a model writes stays inert: raw HTML is shown as text, links have an allowed scheme
 * or are none, images are links (a page must not fetch what a model names), and everything passes a sanitiser.
 *
 * Only blocks that changed are rendered anew, so that a selection in earlier ones survives; a long text is rendered in
 * slices, so that the page answers between them.
 */

import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";
import { START, readBlocks } from "./blocks.js";
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
/** Milliseconds of a frame that rendering may take, and how much longer it rests than it worked when it took more. */
const SLICE_MS = 6;
const REST = 4;
/** Blocks stand in chunks of about this many characters: one that is out of sight costs the page nothing. */
const CHUNK = 12_000;
const DEFINITION = /^ {0,3}\[[^\]\n]+\]:[^\n]*$/gm;

/** @typedef {{label: string, prompt: string}} Suggestion */
/** @typedef {{html: string, nodes: ChildNode[], suggestions: Suggestion[], chunk: HTMLElement}} Shown */

export class MarkdownView {
  element = el("div", { class: "markdown", part: "markdown" });
  text = "";
  /** @type {Shown[]} */
  #shown = [];
  #settled = 0;
  #position = START;
  #scheduled = false;
  #rendered = 0;
  /** Link definitions of the whole text, known when it has ended. @type {Record<string, any>} */
  #references = {};
  /** Called once, when the ended text is whole on screen. @type {(() => void) | null} */
  #whole = null;

  get suggestions() {
    return this.#shown.flatMap((shown) => shown.suggestions);
  }

  /** @param {string} text */
  append(text) {
    this.text += text;
    this.#schedule();
  }

  /**
   * The text has ended, and is this. At once where it is short, else in slices.
   * @param {string} text @param {() => void} [whole] called when all of it is on screen
   */
  finish(text, whole = () => {}) {
    const definitions = text.match(DEFINITION);
    if (!text.startsWith(this.text) || definitions) {
      this.#settled = 0;
      this.#position = START;
    }
    if (definitions) this.#references = referencesIn(definitions.join("\n\n"));
    this.text = text;
    this.#whole = whole;
    this.#render();
  }

  #schedule() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.#render();
    });
  }

  #render() {
    const started = performance.now();
    const spent = () => performance.now() - started;
    const ended = this.#whole !== null;
    /** @param {string} source */
    const parse = (source) => markdown.parse(source, { references: { ...this.#references } });
    let done = false;
    while (!done && spent() < SLICE_MS) {
      const read = readBlocks(this.text, this.#position, parse, ended);
      read.blocks.forEach((tokens, index) => this.#show(this.#settled + index, tokens, read.continues && index === 0));
      if (read.done) this.#drop(this.#settled + read.blocks.length);
      this.#settled += read.settled;
      this.#position = read.next;
      done = read.done;
    }
    if (!done) return this.#schedule();
    this.#rendered = this.text.length;
    if (spent() > SLICE_MS) this.#rest(spent());
    if (ended) {
      this.#whole?.();
      this.#whole = null;
    }
    return undefined;
  }

  /** Hold back the next rendering after a costly one. @param {number} ms */
  #rest(ms) {
    this.#scheduled = true;
    setTimeout(() => {
      this.#scheduled = false;
      if (this.#whole || this.#rendered < this.text.length) this.#schedule(); // ended, it is read to its end once more
    }, ms * REST);
  }

  /** @param {number} index @param {Token[]} tokens @param {boolean} continues */
  #show(index, tokens, continues) {
    const known = this.#shown[index];
    const isSuggestions = isSuggestionFence(tokens[0]);
    const html = isSuggestions ? tokens[0].content : markdown.renderer.render(tokens, markdown.options, {});
    if (known?.html === html) return;
    const nodes = isSuggestions ? [] : [...sanitised(html).childNodes];
    const pre = continues && tokens[0].type === "fence" ? preOf(this.#shown[index - 1]?.nodes[0]) : null;
    if (pre) nodes.splice(0, nodes.length, codeOf(nodes[0])); // long code stays one block with one copy button
    const chunk = known?.chunk ?? this.#chunkAt(index, pre !== null);
    const after = this.#shown.slice(index).find((shown) => shown.nodes.length > 0 && shown.chunk === chunk)?.nodes[0] ?? null;
    for (const node of nodes) (pre ?? chunk).insertBefore(node, pre ? null : after);
    known?.nodes.forEach((node) => node.remove());
    this.#shown[index] = { html, nodes, suggestions: suggestionsOf(tokens[0]), chunk };
  }

  /** The chunk of a new block: that of the one before, until it is full. @param {number} index @param {boolean} continues */
  #chunkAt(index, continues) {
    const current = this.#shown[index - 1]?.chunk;
    let size = 0;
    for (let at = index - 1; at >= 0 && this.#shown[at].chunk === current; at--) size += this.#shown[at].html.length;
    if (current && (size < CHUNK || continues)) return current;
    const chunk = el("div", { class: "chunk" });
    this.element.append(chunk);
    return chunk;
  }

  /** @param {number} from */
  #drop(from) {
    for (const { nodes, chunk } of this.#shown.splice(from)) {
      nodes.forEach((node) => node.remove());
      if (!chunk.hasChildNodes()) chunk.remove();
    }
  }
}

/** The frame of code that this piece of code stands in. @param {ChildNode | undefined} node @returns {Element | null} */
function preOf(node) {
  return node instanceof Element ? (node.closest("pre") ?? node.querySelector("pre")) : null;
}

/** @param {ChildNode} node */
function codeOf(node) {
  return /** @type {Element} */ (/** @type {Element} */ (node).querySelector("code"));
}

/** @param {string} definitions */
function referencesIn(definitions) {
  /** @type {{references?: Record<string, any>}} */
  const env = {};
  markdown.parse(definitions, env);
  return env.references ?? {};
}

/** @param {string} html */
function sanitised(html) {
  const fragment = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    ADD_URI_SAFE_ATTR: ["start"], // a list's first number is no address
    RETURN_DOM_FRAGMENT: true,
  });
  for (const block of fragment.children) block.setAttribute("dir", "auto"); // each in the direction of its own script
  for (const link of fragment.querySelectorAll("a")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  for (const pre of fragment.querySelectorAll("pre")) {
    const code = pre.querySelector("code");
    const language = /language-(\S+)/.exec(code?.className ?? "")?.[1] ?? "";
    const frame = el("div", { class: "code", dir: "ltr" });
    pre.tabIndex = 0; // it may scroll sideways
    pre.replaceWith(frame);
    const copy = copyButton(() => pre.textContent ?? "", "Copy code");
    frame.append(el("div", { class: "code-head" }, el("span", {}, language), copy), pre);
  }
  for (const table of fragment.querySelectorAll("table")) {
    const frame = el("div", { class: "table", tabIndex: 0, role: "group", "aria-label": "Table", dir: "auto" });
    table.replaceWith(frame);
    table.removeAttribute("dir"); // it would hide its text from the frame's "auto"
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
