/** What `Agrun` is: the names that agrun.js sets on one global and agrun.mjs exports. */

export { AgrunError } from "./errors.js";
export { RemoteRuntime, createRemoteRuntime } from "./remote_runtime.js";
export { Run } from "./run.js";
export { Runtime, createRuntime, defineAction } from "./runtime.js";

export const version = VERSION;
