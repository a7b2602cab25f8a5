// A LanguageModel as Chrome's: its states, its checks of arguments and their errors, streams of pieces, a context counted in
// tokens (4 characters each). `L.replies` is what the model says, in order; `L.seen` what it was asked.
window.L = {
  replies: [],
  seen: { availability: [], created: [], prompts: [], constraints: [], aborted: 0, live: 0, overflows: 0 },
  state: "available",
  window: 9216,
  activated: true,
  pause: 0,
  tokens: (text) => Math.ceil(text.length / 4),
  /** Ends a download that hangs: `L.progress(share)` moves it. */
  progress: () => {},
};
{
  const ROLES = ["system", "user", "assistant"];
  const TYPES = ["text", "image", "audio", "tool-call", "tool-response"];
  const inside = Symbol("made by create");

  class QuotaExceeded extends DOMException {
    constructor(message, { requested, quota }) {
      super(message, "QuotaExceededError");
      this.requested = requested;
      this.quota = quota;
    }
  }

  const expected = (list = []) => {
    for (const { type, languages = [] } of list) {
      if (!TYPES.includes(type)) throw new TypeError(`The provided value '${type}' is not a valid enum value of type LanguageModelMessageType.`);
      for (const tag of languages) new Intl.Locale(tag); // RangeError for what is no tag
    }
    return ["text", ...list.map(({ type }) => type)];
  };

  const longhand = (input, types, hasInput) => {
    if (typeof input === "string") return [{ role: "user", content: [{ type: "text", value: input }] }];
    return [...input].map(({ role, content, prefix = false }, at, all) => {
      if (!ROLES.includes(role)) throw new TypeError(`The provided value '${role}' is not a valid enum value of type LanguageModelMessageRole.`);
      if (content === undefined) throw new TypeError("Required member is undefined.");
      if (prefix && (role !== "assistant" || at < all.length - 1)) throw new DOMException("prefix", "SyntaxError");
      if (role === "system" && (hasInput || at > 0)) throw new TypeError("The system prompt must be the first message.");
      const parts = typeof content === "string" ? [{ type: "text", value: content }] : [...content];
      for (const { type, value } of parts) {
        if (!types.includes(type) || (role === "assistant" && type !== "text")) throw new DOMException(`${type} is not supported`, "NotSupportedError");
        if (type === "text" && typeof value !== "string") throw new TypeError("The value must be a string.");
        if (type === "image" && !(value instanceof Blob)) throw new TypeError("The value must be an image.");
      }
      return { role, content: parts };
    });
  };
  const size = (messages) =>
    messages.flatMap(({ content }) => content).reduce((sum, { type, value }) => sum + (type === "text" ? L.tokens(value) : 256), 0);

  const checkSignal = (signal) => {
    if (signal !== undefined && !(signal instanceof AbortSignal)) throw new TypeError("member signal is not of type AbortSignal.");
    signal?.throwIfAborted();
  };

  /** Does a value fit the schema? Keywords that are not known here are refused, as a constrained decoder does. */
  const KNOWN = ["type", "properties", "required", "additionalProperties", "const", "enum", "items", "anyOf", "$ref", "$defs", "description"];
  const check = (schema, root = schema) => {
    for (const key of Object.keys(schema)) if (!KNOWN.includes(key)) throw new DOMException(`${key} is not supported in a responseConstraint`, "NotSupportedError");
    if (schema.$ref && !root.$defs?.[schema.$ref.split("/").at(-1)]) throw new DOMException(`${schema.$ref} leads nowhere`, "NotSupportedError");
    for (const part of [...(schema.anyOf ?? []), ...Object.values(schema.properties ?? {}), ...Object.values(schema.$defs ?? {}), ...(schema.items ? [schema.items] : [])]) check(part, root);
  };
  const fits = (value, schema, root = schema) => {
    if (schema.$ref) return fits(value, root.$defs[schema.$ref.split("/").at(-1)], root);
    if (schema.anyOf) return schema.anyOf.some((part) => fits(value, part, root));
    if ("const" in schema) return value === schema.const;
    if (schema.enum && !schema.enum.includes(value)) return false;
    const kind = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
    if (schema.type === "integer" ? !Number.isInteger(value) : schema.type && schema.type !== kind) return false;
    if (kind === "array" && schema.items) return value.every((item) => fits(item, schema.items, root));
    if (kind !== "object") return true;
    const known = schema.properties ?? {};
    return (schema.required ?? []).every((key) => key in value)
      && Object.entries(value).every(([key, item]) => (key in known ? fits(item, known[key], root) : schema.additionalProperties !== false));
  };
  /** The least JSON that fits: what a model that would have said something else is held to. */
  const least = (schema, root = schema) => {
    if (schema.$ref) return least(root.$defs[schema.$ref.split("/").at(-1)], root);
    if (schema.anyOf) return least(schema.anyOf.at(-1), root);
    if ("const" in schema) return schema.const;
    if (schema.enum) return schema.enum[0];
    if (schema.type === "object") return Object.fromEntries((schema.required ?? []).map((key) => [key, least(schema.properties[key], root)]));
    return { string: "held", array: [], boolean: false, integer: 0, number: 0 }[schema.type] ?? null;
  };
  L.fits = fits;

  const availabilityOf = (options) => {
    const types = [...expected(options.expectedInputs), ...expected(options.expectedOutputs)];
    if (("temperature" in options) !== ("topK" in options)) throw new DOMException("Initializing a new session must either specify both topK and temperature, or neither of them.", "NotSupportedError");
    return types.some((type) => !["text", "image"].includes(type)) ? "unavailable" : L.state;
  };

  window.LanguageModel = class LanguageModel extends EventTarget {
    #messages;
    #types;
    #usage;
    #ended = new AbortController();

    constructor(key, messages, types, usage) {
      if (key !== inside) throw new TypeError("Illegal constructor");
      super();
      this.#messages = messages;
      this.#types = types;
      this.#usage = usage;
      L.seen.live += 1;
    }

    static async availability(options = {}) {
      L.seen.availability.push(options);
      return availabilityOf(options);
    }

    static async create(options = {}) {
      checkSignal(options.signal);
      const { initialPrompts = [], monitor, signal, ...rest } = options;
      L.seen.created.push({ initialPrompts, ...rest });
      const availability = availabilityOf(rest);
      const types = expected(rest.expectedInputs);
      const messages = longhand(initialPrompts, types, false);
      if (availability === "unavailable") throw new DOMException("The device is unable to create a session to run the model.", "NotSupportedError");
      if (availability !== "available") {
        if (!L.activated && !navigator.userActivation.isActive) throw new DOMException("Requires a user gesture when availability is \"downloading\" or \"downloadable\".", "NotAllowedError");
        L.state = "downloading";
        const target = new EventTarget();
        monitor?.(target);
        const tell = (loaded) => target.dispatchEvent(new ProgressEvent("downloadprogress", { lengthComputable: true, loaded, total: 1 }));
        await new Promise((resolve, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason));
          L.progress = (loaded, error) => (error ? reject(error) : (tell(loaded), loaded === 1 && resolve()));
          tell(0);
        });
        L.state = "available";
      }
      const usage = size(messages);
      if (usage > L.window) throw new QuotaExceeded("The initial prompts are too large.", { requested: usage, quota: L.window });
      const session = new LanguageModel(inside, messages, types, usage);
      signal?.addEventListener("abort", () => session.destroy());
      return session;
    }

    get contextUsage() { return this.#usage; }
    get contextWindow() { return L.window; }

    async measureContextUsage(input, { signal, responseConstraint, omitResponseConstraintInput = false } = {}) {
      this.#alive(signal);
      const messages = longhand(input, this.#types, this.#messages.length > 0);
      return size(messages) + (responseConstraint && !omitResponseConstraintInput ? L.tokens(JSON.stringify(responseConstraint)) : 0);
    }

    promptStreaming(input, { signal, responseConstraint, omitResponseConstraintInput = false } = {}) {
      checkSignal(signal);
      if (omitResponseConstraintInput && !responseConstraint) throw new TypeError("omitResponseConstraintInput without responseConstraint");
      const stop = AbortSignal.any([this.#ended.signal, ...(signal ? [signal] : [])]);
      const session = this;
      const pieces = async function* () {
        const messages = longhand(input, session.#types, session.#messages.length > 0);
        const requested = session.#usage + (await session.measureContextUsage(input, { responseConstraint, omitResponseConstraintInput }));
        if (requested > L.window) {
          L.seen.overflows += 1;
          session.dispatchEvent(new Event("contextoverflow"));
          throw new QuotaExceeded("The input is too large.", { requested, quota: L.window });
        }
        L.seen.prompts.push([...session.#messages, ...messages]);
        L.seen.constraints.push(responseConstraint ?? null);
        session.#usage = requested;
        const reply = L.replies.shift() ?? { text: "nothing left to say" };
        if (reply.throw) throw new DOMException(reply.throw.message, reply.throw.name);
        let text = reply.text ?? JSON.stringify(reply.json);
        if (responseConstraint) {
          check(responseConstraint);
          let value;
          try { value = JSON.parse(text); } catch { /* prose */ }
          if (value === undefined || !fits(value, responseConstraint)) text = JSON.stringify(least(responseConstraint));
        }
        for (const piece of text.match(/.{1,7}/gsu) ?? []) {
          session.#usage += L.tokens(piece);
          yield piece;
          await new Promise((resolve) => setTimeout(resolve, reply.pause ?? 0));
        }
        if (reply.hang) await new Promise(() => {});
      };
      const source = pieces();
      let finished = false;
      return new ReadableStream({
        start: (controller) => stop.addEventListener("abort", () => { if (!finished) L.seen.aborted += 1; controller.error(stop.reason); }),
        async pull(controller) {
          try {
            const { done, value } = await source.next();
            if (stop.aborted) return;
            finished = done;
            if (done) controller.close();
            else controller.enqueue(value);
          } catch (error) {
            if (!stop.aborted) controller.error(error);
          }
        },
      });
    }

    async clone({ signal } = {}) {
      this.#alive(signal);
      return new LanguageModel(inside, this.#messages, this.#types, this.#usage);
    }

    destroy() {
      if (this.#ended.signal.aborted) return;
      L.seen.live -= 1;
      this.#ended.abort(new DOMException("The session has been destroyed.", "AbortError"));
    }

    #alive(signal) {
      checkSignal(signal);
      if (this.#ended.signal.aborted) throw new DOMException("The model execution session has been destroyed.", "InvalidStateError");
    }
  };
}
