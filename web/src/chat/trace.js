/**
 * The trace of one turn: what the run did, how long each step took, what it cost where that is known, and of which
 * sections its prompt was made. Elements are made only while the panel is open, and then a few times a second at most.
 */

import { duration, el, icon } from "./dom.js";
import { TraceModel } from "./trace-model.js";

/** @typedef {import("./trace-model.js").Cycle} Cycle */
/** @typedef {import("./trace-model.js").Entry} Entry */
/** @typedef {{composition: any, prompt: any}} Inspected */

const REFRESH_MS = 300;
const MARKS = { running: () => el("span", { class: "spinner" }), ok: () => icon("check"), failed: () => icon("warning"), point: () => el("span", { class: "dot" }) };
const STATE_WORDS = { running: "running", ok: "done", failed: "failed", point: "" };
const number = new Intl.NumberFormat("en");

export class Trace {
  #model = new TraceModel();
  #facts = el("dl", { class: "trace-facts" });
  #cycles = el("div", { class: "trace-cycles" });
  #prompt = el("div", { class: "trace-prompt" });
  element = el("section", { class: "panel trace", part: "trace", role: "group", "aria-label": "Trace" }, this.#facts, this.#cycles, this.#prompt);
  #inspect;
  /** @type {any} */
  #usage = null;
  #dirty = false;
  #isInspected = false;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #timer;

  /** @param {() => Promise<Inspected>} inspect what the prompt is made of */
  constructor(inspect) {
    this.#inspect = inspect;
  }

  /** @param {any} event */
  take(event) {
    this.#model.take(event);
    this.#dirty = true;
  }

  /** @param {any} result the RunResult */
  end(result) {
    this.#usage = result.usage;
    this.#dirty = true;
    this.#render();
  }

  /** How long it took, for whoever opens it. */
  get label() {
    const { startedAt, endedAt } = this.#model;
    return startedAt === null ? "Trace" : `Trace, ${duration(endedAt - startedAt)}`;
  }

  /** @param {boolean} open */
  toggle(open) {
    clearInterval(this.#timer);
    if (!open) return;
    this.#dirty = true;
    this.#render();
    this.#timer = setInterval(() => this.#render(), REFRESH_MS);
    if (!this.#isInspected) void this.#showPrompt();
  }

  #render() {
    if (!this.#dirty || this.element.hidden) return;
    this.#dirty = false;
    const { cycles, startedAt, endedAt, steps, mode } = this.#model;
    const calls = cycles.flatMap(({ entries }) => entries).filter(({ kind }) => kind === "model").length;
    this.#facts.replaceChildren(...factList(this.#usage, { ms: endedAt - (startedAt ?? endedAt), steps, calls, cycles: cycles.filter((cycle) => cycle.number > 0).length, mode }));
    const longest = Math.max(1, endedAt - (startedAt ?? endedAt));
    const shown = cycles.filter((cycle) => cycle.entries.length > 0);
    this.#cycles.replaceChildren(...shown.map((cycle) => cycleView(cycle, startedAt ?? 0, longest, endedAt)));
  }

  async #showPrompt() {
    this.#isInspected = true;
    this.#prompt.replaceChildren(el("p", { class: "trace-title" }, "Prompt"), el("p", { class: "trace-remark" }, "Asking the runtime …"));
    try {
      this.#prompt.replaceChildren(...promptView(await this.#inspect()));
    } catch (error) {
      this.#isInspected = false;
      this.#prompt.lastElementChild?.replaceChildren(`The runtime did not say: ${/** @type {Error} */ (error).message}`);
    }
  }
}

/** @param {any} usage @param {{ms: number, steps: number, calls: number, cycles: number, mode: string}} counted */
function factList(usage, { ms, steps, calls, cycles, mode }) {
  const tokens = (/** @type {number | null | undefined} */ count) => (count === null || count === undefined ? "not told" : number.format(count));
  /** @type {[string, string][]} */
  const facts = [
    ["Time", duration(ms)],
    ["Cycles", String(cycles)],
    ["Model calls", String(usage?.modelCalls ?? calls)],
    ["Steps", String(steps)],
    ["Tokens in", tokens(usage?.inputTokens)],
    ["Tokens out", tokens(usage?.outputTokens)],
  ];
  if (usage?.cachedInputTokens) facts.push(["From cache", tokens(usage.cachedInputTokens)]);
  if (usage?.reasoningTokens) facts.push(["Reasoning", tokens(usage.reasoningTokens)]);
  if (typeof usage?.costUsd === "number") facts.push(["Cost", `$${usage.costUsd.toFixed(4)}`]);
  if (mode) facts.push(["Planner", mode.replace("_", " ")]);
  return facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", { class: value === "not told" ? "unknown" : "" }, value)));
}

/** @param {Cycle} cycle @param {number} zero @param {number} longest @param {number} now */
function cycleView(cycle, zero, longest, now) {
  const ms = (cycle.endedAt ?? now) - cycle.startedAt;
  const title = cycle.number === 0 ? "Before the first cycle" : `Cycle ${cycle.number}`;
  return el(
    "div",
    { class: "trace-cycle" },
    el("p", { class: "trace-title" }, title, el("span", {}, [cycle.outcome, duration(ms)].filter(Boolean).join(" · "))),
    el("ul", {}, ...cycle.entries.map((entry) => entryView(entry, zero, longest, now))),
  );
}

/** @param {Entry} entry @param {number} zero @param {number} longest @param {number} now */
function entryView(entry, zero, longest, now) {
  const ms = (entry.endedAt ?? now) - entry.startedAt;
  const bar = el("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--from", String((entry.startedAt - zero) / longest));
  bar.style.setProperty("--share", String(ms / longest));
  const first = entry.firstAt === null ? "" : `began after ${duration(entry.firstAt - entry.startedAt)}`;
  const detail = [entry.detail, first].filter(Boolean).join(" · ");
  return el(
    "li",
    { "data-state": entry.state, "data-kind": entry.kind },
    el("span", { class: "mark" }, MARKS[entry.state]()),
    el("span", { class: "trace-label" }, entry.label),
    el("span", { class: "trace-detail" }, detail),
    el("span", { class: "sr-only" }, STATE_WORDS[entry.state]),
    el("span", { class: "lane" }, bar),
    el("span", { class: "time" }, entry.state === "point" ? "" : duration(ms)),
  );
}

/** @param {Inspected} inspected */
function promptView({ composition, prompt }) {
  const { provider, profile, fingerprint } = composition;
  const { totals, sections, system } = prompt;
  const most = Math.max(...sections.map((/** @type {any} */ section) => section.estTokens), 1);
  const tools = totals.tools === 1 ? "1 tool" : `${totals.tools} tools`;
  const words = `${[provider.name, provider.model].filter(Boolean).join(" ")}, profile ${profile}, ${tools} offered, about ${number.format(totals.estTokens)} tokens before the conversation`;
  const rows = sections.map((/** @type {any} */ section) => sectionView(section, [...system].slice(section.start, section.end).join(""), section.estTokens / most));
  return [
    el("p", { class: "trace-title" }, "Prompt", el("span", {}, `composition ${fingerprint.slice(0, 8)}`)),
    el("p", { class: "trace-remark" }, words),
    el("div", { class: "trace-sections" }, ...rows),
  ];
}

/** @param {{id: string, origin: string, estTokens: number}} section @param {string} text @param {number} share */
function sectionView({ id, origin, estTokens }, text, share) {
  const bar = el("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--from", "0");
  bar.style.setProperty("--share", String(share));
  return el(
    "details",
    {},
    el("summary", {}, icon("chevron"), el("span", { class: "trace-label" }, id), el("span", { class: "trace-detail" }, origin), el("span", { class: "lane" }, bar), el("span", { class: "time" }, `~${estTokens}`)),
    el("pre", { tabIndex: 0 }, text),
  );
}
