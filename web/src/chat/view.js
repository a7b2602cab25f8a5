/** The view of `<agrun-chat>`: the turns, the composer, and how Python is coming along. Loaded when an element is used. */

import { Conversation } from "./conversation.js";
import { el, icon } from "./dom.js";
import styles from "./chat.css";
import { AgentTurn, userTurn } from "./turn.js";

/** @typedef {import("./conversation.js").AgrunApi} AgrunApi */

const OFFLINE = "offline";
const OFFLINE_NOTICE =
  "This is the offline planner, not a language model: it matches your request to the bundled tools by their descriptions. Tools, approvals and stopping work as with a model.";
/** The part of the boot bar that each stage fills, in per cent. */
const BOOT_SHARE = { assets: [0, 60], runtime: [60, 85], packages: [85, 88], core: [88, 100], ready: [100, 100] };
const BOOT_WORDS = {
  assets: "Downloading Python",
  runtime: "Starting Python",
  packages: "Unpacking packages",
  core: "Loading the agent",
  ready: "",
};

let sheet = /** @type {CSSStyleSheet | null} */ (null);

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
  #turns = el("ol", { class: "turns", role: "log", "aria-label": "Conversation", part: "turns" });
  #welcome = el(
    "section",
    { class: "welcome", part: "welcome" },
    el("slot", { name: "greeting" }, el("h2", {}, "How can I help?")),
    el("div", { class: "starters" }, el("slot", { name: "starter" })),
  );
  #scroll = el("div", { class: "scroll", part: "scroll" }, el("div", { class: "column" }, this.#welcome, this.#turns));
  #input = el("textarea", { rows: 1, part: "input", "aria-label": "Message", enterKeyHint: "send", autocomplete: "off" });
  #send = el("button", { type: "submit", class: "send", part: "send", "aria-label": "Send" }, icon("send"));
  #down = el("button", { type: "button", class: "down", "aria-label": "Go to the latest message", hidden: true }, icon("down"));
  #bootBar = el("div", { class: "boot-bar" });
  #bootText = el("span", {});
  #boot = el("div", { class: "boot", part: "boot", role: "status" }, this.#bootText, el("div", { class: "boot-track" }, this.#bootBar));
  #bootFailure = el("div", { class: "boot-failure" });
  #notice = el("p", { class: "notice", part: "notice", hidden: true }, icon("info"), el("span", {}, OFFLINE_NOTICE));
  #following = true;

  /** @param {import("./element.js").ChatHost} host @param {AgrunApi} api */
  constructor(host, api) {
    this.#host = host;
    this.#conversation = new Conversation(host, api, {
      onBoot: (event) => this.#showBoot(event),
      onBusy: (busy) => this.#showBusy(busy),
      onBootFailed: (error) => this.#showBootFailure(error),
    });
    this.#build();
    this.start();
  }

  /** Begin to boot, where nothing has begun yet; a failure is shown. */
  start() {
    this.#conversation.start().then(
      (runtime) => this.#noticeOffline(runtime),
      () => {},
    );
  }

  /** Ask as if the text had been typed. @param {string} text */
  ask(text) {
    const prompt = text.trim();
    if (!prompt || this.#conversation.busy) return;
    this.#welcome.hidden = true;
    this.#turns.append(userTurn(prompt));
    this.#answer(prompt);
  }

  stop() {
    this.#conversation.stop();
  }

  close() {
    return this.#conversation.close();
  }

  /** @param {string} prompt */
  #answer(prompt) {
    const turn = new AgentTurn({
      onDecisions: (decisions) => {
        this.#conversation.decide(turn, decisions);
        this.#follow(true);
      },
      onContinue: () => {
        this.#conversation.extend(turn);
        this.#follow(true);
      },
      onRetry: () => {
        turn.element.remove();
        this.#answer(prompt);
      },
      onSuggestion: (suggestion) => this.ask(suggestion),
    });
    this.#turns.append(turn.element);
    this.#follow(true);
    this.#conversation.run(prompt, turn);
  }

  #build() {
    const root = /** @type {ShadowRoot} */ (this.#host.shadowRoot);
    sheet ??= styleSheet();
    root.adoptedStyleSheets = [sheet];
    this.#input.placeholder = this.#host.getAttribute("placeholder") ?? "Ask anything";
    const composer = el("form", { class: "composer", part: "composer" }, this.#input, this.#send);
    const dock = el("div", { class: "dock", part: "dock" }, this.#down, this.#bootFailure, this.#boot, composer, this.#notice);
    if (!this.#host.runtime) this.#notice.hidden = providerName(this.#host.runtimeOptions().provider) !== OFFLINE;
    root.append(el("div", { class: "chat", part: "chat" }, this.#scroll, dock));
    this.#listen(composer);
    this.#showBusy(false);
  }

  /** @param {HTMLFormElement} composer */
  #listen(composer) {
    composer.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#conversation.busy) this.stop();
      else this.#submit();
    });
    this.#input.addEventListener("input", () => this.#fit());
    this.#input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        if (!this.#conversation.busy) this.#submit();
      }
    });
    this.#host.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.#conversation.busy) this.stop();
    });
    this.#host.addEventListener("click", (event) => {
      const starter = event.target instanceof Element ? event.target.closest('[slot="starter"]') : null;
      if (starter) this.ask(starter.getAttribute("data-prompt") ?? starter.textContent ?? "");
    });
    this.#scroll.addEventListener("scroll", () => {
      const { scrollHeight, scrollTop, clientHeight } = this.#scroll;
      this.#following = scrollHeight - scrollTop - clientHeight < 48;
      this.#down.hidden = this.#following;
    });
    this.#down.addEventListener("click", () => this.#follow(true));
    new ResizeObserver(() => this.#follow(false)).observe(this.#turns);
  }

  /** What the runtime itself says of its provider. @param {import("../api/runtime.js").Runtime} runtime */
  async #noticeOffline(runtime) {
    const { provider } = await runtime.describeComposition();
    this.#notice.hidden = providerName(provider) !== OFFLINE;
  }

  #submit() {
    const text = this.#input.value;
    if (!text.trim()) return;
    this.#input.value = "";
    this.#fit();
    this.ask(text);
  }

  /** The composer grows with its text. */
  #fit() {
    this.#input.style.height = "auto";
    this.#input.style.height = `${this.#input.scrollHeight}px`;
    this.#showBusy(this.#conversation.busy);
  }

  /** Stay at the end while new text comes, unless the reader has scrolled away. @param {boolean} always */
  #follow(always) {
    if (always) this.#following = true;
    if (this.#following) this.#scroll.scrollTop = this.#scroll.scrollHeight;
  }

  /** @param {boolean} busy */
  #showBusy(busy) {
    this.#send.replaceChildren(icon(busy ? "stop" : "send"));
    this.#send.setAttribute("aria-label", busy ? "Stop" : "Send");
    this.#send.classList.toggle("stopping", busy);
    this.#send.disabled = !busy && !this.#input.value.trim();
  }

  /** @param {import("../boot/stages.js").BootEvent} event */
  #showBoot({ stage, status, loaded = 0, total = 1 }) {
    const [from, to] = BOOT_SHARE[stage];
    const share = status === "done" ? to : from + ((to - from) * loaded) / total;
    this.#bootBar.style.width = `${share}%`;
    this.#bootText.textContent = BOOT_WORDS[stage];
    this.#boot.classList.toggle("done", stage === "ready");
    this.#boot.hidden = false;
    this.#bootFailure.replaceChildren();
  }

  /** @param {{message: string, hint?: string, code?: string}} error */
  #showBootFailure(error) {
    this.#boot.hidden = true;
    const retry = el("button", { type: "button", class: "secondary" }, icon("retry"), "Try again");
    retry.addEventListener("click", () => this.start());
    this.#bootFailure.replaceChildren(
      el(
        "section",
        { class: "failure", role: "alert" },
        el("p", {}, icon("warning"), el("strong", {}, error.message)),
        error.hint ? el("p", { class: "hint" }, error.hint) : null,
        el("div", { class: "failure-foot" }, retry, error.code ? el("code", {}, error.code) : null),
      ),
    );
  }
}

/** @param {string | {name: string}} provider */
function providerName(provider) {
  return (typeof provider === "string" ? provider : provider.name).split(":")[0];
}

function styleSheet() {
  const made = new CSSStyleSheet();
  made.replaceSync(styles);
  return made;
}
