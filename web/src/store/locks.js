/** One writer for each session among all tabs of the origin, by Web Locks. */

/**
 * Takes a session's turn: yields whether it has it, and keeps it until the signal aborts, which is when its run is over
 * or its Python is gone. Where the browser has no Web Locks for this page (it is not served securely, or sandboxed)
 * everybody has it: the revisions still keep one tab from overwriting another.
 * @param {string} name @param {boolean} wait @param {AbortSignal} signal
 * @returns {AsyncGenerator<boolean, void, void>}
 */
export async function* holdTurn(name, wait, signal) {
  const release = navigator.locks ? await take(name, wait, signal) : () => {};
  if (!release) {
    yield false;
    return;
  }
  try {
    yield true;
    await aborted(signal);
  } finally {
    release();
  }
}

/** Is somebody driving a run of this session, here or in another tab? @param {string} name */
export async function isTaken(name) {
  const { held = [] } = (await navigator.locks?.query().catch(() => null)) ?? {};
  return held.some((lock) => lock.name === name);
}

/** @param {string} name @param {boolean} wait @param {AbortSignal} signal @returns {Promise<(() => void) | null>} */
function take(name, wait, signal) {
  return new Promise((resolve, reject) => {
    const options = wait ? { signal } : { ifAvailable: true };
    navigator.locks
      .request(name, options, (lock) => {
        if (!lock) return resolve(null);
        return new Promise((release) => resolve(() => release(undefined)));
      })
      .catch((error) => (signal.aborted ? reject(error) : resolve(() => {}))); // refused here, as in a sandboxed frame
  });
}

/** @param {AbortSignal} signal @returns {Promise<void>} */
function aborted(signal) {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
