/** The one error class of the page: a stable code, words for a person, what to do, and details. */

/** What crosses: the fields of a Python AgrunError or of a run's `error`. @typedef {{code: string, message: string, hint?: string, details?: Record<string, unknown>}} ErrorFields */

export class AgrunError extends Error {
  /** @param {ErrorFields} fields @param {{cause?: unknown}} [options] */
  constructor({ code, message, hint = "", details = {} }, options) {
    super(message, options);
    this.name = "AgrunError";
    this.code = code;
    this.hint = hint;
    this.details = details;
  }
}

/**
 * What an error of the page's own code (an action, a provider) tells Python: no stack, its words and, where it has them, its code and details.
 * @param {unknown} error
 * @returns {Record<string, unknown>}
 */
export function errorFields(error) {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, code, hint, status, retryAfterMs, details } = /** @type {any} */ (error);
  return { name, message, code, hint, status, retryAfterMs, details };
}
