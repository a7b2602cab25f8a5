/**
 * One answer of the agent as it comes to be: text, reasoning, tool calls, approvals, and how it ended.
 *
 * Takes events and results of a run, and makes elements of them; it starts nothing.
 */

import { ApprovalCard } from "./approval-card.js";
import { copyButton, disclosure, el, icon } from "./dom.js";
import { MarkdownView } from "./markdown.js";
import { ReasoningRow } from "./reasoning-row.js";
import { areAllNamed, sourceList, sourcesOf } from "./sources.js";
import { ToolRow, titleOf } from "./tool-row.js";
import { placeOf } from "./trace-model.js";
import { Trace } from "./trace.js";

/**
 * @typedef {object} TurnActions
 * @property {(decisions: Record<string, "approve" | "deny">) => void} onDecisions
 * @property {() => void} onContinue
 * @property {() => void} onRetry
 * @property {(prompt: string) => void} onSuggestion
 * @property {(() => void) | null} onProvider opens the choice of provider and key, where there is one
 * @property {() => Promise<import("./trace.js").Inspected>} inspect
 */

/** What the agent is doing, by the step that began it. @type {Record<string, (detail: any) => string>} */
const ACTIVITY = {
  "run-started": () => "Thinking",
  "planner-requested": () => "Thinking",
  "reasoning-delta": () => "Thinking",
  "text-delta": () => "Writing",
  "tool-args-delta": (detail) => `Preparing ${detail.name || "a tool call"}`,
  "action-executing": (detail) => titleOf(detail.actionName, detail.args).filter(Boolean).join(" "),
  "action-executed": () => "Thinking",
  "model-retry": () => "The model did not answer, trying again",
  "auto-read": () => "Reading sources",
  "finalize-requested": () => "Writing the answer",
};

/** Steps that say a call did not run, with the words for it. @type {Record<string, (detail: any) => string>} */
const NOT_RUN = {
  "policy-denied": (detail) => detail.reason || "not allowed here",
  "action-args-invalid": (detail) => detail.error,
  "action-guardrail-blocked": (detail) => `repeated ${detail.count} times without success`,
};

/** Steps that end a call that ran, without a result. @type {Record<string, (detail: any) => string>} */
const FAILED = {
  "action-failed": (detail) => detail.error,
  "action-timeout": (detail) => `no result within ${detail.timeoutMs / 1000} s`,
  "action-protocol-error": (detail) => detail.error,
};

/** Failures that another key, model or provider mends. */
const OF_THE_PROVIDER = ["PROVIDER_AUTH", "PROVIDER_NOT_FOUND", "PROVIDER_BAD_REQUEST", "NETWORK_OR_CORS", "PROVIDER_NETWORK"];

const REMARK_LENGTH = 400;

export class AgentTurn {
  #parts = el("div", { class: "parts" });
  #activity = el("div", { class: "activity", role: "status" });
  #tools = el("div", { class: "turn-tools" });
  #panels = el("div", { class: "panels" });
  element = el(
    "article",
    { class: "turn agent", part: "turn agent-turn", "aria-label": "Answer" },
    this.#parts,
    el("div", { class: "turn-foot" }, this.#activity, this.#tools),
    this.#panels,
  );
  #actions;
  #trace;
  #traceText;
  /** @type {MarkdownView | null} */
  #text = null;
  /** Texts that were set aside in this answer. @type {MarkdownView[]} */
  #aside = [];
  /** The rows since the last text. @type {HTMLElement | null} */
  #steps = null;
  /** @type {ReasoningRow | null} */
  #reasoning = null;
  /** Calls that run, by name and place. @type {Map<string, ToolRow>} */
  #rows = new Map();
  /** @type {Map<string, ApprovalCard>} */
  #approvals = new Map();
  /** What is shown of an event, by its type. @type {Record<string, (detail: any, at: number) => void>} */
  #shown = {
    "text-delta": ({ text }) => this.#textPart().append(text),
    "reasoning-delta": ({ text }) => this.#reasoningPart().append(text),
    "answer-superseded": () => this.#setTextAside(),
    "action-executing": (detail, at) => this.#startRow(detail, at),
    "action-executed": (detail, at) => {
      const { ok, result, summary } = detail;
      this.#endRow(detail, at, ok === false ? "failed" : "ok", { result: result ?? summary });
    },
  };

  /** @param {TurnActions} actions */
  constructor(actions) {
    this.#actions = actions;
    this.#trace = new Trace(actions.inspect);
    const { button, text } = disclosure("trace", "Trace", this.#trace.element, (open) => this.#trace.toggle(open));
    this.#traceText = text;
    this.#tools.append(button);
    this.#panels.append(this.#trace.element);
    this.element.setAttribute("aria-busy", "true");
    this.waiting("Thinking");
  }

  /** @param {string} activity */
  waiting(activity) {
    if (this.#activity.textContent === activity) return; // said once, whatever comes how often
    this.#activity.replaceChildren(el("span", { class: "pulse" }), activity);
  }

  /** @param {any} event a step or a delta of the run */
  take(event) {
    const { type, detail, at } = event;
    this.#trace.take(event);
    const activity = ACTIVITY[type]?.(detail);
    if (activity) this.waiting(activity);
    this.#shown[type]?.(detail, at);
    if (type in FAILED) this.#endRow(detail, at, "failed", { note: FAILED[type](detail) });
    if (type in NOT_RUN) {
      this.#startRow(detail, at);
      this.#endRow(detail, at, "refused", { note: NOT_RUN[type](detail) });
    }
  }

  /** @param {any} result the RunResult */
  end(result) {
    const { output, status, error } = result;
    this.#trace.end(result);
    this.#traceText.textContent = this.#trace.label;
    this.#endRows();
    if (status === "failed") return this.fail(error);
    if (status === "aborted") return this.#stopped();
    if (output.kind === "approval_required") return this.#askApprovals(output.approvals);
    if (output.kind === "continuation_required") return this.#offerToContinue(output.text);
    return this.#answer(output.text, sourcesOf(result));
  }

  /** @param {{message?: string, hint?: string, code?: string}} error */
  fail(error) {
    this.#endRows();
    this.#finish();
    const { onProvider } = this.#actions;
    const isOfProvider = onProvider && OF_THE_PROVIDER.includes(error?.code ?? "");
    const change = isOfProvider ? el("button", { type: "button", class: "secondary", onclick: onProvider }, icon("key"), "Change provider or key") : null;
    this.#parts.append(
      el(
        "section",
        { class: "failure", part: "failure", role: "alert" },
        el("p", {}, icon("warning"), el("strong", {}, error?.message ?? "Something went wrong")),
        error?.hint ? el("p", { class: "hint" }, error.hint) : null,
        el("div", { class: "failure-foot" }, this.#retryButton(), change, error?.code ? el("code", {}, error.code) : null),
      ),
    );
  }

  /** Going on after an approval. */
  resume() {
    this.element.setAttribute("aria-busy", "true");
    this.#text = this.#steps = this.#reasoning = null;
    this.waiting("Going on");
  }

  #finish() {
    this.element.setAttribute("aria-busy", "false");
    this.#activity.replaceChildren();
  }

  #endRows() {
    for (const row of this.#rows.values()) row.finish("refused", { note: "cut short" });
    this.#rows.clear();
  }

  #retryButton() {
    return el("button", { type: "button", class: "secondary", onclick: () => this.#actions.onRetry() }, icon("retry"), "Try again");
  }

  #stopped() {
    this.#finish();
    const note = this.#note("stop", "Stopped", this.#retryButton());
    note.setAttribute("role", "status");
  }

  /** @param {string} text @param {import("./sources.js").Source[]} sources */
  #answer(text, sources) {
    const view = this.#textPart();
    view.finish(text, () => {
      this.#finish();
      for (const draft of this.#aside.splice(0)) {
        if (text.includes(draft.text.trim())) (draft.element.closest(".draft") ?? draft.element).remove();
      }
      this.#tools.prepend(copyButton(() => text, "Copy answer"));
      if (sources.length > 0) this.#showSources(sources, text);
      if (view.suggestions.length > 0) this.#suggest(view.suggestions);
    });
  }

  /** @param {import("./sources.js").Source[]} sources @param {string} text */
  #showSources(sources, text) {
    const list = sourceList(sources);
    const label = sources.length === 1 ? "1 source" : `${sources.length} sources`;
    const { button } = disclosure("link", label, list, () => {});
    this.#tools.append(button);
    this.#panels.prepend(list);
    if (!areAllNamed(sources, text)) button.click();
  }

  /** @param {import("./markdown.js").Suggestion[]} suggestions */
  #suggest(suggestions) {
    const chips = suggestions.map(({ label, prompt }) =>
      el("button", { type: "button", class: "suggestion", onclick: () => this.#actions.onSuggestion(prompt) }, label),
    );
    this.element.append(el("div", { class: "suggestions" }, ...chips));
  }

  /** @param {any[]} approvals */
  #askApprovals(approvals) {
    this.#finish();
    /** @type {Record<string, "approve" | "deny">} */
    const decisions = {};
    const asked = approvals.filter(({ approvalId }) => !this.#approvals.has(approvalId));
    for (const approval of asked) {
      const card = new ApprovalCard(approval, (decision) => {
        decisions[approval.approvalId] = decision;
        if (Object.keys(decisions).length === asked.length) this.#actions.onDecisions(decisions);
      });
      this.#approvals.set(approval.approvalId, card);
      this.#parts.append(card.element);
    }
  }

  /** @param {string} text */
  #offerToContinue(text) {
    this.#finish();
    const button = el("button", { type: "button", class: "secondary" }, "Continue");
    const note = this.#note("info", text, button);
    button.addEventListener("click", () => {
      note.remove();
      this.#actions.onContinue();
    });
  }

  /** @param {Parameters<typeof icon>[0]} name @param {string} text @param {Node} [action] */
  #note(name, text, action) {
    const note = el("div", { class: "note", part: "note" }, icon(name), el("span", {}, text), action);
    this.#parts.append(note);
    return note;
  }

  #textPart() {
    if (this.#text) return this.#text;
    this.#steps = this.#reasoning = null;
    this.#text = new MarkdownView();
    this.#parts.append(this.#text.element);
    return this.#text;
  }

  /** Text that is not the answer after all: a remark stays as one, a longer draft is folded away. */
  #setTextAside() {
    const view = this.#text;
    this.#text = null;
    if (!view) return;
    view.finish(view.text);
    view.element.classList.add("aside");
    this.#aside.push(view);
    if (view.text.length <= REMARK_LENGTH) return;
    const draft = el("details", { class: "draft" }, el("summary", {}, icon("chevron"), "Earlier draft"));
    view.element.replaceWith(draft);
    draft.append(view.element);
  }

  #reasoningPart() {
    if (!this.#reasoning) {
      this.#reasoning = new ReasoningRow();
      this.#addStep(this.#reasoning.element);
    }
    return this.#reasoning;
  }

  /** @param {HTMLElement} row */
  #addStep(row) {
    this.#text = null;
    if (!this.#steps) {
      this.#steps = el("div", { class: "steps", part: "steps" });
      this.#parts.append(this.#steps);
    }
    this.#steps.append(row);
  }

  /** @param {any} detail @param {number} at */
  #startRow(detail, at) {
    this.#reasoning = null;
    const row = new ToolRow(detail.actionName, detail.args, at);
    this.#rows.set(placeOf(detail), row);
    this.#addStep(row.element);
  }

  /** @param {any} detail @param {number} at @param {import("./tool-row.js").ToolState} state @param {{result?: unknown, note?: string}} end */
  #endRow(detail, at, state, end) {
    const place = placeOf(detail);
    this.#rows.get(place)?.finish(state, { ...end, at });
    this.#rows.delete(place);
  }
}

/** @param {string} text */
export function userTurn(text) {
  return el("article", { class: "turn user", part: "turn user-turn", "aria-label": "Your message" }, el("div", { class: "bubble", dir: "auto" }, text));
}
