/** agrun: an agent runtime in the page. Global `Agrun` of agrun.js, and the exports of agrun.mjs. */

import type { PlannerMeta, Permission, RunEvent, RunInput, RunResult, RuntimeConfig } from "./contracts.js";

export type BootStage = "assets" | "runtime" | "packages" | "core" | "ready";

/** What `onBoot` is told while Python starts; `loaded` and `total` are bytes. */
export interface BootEvent {
  stage: BootStage;
  /** `snapshot-rejected`: the one there was could not be used, for this `reason`; the boot goes on without it */
  status: "started" | "progress" | "done" | "snapshot-rejected";
  loaded?: number;
  total?: number;
  ms?: number;
  /** at `ready`: whether Python came from a snapshot */
  warm?: boolean;
  reason?: string;
}

/** Every error of agrun: a stable code, words for a person, what to do. */
export class AgrunError extends Error {
  readonly code: string;
  readonly hint: string;
  readonly details: Record<string, unknown>;
}

/** What an action sees of its run. All but `signal` and `idempotencyKey` need `context` as a plain second parameter. */
export interface ActionContext {
  /** aborts when the run is stopped, or the action took too long */
  readonly signal: AbortSignal;
  /** the same for every attempt at this very call */
  readonly idempotencyKey: string;
  readonly request: RunInput;
  readonly runState: Record<string, any>;
  readonly toolContext: Record<string, any>;
  readonly searchResults: Record<string, any>[];
  readonly agentSkills: Record<string, any>[];
  readonly agentSkillContext: Record<string, any>;
  readonly activeAgentSkill?: string | null;
  readonly webSearchEndpoint?: string | null;
}

/** A whole result, or any JSON value, which is then the output. */
export type ActionReturn = { control: "continue" | "complete"; output: unknown; summary: string } | unknown;

/** An operation of the page that the agent may ask for. Integers beyond 2^53 arrive as strings of their digits. */
export interface Action<Args = any> extends Omit<PlannerMeta, "decisionType"> {
  name: string;
  description: string;
  /** 0 allow, 1 and 2 ask, 3 deny, unless `actionPolicy` says otherwise */
  tier: 0 | 1 | 2 | 3;
  planner?: PlannerMeta | false;
  permission?: Partial<Omit<Permission, "source">>;
  timeoutMs?: number;
  execute(args: Args, context: ActionContext): ActionReturn | Promise<ActionReturn>;
}

/** One event of a model's stream; `finished` is the last of every stream. */
export type ModelEvent =
  | { type: "text-delta" | "reasoning-delta"; text: string }
  | { type: "tool-args-delta"; callId: string; name: string; text: string }
  | { type: "tool-call"; id?: string; name: string; args?: unknown; argsText?: string }
  | {
      type: "finished";
      reason: "stop" | "tool_calls" | "length" | "content_filter";
      usage?: { inputTokens?: number | null; outputTokens?: number | null; cachedInputTokens?: number | null; reasoningTokens?: number | null };
    };

export interface ModelRequest {
  purpose: "planner" | "repair" | "finalizer" | "section" | "intro" | "outro" | "other";
  system: string;
  messages: { role: "user" | "assistant" | "tool"; text: string; toolCalls: { id: string; name: string; argsText: string }[]; toolCallId: string | null; toolName: string | null }[];
  tools: { name: string; description: string; parameters: Record<string, unknown> }[];
  settings: Record<string, unknown>;
  responseSchema: Record<string, unknown> | null;
  stablePrefix: number;
}

/**
 * A model transport of the page. An error it throws may carry `code` (one of a failed run's, such as
 * PROVIDER_RATE_LIMITED), `status` and `retryAfterMs`.
 */
export interface Provider {
  stream(request: ModelRequest, options: { signal: AbortSignal }): AsyncIterable<ModelEvent>;
}

export interface SearchProvider {
  search(query: string, limit: number, options: { signal: AbortSignal }): Promise<{ title: string; url: string; snippet: string }[]>;
}

export interface SkillFiles {
  /** texts by path: `SKILL.md`, `tools.py`, `references/...` */
  files: Record<string, string>;
  /** your word that tools.py may run; the bundled skills need none */
  trustTools?: boolean;
}

export interface SkillSource {
  trustTools?: boolean;
  list(): Promise<string[]> | string[];
  load(name: string): Promise<Record<string, string>> | Record<string, string>;
}

export interface Plugin {
  name: string;
  version: string;
  actions?: Action[];
  skills?: SkillFiles[];
  promptSections?: Record<string, string>;
  policy?: Record<string, unknown>;
  diagnostics?: Record<string, unknown>;
  requiresCapabilities?: string[];
}

export interface Hooks {
  /** null, or a reason to refuse the call */
  beforeAction?(decision: Record<string, any>, args: Record<string, any>): Promise<string | null> | string | null;
  /** null, or what stands in for the output */
  afterAction?(output: any): unknown;
  /** null, or the reason of a veto */
  beforeFinalize?(output: any): Promise<string | null> | string | null;
}

type ProviderSettings = Exclude<RuntimeConfig["provider"], string>;

export interface RuntimeOptions extends Omit<RuntimeConfig, "provider" | "webSearch"> {
  provider: string | (Omit<ProviderSettings, "apiKey"> & { apiKey?: string | null | (() => string | Promise<string>) });
  providers?: Record<string, Provider>;
  actions?: Action[];
  /** a URL of `{"skills": [...]}`, skills, or a list of both */
  skills?: string | (string | SkillFiles)[];
  skillSources?: SkillSource[];
  plugins?: Plugin[];
  webSearch?: RuntimeConfig["webSearch"] | SearchProvider;
  actionPermissionJudge?: (action: Record<string, any>) => unknown;
  hooks?: Hooks;

  /** where the bundle lies; by default beside agrun.js */
  assetBase?: string;
  /** Python in a worker (default), or in the page's own thread */
  thread?: "worker" | "page";
  /**
   * Where later visits take a Python that has started already: "auto" (default) makes a snapshot of its memory in idle time
   * and keeps it in the browser's Cache Storage (about 55 MB), "off" does neither; or the URL of one that
   * `python build.py snapshot` made. One that does not fit is never used: `onBoot` is told, and Python starts as at a first visit.
   */
  snapshot?: "auto" | "off" | (string & {});
  /**
   * "auto" (default): a page within the folder of agrun.js starts without a network after its first visit, by a service
   * worker that keeps what the visit has loaded (about 20 MB of Cache Storage), where that folder has none of its own.
   * "off" does without, and takes away one that was there.
   */
  serviceWorker?: "auto" | "off";
  onBoot?(event: BootEvent): void;
  /**
   * Where runs, sessions and used approvals are kept: "indexeddb" (in the database "agrun"), a database of another name,
   * "memory" (as long as the runtime), or null: nowhere. By default IndexedDB with a provider that asks a model over the
   * network, and nowhere with `offline`, `scripted` and a provider of your own (`providers`).
   */
  store?: "indexeddb" | "memory" | { name: string } | null;
  /** told when the browser keeps nothing for this page, and memory stands in; `notice` is for people */
  onStorage?(status: StorageStatus): void;
  /**
   * told how the browser's own model (provider "prompt-api") comes along; `notice` and `hint` are for people. `prepare`,
   * called in answer to a click, has the browser download it, also while Python is still starting
   */
  onModel?(status: ModelStatus, prepare: () => Promise<void>): void;
  /** where requests to other origins are relayed, as `<proxyUrl>?url=<encoded>`; agrun_host serves one */
  proxyUrl?: string;
  /** for a proxy that asks for one (`AGRUN_TOKEN` of agrun_host); sent to it alone, as `Authorization: Bearer` */
  proxyToken?: string;
  /** milliseconds without progress after which a stage of the boot is given up */
  stageTimeouts?: Partial<Record<BootStage, number>>;
}

/** A run in progress. Leaving `for await` early stops it on the wire; `await run` gives its result. */
export class Run implements AsyncIterable<RunEvent>, PromiseLike<RunResult> {
  readonly result: Promise<RunResult>;
  stop(mode?: "now" | "after_step"): void;
  [Symbol.asyncIterator](): AsyncGenerator<RunEvent, void, void>;
  then<A = RunResult, B = never>(
    fulfilled?: ((result: RunResult) => A | PromiseLike<A>) | null,
    rejected?: ((error: AgrunError) => B | PromiseLike<B>) | null,
  ): Promise<A | B>;
}

export type Input = string | RunInput;
export type ApprovalDecision = "approve" | "deny" | { decision: "approve" | "deny"; note?: string };

export interface Session {
  readonly id: string;
  run(input: Input): Run;
}

export interface StorageStatus {
  kind: "indexeddb" | "memory";
  /** of the database; null for memory of the runtime's own */
  name: string | null;
  /** why nothing outlives this page, where it should have; for people */
  notice: string | null;
}

/** Of the browser's own model. */
export interface ModelStatus {
  availability: "unavailable" | "downloadable" | "downloading" | "available";
  /** while it is downloaded: a share from 0 to 1 */
  loaded: number | null;
  /** null where it can be asked */
  notice: string | null;
  hint: string | null;
}

export interface KeptRun {
  id: string;
  session: string;
  /** "running" is also a run whose page or worker ended in the middle of it: `resume(id)` goes on with it */
  status: "running" | RunResult["status"];
  /** milliseconds since the epoch */
  updated: number;
}

/** The runs that are kept, also those of other tabs. */
export interface KeptRuns {
  /** the latest first */
  list(): Promise<KeptRun[]>;
  get(id: string): Promise<(KeptRun & { state: RunResult["state"] }) | null>;
  /** SESSION_BUSY while it is in progress */
  delete(id: string): Promise<void>;
}

export interface KeptSessions {
  list(): Promise<{ id: string; updated: number }[]>;
  history(id: string): Promise<{ role: "user" | "assistant"; parts: Record<string, any>[]; runId: string }[]>;
  delete(id: string): Promise<void>;
}

/** All that is kept; JSON. States, journal entries and histories are JSON texts, so that every number stays as it was. */
export interface Exported {
  format: "agrun";
  version: 1;
  runs: { updated: number; state: string; journal: string[] }[];
  sessions: { id: string; updated: number; history: string }[];
  usedApprovals: { id: string; run: string }[];
}

export class Runtime {
  /** where runs and sessions are kept; null where they are not, and then runs, sessions, export and import throw */
  readonly storage: StorageStatus | null;
  /** null with another provider than "prompt-api" */
  readonly builtInModel: ModelStatus | null;
  /** has the browser download its model: call it in answer to a click */
  prepareModel(): Promise<void>;
  readonly runs: KeptRuns;
  readonly sessions: KeptSessions;
  /** neither keys nor headers are in it */
  export(): Promise<Exported>;
  /** adds an export, its JSON text or a file of it; of what is there already, whatever is further or newer stays */
  import(data: Exported | string | Blob): Promise<{ runs: number; sessions: number }>;
  run(input: Input): Run;
  /** `run` is the id of one that is kept, or `result.state`; decisions are by approval id. */
  resume(
    run: RunResult["state"] | string,
    decisions?: Record<string, ApprovalDecision>,
    options?: { extend?: { maxSteps?: number; runDeadlineMs?: number; maxCostUsd?: number } },
  ): Run;
  session(id: string, options?: { busy?: "wait" | "refuse" }): Session;
  describeComposition(): Promise<Record<string, any>>;
  inspectPrompt(input: Input): Promise<Record<string, any>>;
  surfaceIndex(): Promise<Record<string, any>>;
  close(): Promise<void>;
}

/** Runs that a server drives (`agrun serve`); they go on when the page is gone. Their states stay there. */
export class RemoteRuntime {
  readonly storage: null;
  readonly builtInModel: null;
  run(input: Input): Run;
  /** by the run's id; decisions are by approval id */
  resume(
    runId: string,
    decisions?: Record<string, ApprovalDecision>,
    options?: { extend?: { maxSteps?: number; runDeadlineMs?: number; maxCostUsd?: number } },
  ): Run;
  session(id: string): Session;
  /** both reject: a server does not tell what its runs are made of */
  describeComposition(): Promise<never>;
  inspectPrompt(input: Input): Promise<never>;
  /** ends what is read here; the runs go on */
  close(): Promise<void>;
}

export interface RemoteOptions {
  /** "/v1", or the URL of one */
  endpoint: string;
  /** of the server; a callback is asked at each request */
  token?: string | (() => string | Promise<string>);
}

export function createRemoteRuntime(options: RemoteOptions): Promise<RemoteRuntime>;
export function createRuntime(options: RuntimeOptions): Promise<Runtime>;
export function defineAction<T extends Action>(action: T): T;
export const version: string;

/** What `<agrun-chat>` shows over its composer. A later notice of the same `id` takes the place of this one. */
export interface NoticeOptions {
  kind?: "info" | "warning" | "error";
  id?: string;
  /** what to do about it */
  hint?: string;
  code?: string;
  action?: { label: string; run(): void };
  dismissable?: boolean;
}

/**
 * `<agrun-chat provider skills endpoint placeholder theme settings>`, with the slots `greeting` and `starter`.
 *
 * Parts for `::part()`: chat, scroll, welcome, turns, turn, user-turn, agent-turn, markdown, steps, tool, tool-head,
 * reasoning, approval, approve, deny, failure, note, trace, sources, notices, notice, notice-info, notice-warning,
 * notice-error, dock, composer, input, send, provider, remark, boot, dialog, field, save.
 *
 * Custom properties: --agrun-text, -muted, -background, -surface, -border, -accent, -on-accent, -good, -warn,
 * -warn-surface, -bad, -bad-surface, -radius, -width, -font, -mono.
 */
export interface AgrunChatElement extends HTMLElement {
  /** what createRuntime takes beyond the attributes; set before the element comes onto the page */
  options: Partial<RuntimeOptions & RemoteOptions>;
  /** a runtime of yours instead of one of the element's own; then there is no choice of provider */
  runtime: Runtime | null;
  ask(text: string): Promise<void>;
  /** what it resolves to takes the notice away */
  notice(text: string, options?: NoticeOptions): Promise<(() => void) | undefined>;
  stop(): Promise<void>;
  close(): Promise<void>;
}

declare global {
  interface HTMLElementTagNameMap {
    "agrun-chat": AgrunChatElement;
  }
  interface HTMLElementEventMap {
    "agrun-step": CustomEvent<RunEvent>;
    "agrun-result": CustomEvent<RunResult>;
  }
}

export as namespace Agrun;
