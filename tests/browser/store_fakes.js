// What the tests of stores share: a model that answers by the request alone, actions that count on the page's side, and
// ways to kill the worker and to look at what is kept.
window.S = {
  /** A snapshot made before: these tests start Python over and over. */
  snapshot: "off",

  /** What was done, over reloads and tabs. */
  log: (line) => localStorage.setItem("log", JSON.stringify([...S.logged(), line])),
  logged: () => JSON.parse(localStorage.getItem("log") ?? "[]"),

  /** A provider whose n-th turn is the one after n replies of its own: asked again, it says the same again. */
  model(turns) {
    return {
      async *stream({ messages }, { signal }) {
        const turn = messages.filter(({ role }) => role === "assistant").length;
        const { text = "", calls = [], hang = false } = turns[Math.min(turn, turns.length - 1)];
        S.log(`asked ${turn}`);
        for (const piece of text.match(/.{1,4}/gs) ?? []) yield { type: "text-delta", text: piece };
        if (hang) await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        for (const [at, call] of calls.entries()) yield { type: "tool-call", id: `call-${turn}-${at}`, ...call };
        yield { type: "finished", reason: calls.length ? "tool_calls" : "stop" };
      },
    };
  },

  note: {
    name: "note", description: "Notes.", tier: 0, argsSchema: { n: { type: "integer", required: true } },
    permission: { effect: "external_write", isConcurrencySafe: true },
    execute: async ({ n }) => { S.log(`note ${n}`); return { noted: n }; },
  },
  order: {
    name: "order", description: "Orders.", tier: 1, argsSchema: { sku: { type: "string", required: true } },
    permission: { effect: "external_write" },
    execute: async ({ sku }) => { S.log(`order ${sku}`); return { ordered: sku }; },
  },
  /** Does not end before `S.go()`. */
  wait: {
    name: "wait", description: "Waits.", tier: 0, argsSchema: {}, permission: { effect: "external_write" },
    execute: () => { S.log("wait"); return new Promise((go) => (S.go = () => go({ waited: true }))); },
  },

  async agent(turns, options = {}) {
    const fixed = { provider: "fake:test", providers: { fake: S.model(turns) }, actions: [S.note, S.order, S.wait], store: "indexeddb", snapshot: S.snapshot };
    return Agrun.createRuntime({ ...fixed, ...options });
  },

  /** Iterates without stopping the run at the end. */
  async *follow(run) {
    const events = run[Symbol.asyncIterator]();
    for (;;) {
      const { done, value } = await events.next();
      if (done) return;
      yield value;
    }
  },
  until: async (condition) => { while (!(await condition())) await T.sleep(10); },

  /** Every worker from here on is killed at its n-th message: before it is heard, or as it is to be answered. */
  killAt(number, moment) {
    const Real = S.RealWorker ??= Worker;
    window.Worker = class extends Real {
      #heard = 0;
      #armed = false;
      constructor(...args) {
        super(...args);
        S.worker = this;
        this.addEventListener("message", (event) => {
          if (typeof event.data !== "string") return;
          S.heard = this.#heard += 1;
          if (this.#heard !== number) return;
          if (moment === "answered") return void (this.#armed = true);
          event.stopImmediatePropagation();
          S.kill();
        });
      }
      postMessage(...args) {
        if (!this.#armed) return super.postMessage(...args);
        this.#armed = false;
        S.kill();
      }
    };
    S.killed = new Promise((resolve) => (S.kill = () => { S.worker.terminate(); resolve(true); }));
  },
  spareWorkers() {
    window.Worker = S.RealWorker ?? Worker;
  },

  /** Makes the browser refuse: `open` of any database, or each `put` from a call on. */
  refuseOpen(message = "refused") {
    IDBFactory.prototype.open = () => { throw new DOMException(message, "SecurityError"); };
  },
  refusePuts(table) {
    const put = IDBObjectStore.prototype.put;
    IDBObjectStore.prototype.put = function (...args) {
      if (!table || this.name === table) throw new DOMException("the disk is full", "QuotaExceededError");
      return put.apply(this, args);
    };
  },
};
