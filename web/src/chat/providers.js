/** The providers a person can choose: what each needs, and what is wrong with an entry, in words that say what to do. */

import { PROMPT_API } from "../model/status.js";

/** @typedef {"model" | "baseUrl" | "apiKey"} Field */
/** @typedef {{name: string, model: string, baseUrl: string, apiKey: string}} Entry */
/** @typedef {{label: string, fields: Field[], key: "required" | "optional", model: string, keysAt: string, keyForm: RegExp | null, about: string}} ProviderFacts */

export const OFFLINE = "offline";

/** @type {Record<string, ProviderFacts>} */
export const PROVIDERS = {
  [OFFLINE]: {
    label: "Offline planner",
    fields: [],
    key: "optional",
    model: "",
    keysAt: "",
    keyForm: null,
    about: "No key, no network and no language model: it matches requests to the tools here by their descriptions.",
  },
  [PROMPT_API]: {
    label: "This browser's model",
    fields: [],
    key: "optional",
    model: "",
    keysAt: "",
    keyForm: null,
    about: "A small language model inside Chrome or Edge: no key, and nothing leaves this device. It is downloaded once, where you ask for it.",
  },
  openai: { label: "OpenAI", fields: ["model", "apiKey"], key: "required", model: "gpt-5-mini", keysAt: "platform.openai.com/api-keys", keyForm: /^sk-(?!ant-)/, about: "" },
  anthropic: { label: "Anthropic", fields: ["model", "apiKey"], key: "required", model: "claude-sonnet-5", keysAt: "console.anthropic.com/settings/keys", keyForm: /^sk-ant-/, about: "" },
  gemini: { label: "Google Gemini", fields: ["model", "apiKey"], key: "required", model: "gemini-2.5-flash", keysAt: "aistudio.google.com/apikey", keyForm: /^(?!sk-)/, about: "" },
  "openai-compatible": {
    label: "OpenAI-compatible server",
    fields: ["baseUrl", "model", "apiKey"],
    key: "optional",
    model: "",
    keysAt: "",
    keyForm: null,
    about: "Ollama, llama.cpp, LM Studio, vLLM and others. The server must allow this page's origin (Ollama: OLLAMA_ORIGINS).",
  },
};

const LOCAL_HOST = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** The name in `"name:model"` or `{name, ...}`. @param {string | {name: string}} provider */
export function providerName(provider) {
  return (typeof provider === "string" ? provider : provider.name).split(":")[0];
}

/** The model in it. @param {string | {name: string, model?: string}} provider */
export function modelName(provider) {
  return typeof provider === "string" ? provider.split(":").slice(1).join(":") : (provider.model ?? "");
}

/** Does this provider wait for a key that nobody gave? @param {string | {name: string, apiKey?: unknown}} provider */
export function lacksKey(provider) {
  const given = typeof provider === "object" && Boolean(provider.apiKey);
  return !given && PROVIDERS[providerName(provider)]?.key === "required" && PROVIDERS[providerName(provider)].fields.includes("apiKey");
}

/** What is wrong, by field; an empty object where nothing is. @param {Entry} entry @returns {Partial<Record<Field, string>>} */
export function faultsOf(entry) {
  const { fields } = PROVIDERS[entry.name];
  /** @type {[Field, string][]} */
  const found = fields.map((field) => [field, FAULTS[field](entry)]);
  return Object.fromEntries(found.filter(([, fault]) => fault));
}

/** @type {Record<Field, (entry: Entry) => string>} */
const FAULTS = {
  model: ({ name, model }) => {
    if (model) return /\s/.test(model) ? "A model's name has no blanks: copy it as the provider writes it." : "";
    return PROVIDERS[name].model ? `Enter the model's name, for example ${PROVIDERS[name].model}.` : "Enter the model's name as the server lists it, for example llama3.2.";
  },
  baseUrl: ({ baseUrl }) => {
    if (!baseUrl) return "Enter where the server answers, for example http://localhost:11434/v1.";
    if (!URL.canParse(baseUrl)) return "This is no address: begin with http:// or https://, for example http://localhost:11434/v1.";
    const { protocol, hostname, username, password, search } = new URL(baseUrl);
    if (protocol !== "http:" && protocol !== "https:") return "Begin the address with http:// or https://.";
    if (username || password || search) return "Leave names, passwords and keys out of the address: a key belongs into its own field.";
    const isBlocked = protocol === "http:" && location.protocol === "https:" && !LOCAL_HOST.test(hostname);
    return isBlocked ? "A page on https may not ask an http server: use https, or a server on this machine (localhost)." : "";
  },
  apiKey: ({ name, apiKey }) => {
    const { key, keysAt, keyForm, label } = PROVIDERS[name];
    if (!apiKey) return key === "required" ? `Paste a key; ${label} gives one at ${keysAt}.` : "";
    if (/\s/.test(apiKey)) return "A key has no blanks or line breaks: copy it again, whole and alone.";
    if (keyForm && !keyForm.test(apiKey)) return `This does not look like a key of ${label}: choose the provider it belongs to, or get one at ${keysAt}.`;
    return "";
  },
};

/** What createRuntime takes. The key stays in a closure, and is handed over at each request. @param {Entry} entry */
export function configOf({ name, model, baseUrl, apiKey }) {
  const { fields } = PROVIDERS[name];
  return {
    name,
    ...(fields.includes("model") ? { model } : {}),
    ...(fields.includes("baseUrl") ? { baseUrl } : {}),
    ...(fields.includes("apiKey") && apiKey ? { apiKey: () => apiKey } : {}),
  };
}
