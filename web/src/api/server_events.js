/** Server-sent events read from a fetch: what EventSource does, with headers of one's own. Knows nothing of runs. */

/** @typedef {{event: string, id: string, data: string}} ServerEvent */

/**
 * The events of a body, each once it is whole; an unfinished one at the end is left out.
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<ServerEvent, void, void>}
 */
export async function* serverEvents(body) {
  const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  let rest = "";
  let event = blank();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop() ?? "";
      for (const written of lines) {
        const line = written.endsWith("\r") ? written.slice(0, -1) : written;
        if (line !== "") takeLine(event, line);
        else {
          if (event.data !== "") yield { ...event, data: event.data.slice(0, -1) };
          event = blank();
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** @returns {ServerEvent} */
function blank() {
  return { event: "message", id: "", data: "" };
}

/** @param {ServerEvent} event @param {string} line */
function takeLine(event, line) {
  const colon = line.indexOf(":");
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
  if (name === "data") event.data += `${value}\n`;
  else if (name === "event") event.event = value;
  else if (name === "id") event.id = value;
}
