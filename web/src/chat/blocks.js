/**
 * Where a growing Markdown text falls into blocks, a window at a time: blocks that no later text can change are settled
 * and never parsed again, and a block larger than the window is cut where its kind allows. So the cost of a piece of text
 * does not grow with the text before it. Must not know how a block is rendered.
 */

/** @typedef {import("markdown-it").Token} Token */
/** Where to go on: an offset of the text, and lines to repeat before it (a table's head, a fence's opening). @typedef {{at: number, prefix: string}} Position */
/** @typedef {{blocks: Token[][], continues: boolean, settled: number, next: Position, done: boolean}} Read `continues`: the first block goes on with the one before it */

/** @type {Position} */
export const START = { at: 0, prefix: "" };

const WINDOW = 6_000;

/**
 * The blocks from `position` on, as far as one window goes. `done`: the window reached the end of the text.
 * @param {string} text @param {Position} position @param {(source: string) => Token[]} parse @param {boolean} ended is this the whole text?
 * @returns {Read}
 */
export function readBlocks(text, position, parse, ended) {
  const { at, prefix } = position;
  const end = windowEnd(text, at, WINDOW);
  const source = prefix + text.slice(at, end);
  const parsed = blocksOf(parse(source));
  const blocks = prefix && parsed[0] && isEmpty(parsed[0]) ? parsed.slice(1) : parsed;
  const continues = prefix !== "" && blocks.length === parsed.length;
  const done = end === text.length;
  if ((done && ended) || blocks.length === 0) {
    const next = done && !ended ? position : { at: end, prefix: "" };
    return { blocks, continues, settled: blocks.length, next, done };
  }
  if (!done && blocks.length === 1) return { continues, ...cut(text, position, parse, { end, source, block: blocks[0] }) };
  const settled = settledCount(blocks, source, done);
  const next = settled === 0 ? position : { at: at - prefix.length + lineStart(source, startOf(blocks[settled])), prefix: "" };
  return { blocks: done ? blocks : blocks.slice(0, settled), continues, settled, next, done };
}

/** The end of a window: of the text, else of a line, else of a word. @param {string} text @param {number} at @param {number} size */
function windowEnd(text, at, size) {
  const most = at + size;
  if (most >= text.length) return text.length;
  for (const border of ["\n", " "]) {
    const place = text.lastIndexOf(border, most - 1);
    if (place > at) return place + 1;
  }
  return /[\uD800-\uDBFF]/.test(text[most - 1]) ? most - 1 : most;
}

/** All but the last block, which may go on; and not what the last, unfinished line only seems to have ended. @param {Token[][]} blocks @param {string} source @param {boolean} done */
function settledCount(blocks, source, done) {
  if (blocks.length === 0) return 0;
  const unfinished = done && !source.endsWith("\n") && lineStart(source, startOf(blocks[blocks.length - 1])) > source.lastIndexOf("\n");
  return Math.max(0, blocks.length - (unfinished ? 2 : 1));
}

/**
 * One block that is larger than a window, up to where it can be parted.
 * @param {string} text @param {Position} position @param {(source: string) => Token[]} parse @param {{end: number, source: string, block: Token[]}} large
 * @returns {Omit<Read, "continues">}
 */
function cut(text, position, parse, { end, source, block }) {
  const [{ type }] = block;
  if (type === "table_open") return piece(block, { at: end, prefix: position.prefix || source.split("\n", 2).join("\n") + "\n" });
  if (type === "fence") return piece(block, { at: end, prefix: position.prefix || source.split("\n", 1)[0] + "\n" });
  const inner = block.filter((token) => token.level === 1 && token.nesting >= 0 && token.map && token.map[0] > startOf(block));
  const last = inner[inner.length - 1];
  if (!last) return piece(block, { at: end, prefix: "" });
  const at = position.at - position.prefix.length + lineStart(source, startOf([last]));
  const [whole] = blocksOf(parse(text.slice(position.at, at)));
  return piece(whole, { at, prefix: "" });
}

/** @param {Token[]} block @param {Position} next @returns {Omit<Read, "continues">} */
function piece(block, next) {
  return { blocks: [block], settled: 1, next, done: false };
}

/** A table's head or a fence's opening that was only repeated: nothing follows it. @param {Token[]} block */
function isEmpty(block) {
  if (block[0].type === "fence") return block[0].content === "";
  return block[0].type === "table_open" && !block.some(({ type }) => type === "tbody_open");
}

/** The tokens of each top-level block. @param {Token[]} tokens @returns {Token[][]} */
function blocksOf(tokens) {
  /** @type {Token[][]} */
  const blocks = [];
  let depth = 0;
  for (const token of tokens) {
    if (depth === 0) blocks.push([]);
    blocks[blocks.length - 1].push(token);
    depth += token.nesting;
  }
  return blocks;
}

/** The line a block starts on. @param {Token[]} block */
function startOf([{ map }]) {
  return map ? map[0] : 0;
}

/** Offset of a line. @param {string} source @param {number} line */
function lineStart(source, line) {
  let at = 0;
  for (; line > 0; line--) at = source.indexOf("\n", at) + 1;
  return at;
}
