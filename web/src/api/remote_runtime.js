/**
 * An agent that a server drives (`agrun serve`): the face of Runtime, without Python in the page.
 *
 * A run goes on when its page is gone. Its state stays at the server, so that a result has none: `resume` takes a run's id.
 */

import { AgrunError } from "./errors.js";
import { Run } from "./run.js";
import { serverEvents } from "./server_events.js";
import { closedError, ServerLink } from "./server_link.js";

/** @typedef {import("./runtime.js").RunInput} RunInput */
/** @typedef {import("./runtime.js").ApprovalDecision} ApprovalDecision */
/** @typedef {import("./run.js").StopMode} StopMode */
/** @typedef {import("../border/channel.js").RunListener} RunListener */

/** Streams in a row that end without having told anything, before the run is given up. */
const EMPTY_STREAMS = 8;

/**
 * @param {{endpoint: string, token?: import("./server_link.js").Token}} options `endpoint` as `/v1`, or the URL of one;
 *   `token` is asked for at each request, and kept nowhere
 */
export async function createRemoteRuntime({ endpoint, token }) {
  if (typeof endpoint !== "string" || !endpoint) {
    throw new AgrunError({ code: "CONFIG_INVALID", message: "createRemoteRuntime: 'endpoint' must be a URL", hint: 'For example endpoint: "/v1".' });
  }
  return new RemoteRuntime(new ServerLink(endpoint, token));
}

export class RemoteRuntime {
  #link;
  /** The last event seen of a run. @type {Map<string, number>} */
  #seen = new Map();

  /** @param {ServerLink} link */
  constructor(link) {
    this.#link = link;
  }

  get storage() {
    return null;
  }

  get builtInModel() {
    return null;
  }

  /** @param {RunInput} input */
  run(input) {
    return this.#start(input);
  }

  /** A conversation that the server keeps: its runs see the turns before them. @param {string} id */
  session(id) {
    return { id, run: (/** @type {RunInput} */ input) => this.#start(input, id) };
  }

  /**
   * Go on with a run that waits.
   * @param {string} runId @param {Record<string, ApprovalDecision>} [decisions] by approval id
   * @param {{extend?: {maxSteps?: number, runDeadlineMs?: number, maxCostUsd?: number}}} [options]
   */
  resume(runId, decisions = {}, { extend } = {}) {
    return this.#drive(async () => {
      const path = `/runs/${encodeURIComponent(runId)}/decisions`;
      await this.#link.ask(path, { body: { decisions, ...(extend ? { extend } : {}) }, once: true });
      return runId;
    });
  }

  /** @returns {Promise<any>} */
  async describeComposition() {
    throw notTold("describeComposition");
  }

  /** @param {RunInput} _input @returns {Promise<any>} */
  async inspectPrompt(_input) {
    throw notTold("inspectPrompt");
  }

  /** Ends what is read here; the runs go on. */
  async close() {
    this.#link.close();
  }

  /** @param {RunInput} input @param {string} [session] */
  #start(input, session) {
    const headers = { "idempotency-key": crypto.randomUUID() }; // asked for twice, it is one run
    return this.#drive(async () => {
      const answer = await this.#link.ask("/runs", { body: { input, ...(session ? { session } : {}) }, headers });
      return (await answer.json()).runId;
    });
  }

  /** @param {() => Promise<string>} begin gives the run's id */
  #drive(begin) {
    return new Run((listener) => {
      const begun = begin();
      begun.then((runId) => this.#follow(runId, listener)).catch((error) => listener.failed(error));
      return (/** @type {StopMode} */ how) => {
        begun.then((runId) => this.#link.ask(`/runs/${encodeURIComponent(runId)}/stop`, { body: { how } })).catch(() => {}); // the stream says how it ended
      };
    });
  }

  /** Reads a run to its next end, through as many streams as it takes. @param {string} runId @param {RunListener} listener */
  async #follow(runId, listener) {
    const path = `/runs/${encodeURIComponent(runId)}/events`;
    for (let empty = 0; empty < EMPTY_STREAMS; empty++) {
      if (empty > 0) await this.#link.wait(empty);
      const headers = { accept: "text/event-stream", "last-event-id": String(this.#seen.get(runId) ?? 0) };
      const answer = await this.#link.ask(path, { headers });
      try {
        for await (const { event, id, data } of serverEvents(/** @type {ReadableStream<Uint8Array>} */ (answer.body))) {
          if (event === "step" || event === "delta") {
            empty = -1; // the next stream is no try in vain
            this.#seen.set(runId, Number(id));
            listener.events([JSON.parse(data)]);
          } else if (event === "result") return listener.result(JSON.parse(data).result);
        }
      } catch (error) {
        if (this.#link.isClosed) throw closedError();
        if (!(error instanceof TypeError)) throw error; // what a broken connection is, in every browser
      }
    }
    throw new AgrunError({ code: "NETWORK_OR_CORS", message: "the server's stream of this run ends again and again", hint: "The run itself goes on; look at the server's log." });
  }
}

/** @param {string} what */
function notTold(what) {
  return new AgrunError({ code: "NOT_TOLD", message: `${what}: the server does not tell what its runs are made of`, hint: "Run `agrun describe` or `agrun inspect-prompt` there." });
}
