/**
 * Where a person chooses who plans: provider, model, address, key. The key is in the field while it is typed, then in a
 * closure of this page's memory, and nowhere else: no attribute, no URL, no storage, no event.
 */

import { el, icon } from "./dom.js";
import { OFFLINE, PROVIDERS, configOf, faultsOf, modelName, providerName } from "./providers.js";

/** @typedef {import("./providers.js").Field} Field */
/** @typedef {{element: HTMLElement, input: HTMLInputElement, fault: HTMLElement}} FieldView */

/** @type {Record<Field, {label: string, properties: Record<string, any>, hint: string}>} */
const FIELDS = {
  baseUrl: { label: "Address (base URL)", properties: { type: "url", inputMode: "url", placeholder: "http://localhost:11434/v1" }, hint: "" },
  model: { label: "Model", properties: { type: "text" }, hint: "" },
  apiKey: { label: "API key", properties: { type: "password" }, hint: "Kept in this page's memory until you leave, and sent to the provider only." },
};

export class KeyDialog {
  #onChoose;
  #provider = el("select", { id: "provider", part: "field" }, ...Object.entries(PROVIDERS).map(([value, { label }]) => el("option", { value }, label)));
  #about = el("p", { class: "hint" });
  #lead = el("p", { class: "dialog-lead" });
  #error = el("div", { class: "dialog-error", role: "alert" });
  #save = el("button", { type: "submit", class: "primary", part: "save" }, "Use this");
  #cancel = el("button", { type: "button", class: "secondary" }, "Cancel");
  /** @type {Record<Field, FieldView>} */
  #fields = { baseUrl: fieldView("baseUrl"), model: fieldView("model"), apiKey: fieldView("apiKey") };
  element;

  /** @param {(provider: ReturnType<typeof configOf>) => Promise<void>} onChoose rejects with what is to be said */
  constructor(onChoose) {
    this.#onChoose = onChoose;
    const form = el(
      "form",
      { method: "dialog", noValidate: true, autocomplete: "off" },
      el("h2", { id: "dialog-title" }, icon("key"), "Who plans?"),
      this.#lead,
      el("div", { class: "field" }, el("label", { htmlFor: "provider" }, "Provider"), this.#provider, this.#about),
      ...Object.values(this.#fields).map(({ element }) => element),
      this.#error,
      el("div", { class: "dialog-foot" }, this.#cancel, this.#save),
    );
    this.element = el("dialog", { class: "dialog", part: "dialog", "aria-labelledby": "dialog-title" }, form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
    this.#cancel.addEventListener("click", () => this.element.close());
    this.#provider.addEventListener("change", () => this.#showFields(true));
    this.element.addEventListener("close", () => this.#forget());
  }

  /** @param {string | Record<string, any>} provider the one in use @param {string} [lead] why the dialog opens by itself */
  open(provider, lead = "") {
    const name = providerName(/** @type {any} */ (provider));
    this.#lead.textContent = lead;
    this.#lead.hidden = !lead;
    this.#provider.value = name in PROVIDERS ? name : OFFLINE;
    this.#showFields(true);
    const model = modelName(/** @type {any} */ (provider));
    if (model && name in PROVIDERS) this.#fields.model.input.value = model;
    if (typeof provider === "object") this.#fields.baseUrl.input.value = provider.baseUrl ?? "";
    this.element.showModal();
    if (lead) this.#fields.apiKey.input.focus();
  }

  /** @param {boolean} isFresh */
  #showFields(isFresh) {
    const facts = PROVIDERS[this.#provider.value];
    this.#about.textContent = facts.about;
    this.#about.hidden = !facts.about;
    for (const [name, { element }] of Object.entries(this.#fields)) element.hidden = !facts.fields.includes(/** @type {Field} */ (name));
    if (isFresh) this.#fields.model.input.value = facts.model;
    this.#fields.model.input.placeholder = facts.model || "llama3.2";
    this.#fields.apiKey.element.querySelector(".optional")?.toggleAttribute("hidden", facts.key === "required");
    this.#showFaults({});
    this.#error.replaceChildren();
  }

  /** @param {Partial<Record<Field, string>>} faults */
  #showFaults(faults) {
    for (const [name, { input, fault }] of Object.entries(this.#fields)) {
      const words = faults[/** @type {Field} */ (name)] ?? "";
      fault.replaceChildren(...(words ? [icon("warning"), words] : []));
      input.setAttribute("aria-invalid", String(Boolean(words)));
    }
    const first = Object.values(this.#fields).find(({ input }) => input.getAttribute("aria-invalid") === "true");
    first?.input.focus();
  }

  async #submit() {
    const entry = {
      name: this.#provider.value,
      model: this.#fields.model.input.value.trim(),
      baseUrl: this.#fields.baseUrl.input.value.trim(),
      apiKey: this.#fields.apiKey.input.value.trim(),
    };
    const faults = faultsOf(entry);
    this.#showFaults(faults);
    this.#error.replaceChildren();
    if (Object.keys(faults).length > 0) return;
    this.#save.disabled = true;
    try {
      await this.#onChoose(configOf(entry));
      this.element.close();
    } catch (error) {
      const { message, hint } = /** @type {{message: string, hint?: string}} */ (error);
      this.#error.replaceChildren(el("p", {}, message), ...(hint ? [el("p", { class: "hint" }, hint)] : []));
    } finally {
      this.#save.disabled = false;
    }
  }

  #forget() {
    this.#fields.apiKey.input.value = "";
    this.#showFaults({});
  }
}

/** @param {Field} name @returns {FieldView} */
function fieldView(name) {
  const { label, properties, hint } = FIELDS[name];
  const input = el("input", { ...properties, id: `field-${name}`, part: "field", autocomplete: "off", spellcheck: false, autocapitalize: "off", "aria-describedby": `fault-${name} hint-${name}` });
  const fault = el("p", { class: "fault", id: `fault-${name}`, "aria-live": "polite" });
  const words = el("p", { class: "hint", id: `hint-${name}`, hidden: !hint }, hint);
  const optional = name === "apiKey" ? el("span", { class: "optional" }, " (if the server wants one)") : null;
  const element = el("div", { class: "field" }, el("label", { htmlFor: input.id }, label, optional), input, fault, words);
  return { element, input, fault };
}
