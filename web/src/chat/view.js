/** The view of `<agrun-chat>`: the turns, what stands under them, and who plans. Loaded when an element is used. */

import { BootBar } from "./boot-bar.js";
import styles from "./chat.css";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { el, icon, saveFile } from "./dom.js";
import { KeyDialog } from "./key-dialog.js";
import { Notices } from "./notices.js";
import panelStyles from "./panels.css";
import { PROMPT_API } from "../model/status.js";
import { OFFLINE, PROVIDERS, lacksKey, modelName, providerName } from "./providers.js";
import { AgentTurn, userTurn } from "./turn.js";

/** @typedef {import("./conversation.js").AgrunApi} AgrunApi */

const OFFLINE_REMARK = "This is the offline planner, not a language model: it matches your request to the tools here by their descriptions.";
const BOOT_NOTICE = "boot";
const KEY_NOTICE = "key";
const MODEL_NOTICE = "model";
const STORAGE_NOTICE = "storage";

let sheets = /** @type {CSSStyleSheet[] | null} */ (null);

/**
 * @param {import("./element.js").ChatHost} host
 * @param {AgrunApi} api
 * @returns {ChatView}
 */
export function mount(host, api) {
  return new ChatView(host, api);
}

export class ChatView {
  #host;
  #conversation;
  #composer;
  #dialog = new KeyDialog((provider) => this.#use(provider));
  #notices = new Notices();
  #bootBar = new BootBar();
  #turns = el("div", { class: "turns", role: "log", "aria-label": "Conversation", part: "turns" });
  #welcome = el(
    "section",
    { class: "welcome", part: "welcome" },
    el("slot", { name: "greeting" }, el("h2", {}, "How can I help?")),
    el("div", { class: "starters" }, el("slot", { name: "starter" })),
  );
  #scroll = el("div", { class: "scroll", part: "scroll" }, el("div", { class: "column" }, this.#welcome, this.#turns));
  #down = el("button", { type: "button", class: "down", "aria-label": "Go to the latest message", hidden: true }, icon("down"));
  #providerText = el("span", {});
  #provider = el("button", { type: "button", class: "provider", part: "provider", "aria-haspopup": "dialog" }, icon("key"), this.#providerText);
  #remark = el("p", { class: "remark", part: "remark" });
  #following = true;

  /** @param {import("./element.js").ChatHost} host @param {AgrunApi} api */
  constructor(host, api) {
    this.#host = host;
    this.#conversation = new Conversation(host, api, {
      onBoot: (event) => {
        this.#bootBar.show(event);
        this.#notices.remove(BOOT_NOTICE);
      },
      onModel: (status, prepare) => this.#showModel(status, prepare),
      onStorage: ({ notice }) => this.#showStorage(notice),
      onBusy: (busy) => this.#showBusy(busy),
      onBootFailed: (error) => this.#showBootFailure(error),
    });
    this.#composer = new Composer(host.getAttribute("placeholder") ?? "Ask anything", {
      onSend: (text) => this.ask(text),
      onStop: () => this.stop(),
    });
    this.#build();
    this.#listen();
    this.start();
  }

  /** Begin to boot, where nothing has begun yet; a failure is shown. */
  start() {
    const started = this.#conversation.start();
    if (this.#conversation.isRemote) return void started.catch(() => {}); // shown as the failure it is
    started.then(
      async (runtime) => this.#showProvider((await runtime.describeComposition()).provider),
      () => {},
    );
  }

  /** Ask as if the text had been typed. Is it asked? @param {string} text */
  ask(text) {
    const prompt = text.trim();
    if (!prompt || this.#conversation.busy) return false;
    if (this.#lacksKey()) {
      this.#composer.fill(text);
      this.#chooseProvider(`${PROVIDERS[providerName(this.#conversation.provider)].label} needs a key before it can answer.`);
      return false;
    }
    this.#welcome.hidden = true;
    this.#turns.append(userTurn(prompt));
    this.#answer(prompt);
    return true;
  }

  stop() {
    this.#conversation.stop();
  }

  close() {
    return this.#conversation.close();
  }

  /** @param {string} text @param {import("./notices.js").NoticeOptions} [options] */
  notice(text, options) {
    return this.#notices.show(text, options);
  }

  /** @param {string} prompt */
  #answer(prompt) {
    const turn = new AgentTurn({
      onDecisions: (decisions) => {
        this.#conversation.decide(turn, decisions);
        this.#composer.focus(); // the button that had the focus is gone
        this.#follow(true);
      },
      onContinue: () => {
        this.#conversation.extend(turn);
        this.#follow(true);
      },
      onRetry: () => {
        if (this.#conversation.busy) return;
        turn.element.remove();
        this.#composer.focus();
        this.#answer(prompt);
      },
      onSuggestion: (suggestion) => this.ask(suggestion),
      onProvider: this.#mayChoose() ? () => this.#chooseProvider() : null,
      inspect: () => this.#conversation.inspect(prompt),
    });
    this.#turns.append(turn.element);
    this.#follow(true);
    this.#conversation.run(prompt, turn);
  }

  #build() {
    const root = /** @type {ShadowRoot} */ (this.#host.shadowRoot);
    sheets ??= [styles, panelStyles].map(styleSheet);
    root.adoptedStyleSheets = sheets;
    const foot = el("div", { class: "dock-foot" }, this.#provider, this.#remark);
    const dock = el("div", { class: "dock", part: "dock" }, this.#down, this.#notices.element, this.#bootBar.element, this.#composer.element, foot);
    root.replaceChildren(el("div", { class: "chat", part: "chat" }, this.#scroll, dock), this.#dialog.element);
    this.#provider.hidden = !this.#mayChoose();
    if (this.#conversation.isRemote) this.#bootBar.hide();
    else if (!this.#host.runtime) this.#showProvider(this.#conversation.provider);
    this.#showBusy(false);
  }

  #listen() {
    this.#host.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !this.#dialog.element.open && this.#conversation.busy) this.stop();
    });
    this.#host.addEventListener("click", (event) => {
      const starter = event.target instanceof Element ? event.target.closest('[slot="starter"]') : null;
      if (!starter) return;
      this.ask(starter.getAttribute("data-prompt") ?? starter.textContent ?? "");
      this.#composer.focus();
    });
    this.#scroll.addEventListener("scroll", () => {
      const { scrollHeight, scrollTop, clientHeight } = this.#scroll;
      this.#following = scrollHeight - scrollTop - clientHeight < 48;
      this.#down.hidden = this.#following;
    });
    this.#down.addEventListener("click", () => this.#follow(true));
    this.#provider.addEventListener("click", () => this.#chooseProvider());
    new ResizeObserver(() => this.#follow(false)).observe(this.#turns);
  }

  /** A runtime of the host's own is the host's to change. */
  #mayChoose() {
    return !this.#host.runtime && !this.#conversation.isRemote && this.#host.getAttribute("settings") !== "off";
  }

  #lacksKey() {
    return !this.#host.runtime && this.#mayChoose() && lacksKey(this.#conversation.provider);
  }

  /** @param {string} [lead] */
  #chooseProvider(lead) {
    if (!this.#conversation.busy) this.#dialog.open(this.#conversation.provider, lead);
  }

  /** @param {{name: string, model?: string}} provider */
  async #use(provider) {
    await this.#conversation.use(provider);
    this.#showProvider(provider);
    this.#composer.focus();
  }

  /** @param {string | {name: string, model?: string}} provider */
  #showProvider(provider) {
    const name = providerName(provider);
    const label = PROVIDERS[name]?.label ?? name;
    this.#providerText.textContent = [label, modelName(provider)].filter(Boolean).join(" · ");
    this.#provider.setAttribute("aria-label", `Provider: ${this.#providerText.textContent}. Change`);
    this.#remark.textContent = name === OFFLINE ? OFFLINE_REMARK : "";
    this.#remark.hidden = name !== OFFLINE;
    if (name !== PROMPT_API) this.#notices.remove(MODEL_NOTICE);
    if (!this.#lacksKey()) return this.#notices.remove(KEY_NOTICE);
    const action = { label: "Enter a key", run: () => this.#chooseProvider() };
    this.#notices.show(`${label} needs a key. It stays in this page's memory.`, { id: KEY_NOTICE, action });
    return undefined;
  }

  /** Stay at the end while new text comes, unless the reader has scrolled away. @param {boolean} always */
  #follow(always) {
    if (always) this.#following = true;
    if (this.#following) this.#scroll.scrollTop = this.#scroll.scrollHeight;
  }

  /** @param {boolean} busy */
  #showBusy(busy) {
    this.#composer.showBusy(busy);
    this.#provider.disabled = busy;
  }

  /** The browser's own model: its download begins with the person's click. @type {import("../model/built_in_model.js").OnStatus} */
  #showModel = ({ availability, loaded, notice, hint }, prepare) => {
    if (!notice || availability === "unavailable") return this.#notices.remove(MODEL_NOTICE); // then no runtime is made, which says it
    const isIdle = availability === "downloadable" || loaded === null;
    const download = () => void prepare().catch((/** @type {Error} */ { message }) => this.#showNoModel(message, download));
    const action = isIdle ? { label: "Download it", run: download } : undefined;
    this.#notices.show(notice, { id: MODEL_NOTICE, hint: hint ?? undefined, action, dismissable: isIdle });
    return undefined;
  };

  /** @param {string} message @param {() => void} download */
  #showNoModel(message, download) {
    this.#notices.show(`The browser's model could not be downloaded: ${message}`, { id: MODEL_NOTICE, kind: "error", action: { label: "Try again", run: download } });
  }

  /** @param {string | null} notice why nothing outlives this page */
  #showStorage(notice) {
    if (!notice) return this.#notices.remove(STORAGE_NOTICE);
    const action = { label: "Export", run: () => void this.#conversation.export().then(saveFile) };
    this.#notices.show(notice, { id: STORAGE_NOTICE, kind: "warning", action });
    return undefined;
  }

  /** @param {{message: string, hint?: string, code?: string}} error */
  #showBootFailure({ message, hint, code }) {
    this.#bootBar.hide();
    const action = { label: "Try again", run: () => this.start() };
    this.#notices.show(message, { id: BOOT_NOTICE, kind: "error", hint, code, action, dismissable: false });
  }
}

/** @param {string} text */
function styleSheet(text) {
  const made = new CSSStyleSheet();
  made.replaceSync(text);
  return made;
}
