/** What `createRuntime` takes: settings of the page's side, and document 2's RuntimeConfig, which Python checks. */

import { MANIFEST, loadAsset, responseOf } from "../boot/assets.js";
import { BuiltInModel } from "../model/built_in_model.js";
import { PROMPT_API } from "../model/status.js";
import { DEFAULT_NAME, storageAt } from "../store/storage.js";
import { AgrunError } from "./errors.js";

/** @typedef {import("../boot/assets.js").Manifest} Manifest */
/** Where runs and sessions are kept; null: nowhere. @typedef {"indexeddb" | "memory" | {name: string} | null} StoreOption */
/**
 * @typedef {object} PageOptions
 * @property {string} [assetBase] where the bundle lies; by default beside agrun.js
 * @property {"worker" | "page"} [thread]
 * @property {string} [snapshot] "auto", "off", or the URL of a snapshot that was made before
 * @property {"auto" | "off"} [serviceWorker] whether the page is to start without a network after its first visit
 * @property {Partial<Record<import("../boot/stages.js").Stage, number>>} [stageTimeouts] milliseconds without progress
 * @property {(event: import("../boot/stages.js").BootEvent) => void} [onBoot]
 * @property {StoreOption} [store]
 * @property {(status: import("../store/storage.js").StorageStatus) => void} [onStorage] told when the browser keeps nothing
 * @property {import("../model/built_in_model.js").OnStatus} [onModel] told how the browser's own model comes along
 * @property {string} [proxyUrl] where requests to other origins are relayed, as `<proxyUrl>?url=<encoded>`
 * @property {string} [proxyToken] for a proxy that asks for one; sent to it alone
 */

const PAGE_OPTIONS = [
  ...["assetBase", "thread", "snapshot", "serviceWorker", "stageTimeouts", "onBoot"],
  ...["onModel", "onStorage", "proxyUrl", "proxyToken", "store"],
];
const SKILLS = "skills.json";

/**
 * @param {Record<string, any>} options
 * @returns {{page: PageOptions, config: Record<string, any>}}
 */
export function splitOptions(options) {
  if (typeof options !== "object" || options === null) {
    throw new AgrunError({ code: "CONFIG_INVALID", message: "createRuntime takes an object: {provider, ...}" });
  }
  const entries = Object.entries(options);
  const page = Object.fromEntries(entries.filter(([key]) => PAGE_OPTIONS.includes(key)));
  const config = Object.fromEntries(entries.filter(([key]) => !PAGE_OPTIONS.includes(key)));
  if (page.thread !== undefined && page.thread !== "worker" && page.thread !== "page") {
    throw new AgrunError({ code: "CONFIG_INVALID", message: "config: 'thread' must be \"worker\" or \"page\"" });
  }
  if (page.snapshot !== undefined && !isSnapshot(page.snapshot)) {
    throw new AgrunError({
      code: "CONFIG_INVALID",
      message: "config: 'snapshot' must be \"auto\", \"off\" or the URL of a snapshot",
      hint: "`python build.py snapshot` makes one in web/dist: snapshot.bin.gz.",
    });
  }
  if (page.serviceWorker !== undefined && page.serviceWorker !== "auto" && page.serviceWorker !== "off") {
    throw new AgrunError({ code: "CONFIG_INVALID", message: "config: 'serviceWorker' must be \"auto\" or \"off\"" });
  }
  return { page, config };
}

/** Providers that no one talks to about anything worth keeping: they play a script or match words. */
const NOTHING_TO_KEEP = ["offline", "scripted"];

/**
 * Where a runtime keeps its runs, or null. Unless it says so itself: in IndexedDB with a provider that asks a model over
 * the network, else nowhere (a provider of the page's own, `offline`, `scripted`).
 * @param {PageOptions} page @param {Record<string, any>} config
 * @returns {import("../store/storage.js").Storage | null}
 */
export function chosenStorage({ store }, config) {
  if (store === undefined) return keepsByDefault(config) ? storageAt(DEFAULT_NAME) : null;
  if (store === null) return null;
  if (store === "indexeddb") return storageAt(DEFAULT_NAME);
  if (store === "memory") return storageAt(null);
  if (typeof store === "object" && Object.keys(store).join() === "name" && typeof store.name === "string" && store.name) {
    return storageAt(store.name);
  }
  const given = JSON.stringify(store);
  throw new AgrunError({
    code: "CONFIG_INVALID",
    message: `config: 'store' must be "indexeddb", "memory", {name: "<database>"} or null (keep nothing), not ${given}`,
  });
}

/**
 * The browser's own model, where `provider` names it (and not one of the page's own by that name).
 * @param {PageOptions} page @param {Record<string, any>} config
 * @returns {BuiltInModel | null}
 */
export function chosenModel({ onModel }, config) {
  if (builtInName(config) !== PROMPT_API) return null;
  return new BuiltInModel(typeof config.provider === "string" ? {} : config.provider, onModel);
}

/** @param {Record<string, any>} config */
function keepsByDefault(config) {
  const name = builtInName(config);
  return name !== null && !NOTHING_TO_KEEP.includes(name);
}

/** The provider's name, unless it is one of the page's own. @param {Record<string, any>} config @returns {string | null} */
function builtInName({ provider, providers }) {
  const name = typeof provider === "string" ? provider.split(":")[0] : provider?.name;
  return typeof name === "string" && !Object.hasOwn(providers ?? {}, name) ? name : null;
}

/** @param {unknown} value */
function isSnapshot(value) {
  return typeof value === "string" && value !== "" && URL.canParse(value, document.baseURI);
}

/** "auto", "off", or where the snapshot lies, whoever looks. @param {string} [value] */
export function snapshotSetting(value = "auto") {
  return value === "auto" || value === "off" ? value : new URL(value, document.baseURI).href;
}

/**
 * `skills` as a URL, or a list of URLs and skills, as a list of skills. The bundle's own file is checked as every asset.
 * @param {unknown} skills @param {string} base @param {Promise<Manifest>} manifest
 * @returns {Promise<unknown>}
 */
export async function loadSkills(skills, base, manifest) {
  if (typeof skills !== "string" && !Array.isArray(skills)) return skills;
  const lists = [skills].flat().map((item) => (typeof item === "string" ? skillsAt(item, base, manifest) : [item]));
  return (await Promise.all(lists)).flat();
}

/** @param {string} address @param {string} base @param {Promise<Manifest>} manifest @returns {Promise<unknown[]>} */
async function skillsAt(address, base, manifest) {
  const url = new URL(address, document.baseURI);
  let found;
  if (url.href === new URL(SKILLS, base).href) {
    found = JSON.parse(new TextDecoder().decode(await loadAsset(base, await manifest, SKILLS)));
  } else {
    found = await (await responseOf(url)).json();
  }
  if (!Array.isArray(found?.skills)) {
    throw new AgrunError({
      code: "CONFIG_INVALID",
      message: `config: 'skills': ${url} holds no {"skills": [{"files": {"SKILL.md": ...}}]}`,
      hint: `The bundle's ${SKILLS} (listed in ${MANIFEST}) shows the form.`,
    });
  }
  return found.skills;
}
