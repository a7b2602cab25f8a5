import type { RunEvent, RunResult, RuntimeConfig } from "./contracts.js";
