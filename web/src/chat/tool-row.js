/** A tool call as one foldable line: what it is, how it went, and inside its arguments and result. */

import { copyButton, duration, el, icon } from "./dom.js";

/** @typedef {"running" | "ok" | "failed" | "refused"} ToolState */

/** How calls of built-in actions read. Others read as their name and their first arguments. @type {Record<string, (args: any) => [string, string]>} */
const TITLES = {
  execute_skill_tool: (args) => [args.toolName ?? "skill tool", brief(args.args)],
  list_agent_skills: () => ["Look for a skill", ""],
  read_agent_skill: (args) => ["Read skill", args.skillName ?? ""],
  read_skill_resource: (args) => ["Read skill file", args.path ?? ""],
  use_agent_skill: (args) => ["Use skill", args.skillName ?? ""],
  handoff_to_skill: (args) => ["Hand over to skill", args.skillName ?? ""],
  web_search: (args) => ["Search the web", args.query ?? ""],
  read_url: (args) => ["Read page", args.url ?? ""],
  workspace_list: () => ["List files", ""],
  workspace_read: (args) => ["Read file", args.path ?? ""],
  workspace_write: (args) => ["Write file", args.path ?? ""],
  workspace_append: (args) => ["Append to file", args.path ?? ""],
  workspace_insert_after_section: (args) => ["Insert into file", args.path ?? ""],
  workspace_propose_patch: (args) => ["Propose changes", args.path ?? ""],
  workspace_apply_patch: (args) => ["Apply changes", args.patchId ?? ""],
  workspace_publish_candidate: (args) => ["Publish", args.path ?? ""],
};

const STATES = {
  running: { label: "running", mark: () => el("span", { class: "spinner" }) },
  ok: { label: "done", mark: () => icon("check") },
  failed: { label: "failed", mark: () => icon("warning") },
  refused: { label: "not run", mark: () => icon("cross") },
};

/** @param {string} name @param {any} args @returns {[string, string]} */
export function titleOf(name, args) {
  return TITLES[name]?.(args ?? {}) ?? [name, brief(args)];
}

export class ToolRow {
  element;
  #mark = el("span", { class: "mark" });
  #time = el("span", { class: "time" });
  #state = el("span", { class: "sr-only" });
  #body = el("div", { class: "tool-body" });
  #startedAt;

  /** @param {string} name @param {any} args @param {number} at */
  constructor(name, args, at) {
    this.#startedAt = at;
    const [title, detail] = titleOf(name, args);
    const head = el(
      "summary",
      { part: "tool-head" },
      this.#mark,
      el("span", { class: "tool-title" }, title),
      el("span", { class: "tool-detail" }, detail),
      this.#state,
      this.#time,
      icon("chevron"),
    );
    this.element = el("details", { class: "tool", part: "tool" }, head, this.#body);
    if (title !== name) this.#body.append(el("div", { class: "tool-name" }, name));
    if (args && Object.keys(args).length > 0) this.#section("Arguments", args);
    this.#show("running");
  }

  /** @param {ToolState} state @param {{result?: unknown, note?: string, at?: number}} end */
  finish(state, { result, note, at }) {
    this.#show(state);
    if (at !== undefined) this.#time.textContent = duration(at - this.#startedAt);
    if (note) this.#body.append(el("p", { class: "tool-note" }, note));
    if (result !== undefined && result !== "") this.#section("Result", result);
  }

  /** @param {ToolState} state */
  #show(state) {
    this.element.dataset.state = state;
    this.#mark.replaceChildren(STATES[state].mark());
    this.#state.textContent = STATES[state].label;
  }

  /** @param {string} label @param {unknown} value */
  #section(label, value) {
    this.#body.append(jsonSection(label, value));
  }
}

/** @param {string} label @param {unknown} value */
export function jsonSection(label, value) {
  const text = pretty(value);
  return el(
    "section",
    { class: "json" },
    el("div", { class: "code-head" }, el("span", {}, label), copyButton(() => text, `Copy ${label.toLowerCase()}`)),
    el("pre", { tabIndex: 0 }, text),
  );
}

/** @param {unknown} value */
function pretty(value) {
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}

/** The values of arguments, short enough for a line. @param {any} args @returns {string} */
function brief(args) {
  if (typeof args !== "object" || args === null) return args === undefined || args === null ? "" : String(args);
  const parts = Object.values(args).map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  return parts.join(", ").slice(0, 120);
}
