/**
 * The events of a run as cycles of timed entries: model calls, actions, plans, and what happened between them. Plain data
 * and no elements; taking an event costs the same however long the run is, since a stream waits for it.
 */

/** @typedef {"running" | "ok" | "failed" | "point"} EntryState */
/** @typedef {{kind: string, label: string, detail: string, startedAt: number, endedAt: number | null, firstAt: number | null, state: EntryState}} Entry */
/** @typedef {{number: number, startedAt: number, endedAt: number | null, outcome: string, entries: Entry[]}} Cycle */
/** @typedef {{kind: string, label: (detail: any) => string, key: (detail: any) => string}} Begin */

/** Which of several calls a step is about. @param {any} detail */
export function placeOf({ actionName, batchIndex = "", planIndex = "" }) {
  return `${actionName} ${batchIndex} ${planIndex}`;
}

/** @param {string} kind @param {string} label @returns {Begin} */
const once = (kind, label) => ({ kind, label: () => label, key: () => kind });

/** Steps that begin an entry. @type {Record<string, Begin>} */
const BEGINS = {
  "planner-requested": once("model", "Model call"),
  "planner-repair-requested": once("repair", "Repair of the reply"),
  "finalize-requested": once("writer", "Write the answer"),
  "plan-executing": once("plan", "Plan"),
  "synthesize-per-action-start": once("sections", "Write the sections"),
  "approval-required": { kind: "approval", label: ({ actionName }) => `Approval of ${actionName}`, key: ({ actionName }) => `approval ${actionName}` },
  "action-executing": { kind: "action", label: ({ actionName, args }) => args?.toolName ?? actionName, key: placeOf },
};

/** @typedef {{key: (detail: any) => string, state: (detail: any) => EntryState, detail: (detail: any) => string}} End */
/** @param {string} kind @param {(detail: any) => string} detail @param {(detail: any) => EntryState} [state] @returns {End} */
const ends = (kind, detail, state = ({ ok }) => (ok === false ? "failed" : "ok")) => ({ key: () => kind, state, detail });
/** @type {End} */
const ACTION_FAILED = { key: placeOf, state: () => "failed", detail: ({ error, timeoutMs }) => error ?? `no result within ${timeoutMs} ms` };

/** Steps that end one. @type {Record<string, End>} */
const ENDS = {
  "planner-responded": ends("model", ({ toolCalls, finish }) => toolCalls?.join(", ") || (finish === "stop" ? "answered" : finish)),
  "planner-repair-completed": ends("repair", () => ""),
  "finalize-completed": ends("writer", () => ""),
  "plan-executed": ends("plan", ({ successCount, actionCount }) => `${successCount} of ${actionCount} done`, ({ allOk }) => (allOk ? "ok" : "failed")),
  "synthesize-stitch-done": ends("sections", ({ sectionCount }) => `${sectionCount} sections`),
  "approval-resolved": { key: ({ actionName }) => `approval ${actionName}`, state: () => "ok", detail: ({ decision }) => decision ?? "" },
  "action-executed": { key: placeOf, state: ({ ok }) => (ok === false ? "failed" : "ok"), detail: ({ summary }) => summary ?? "" },
  "action-failed": ACTION_FAILED,
  "action-timeout": ACTION_FAILED,
  "action-protocol-error": ACTION_FAILED,
};

/** Told by the panel's own head and lines. */
const QUIET = ["run-started", "cycle-started", "cycle-completed", "planner-mode-resolved", "plan-validating", "run-completed", "run-blocked", "answer-superseded"];

export class TraceModel {
  /** @type {Cycle[]} */
  cycles = [];
  steps = 0;
  mode = "";
  /** @type {number | null} */
  startedAt = null;
  endedAt = 0;
  /** @type {Map<string, Entry>} */
  #open = new Map();

  /** @param {{type: string, detail: any, at: number, cycle: number}} event */
  take({ type, detail, at, cycle }) {
    this.startedAt ??= at;
    this.endedAt = at;
    if (type.endsWith("-delta")) return this.#firstPiece(at);
    this.steps += 1;
    const current = this.#cycle(cycle, at);
    if (type === "planner-mode-resolved") this.mode = detail.mode;
    if (type === "cycle-completed") Object.assign(current, { endedAt: at, outcome: detail.outcome });
    if (type in ENDS) return this.#end(ENDS[type], detail, at);
    if (type in BEGINS) return this.#begin(current, BEGINS[type], detail, at);
    if (!QUIET.includes(type)) current.entries.push({ ...point(type, detail), startedAt: at, endedAt: at, firstAt: null });
    return undefined;
  }

  /** @param {number} number @param {number} at */
  #cycle(number, at) {
    const last = this.cycles[this.cycles.length - 1];
    if (last?.number === number) return last;
    /** @type {Cycle} */
    const begun = { number, startedAt: at, endedAt: null, outcome: "", entries: [] };
    this.cycles.push(begun);
    return begun;
  }

  /** @param {Cycle} cycle @param {Begin} begin @param {any} detail @param {number} at */
  #begin(cycle, { kind, label, key }, detail, at) {
    /** @type {Entry} */
    const entry = { kind, label: label(detail), detail: "", startedAt: at, endedAt: null, firstAt: null, state: "running" };
    this.#open.set(key(detail), entry);
    cycle.entries.push(entry);
  }

  /** @param {End} end @param {any} detail @param {number} at */
  #end({ key, state, detail: words }, detail, at) {
    const entry = this.#open.get(key(detail));
    if (!entry) return;
    this.#open.delete(key(detail));
    Object.assign(entry, { endedAt: at, state: state(detail), detail: String(words(detail) ?? "") });
  }

  /** @param {number} at */
  #firstPiece(at) {
    const call = this.#open.get("model") ?? this.#open.get("writer");
    if (call) call.firstAt ??= at;
  }
}

/** A step that stands for itself. @param {string} type @param {any} detail @returns {Pick<Entry, "kind" | "label" | "detail" | "state">} */
function point(type, detail) {
  const label = type.replaceAll("-", " ");
  const told = detail.reason ?? detail.error ?? detail.actionName ?? detail.source ?? "";
  const isFailure = /failed|denied|invalid|blocked|aborted/.test(type);
  return { kind: "point", label: label[0].toUpperCase() + label.slice(1), detail: String(told), state: isFailure ? "failed" : "point" };
}
