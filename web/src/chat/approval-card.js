/** A call that waits for a person: what would be done, with which arguments and what that may touch; approve or deny. */

import { el, icon } from "./dom.js";
import { titleOf } from "./tool-row.js";

/** What an action's `permission.effect` means to a person. @type {Record<string, string>} */
const EFFECTS = {
  none: "Changes nothing",
  runtime_state: "Changes this conversation",
  skill_catalog: "Reads skills",
  skill_tool: "Runs a skill's tool",
  virtual_workspace: "Changes files of this conversation",
  external_network: "Sends a request to another site",
  external_write: "Changes something outside this page",
  unknown: "Effect not declared",
};

const DECIDED = { approve: "Approved", deny: "Denied" };

/** @typedef {"approve" | "deny"} Decision */
/** @typedef {{approvalId: string, actionName: string, args: any, reason: string, permission: any, expiresAt: number}} Approval */

export class ApprovalCard {
  element;
  #approve;
  #deny;
  #outcome = el("p", { class: "approval-outcome", role: "status" });

  /** @param {Approval} approval @param {(decision: Decision) => void} onDecision */
  constructor(approval, onDecision) {
    const [title, detail] = titleOf(approval.actionName, approval.args);
    const { effect = "unknown", isDestructive = false } = approval.permission ?? {};
    const chips = [EFFECTS[effect] ?? effect, isDestructive && effect !== "unknown" ? "May be irreversible" : ""].filter(Boolean);
    this.#approve = el("button", { type: "button", class: "primary", part: "approve" }, "Approve");
    this.#deny = el("button", { type: "button", class: "secondary", part: "deny" }, "Deny");
    this.#approve.addEventListener("click", () => this.#decide("approve", onDecision));
    this.#deny.addEventListener("click", () => this.#decide("deny", onDecision));
    this.element = el(
      "section",
      { class: "approval", part: "approval", role: "group", "aria-label": `Approval: ${title}` },
      el("p", { class: "approval-title" }, icon("shield"), "Your approval is needed"),
      this.#outcome,
      el("p", { class: "approval-what" }, el("strong", {}, title), el("span", { class: "approval-detail" }, detail)),
      argumentList(approval.args),
      el("p", { class: "approval-chips" }, ...chips.map((chip) => el("span", { class: "chip" }, chip))),
      el("div", { class: "approval-buttons" }, this.#approve, this.#deny),
    );
  }

  /** @param {Decision} decision @param {(decision: Decision) => void} onDecision */
  #decide(decision, onDecision) {
    this.#approve.disabled = this.#deny.disabled = true;
    this.element.dataset.state = decision;
    this.#outcome.replaceChildren(icon(decision === "approve" ? "check" : "cross"), DECIDED[decision]);
    onDecision(decision);
  }
}

/** @param {any} args */
function argumentList(args) {
  const entries = Object.entries(args ?? {});
  if (entries.length === 0) return el("p", { class: "approval-arguments none" }, "Without arguments");
  const rows = entries.flatMap(([key, value]) => [
    el("dt", {}, key),
    el("dd", {}, typeof value === "string" ? value : JSON.stringify(value, null, 1)),
  ]);
  return el("dl", { class: "approval-arguments", tabIndex: 0, "aria-label": "Arguments" }, ...rows);
}
