/**
 * JSON at the border: the only module of the page that turns values into the text that crosses, and back.
 *
 * - `undefined` is left out, `null` is Python's None.
 * - JSON has one number, JS cannot hold every integer of Python: one beyond 2^53 - 1 arrives as a string of its digits,
 *   and a BigInt is sent as one. Nothing is ever rounded.
 * - A run's state is the exception: it must come back digit for digit, so it crosses as text of its own, and where the
 *   browser can (JSON.rawJSON) its large integers stay numbers for `JSON.stringify`.
 * - Functions become references that the other side can call.
 */

/** Key of a reference to a function of the page. */
export const FUNCTION_KEY = "$function";
/** Key of a value that crosses as JSON text of its own. */
const TEXT_KEY = "$text";

/** No text of a state begins with it. */
const MARK = "\u0000integer:";
const LARGE_INTEGER = /"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g;

/** The exact text of states that came from Python, so that they go back as they came. @type {WeakMap<object, string>} */
const exactTexts = new WeakMap();

/**
 * @param {unknown} value
 * @param {(fn: Function) => unknown} [reference] what stands for a function; without it functions are refused
 * @returns {string}
 */
export function toText(value, reference) {
  return JSON.stringify(value, function (key, item) {
    if (typeof item === "bigint") return wholeNumber(item);
    if (typeof item !== "function") return item;
    if (!reference) throw new TypeError(`a function cannot cross to Python (key ${JSON.stringify(key)})`);
    return reference(item);
  });
}

/**
 * @param {string} text
 * @returns {any}
 */
export function fromText(text) {
  return JSON.parse(text, text.includes(TEXT_KEY) ? reviveTexts : undefined);
}

/**
 * The text of a state: exactly the one that came from Python, where it is one and was not changed.
 * @param {unknown} state
 * @returns {string}
 */
export function stateText(state) {
  const text = toText(state);
  const exact = typeof state === "object" && state !== null ? exactTexts.get(state) : undefined;
  return exact !== undefined && toText(parseExact(exact)) === text ? exact : text;
}

/**
 * A state from its text, to be looked at and given back.
 * @param {string} text
 * @returns {any}
 */
export function stateFromText(text) {
  const parsed = parseExact(text);
  if (typeof parsed === "object" && parsed !== null) exactTexts.set(parsed, text);
  return parsed;
}

/** @param {bigint} value */
function wholeNumber(value) {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

/** @param {string} _key @param {any} value */
function reviveTexts(_key, value) {
  if (value === null || typeof value !== "object" || typeof value[TEXT_KEY] !== "string") return value;
  return stateFromText(value[TEXT_KEY]);
}

/**
 * JSON in which integers that JS cannot hold keep their digits.
 * @param {string} text
 * @returns {any}
 */
function parseExact(text) {
  let marked = false;
  const safe = text.replace(LARGE_INTEGER, (token) => {
    if (token.startsWith('"') || Number.isSafeInteger(Number(token))) return token;
    marked = true;
    return JSON.stringify(MARK + token);
  });
  if (!marked) return JSON.parse(text);
  return JSON.parse(safe, (_key, value) =>
    typeof value === "string" && value.startsWith(MARK) ? exactInteger(value.slice(MARK.length)) : value,
  );
}

/** @param {string} digits */
function exactInteger(digits) {
  const { rawJSON } = /** @type {{rawJSON?: (text: string) => unknown}} */ (/** @type {unknown} */ (JSON));
  return rawJSON ? rawJSON(digits) : digits;
}
