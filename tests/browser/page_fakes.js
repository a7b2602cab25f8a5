// What the tests' pages share: a model of the page that plays replies, and short ways to run and collect.
window.T = {
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),

  /** A provider that plays replies in order: `{text}`, `{calls: [{name, args | argsText}]}`, `{throw: {...}}`, `{hang: true}`. */
  model(replies) {
    const left = [...replies];
    const seen = { requests: [], aborted: 0 };
    return {
      seen,
      async *stream(request, { signal }) {
        seen.requests.push(request);
        signal.addEventListener("abort", () => seen.aborted++);
        const reply = left.shift() ?? { text: "nothing left to say" };
        if (reply.throw) throw Object.assign(new Error(reply.throw.message), reply.throw);
        for (const piece of reply.text?.match(/.{1,4}/gs) ?? []) {
          yield { type: "text-delta", text: piece };
          if (reply.pause) await T.sleep(reply.pause);
        }
        if (reply.hang) await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        let number = 0;
        for (const call of reply.calls ?? []) yield { type: "tool-call", id: `call-${seen.requests.length}-${number++}`, ...call };
        yield { type: "finished", reason: reply.calls ? "tool_calls" : "stop", usage: { inputTokens: 3, outputTokens: 2 } };
      },
    };
  },

  async agent(replies, options = {}) {
    const model = T.model(replies);
    const agent = await Agrun.createRuntime({ provider: "fake:test", providers: { fake: model }, snapshot: "off", ...options });
    return Object.assign(agent, { model });
  },

  async events(run) {
    const events = [];
    for await (const event of run) events.push(event);
    return events;
  },

  /** What a promise fails with, as plain data. */
  async error(work) {
    try {
      await (typeof work === "function" ? work() : work);
    } catch (error) {
      const { name, code, message, hint, details } = error;
      return { name, code, message, hint, details };
    }
    return null;
  },
};
