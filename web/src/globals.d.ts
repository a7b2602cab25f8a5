/** The build that this code belongs to: a hash over the other files of the bundle, put in by build.mjs. */
declare const BUILD: string;
declare const VERSION: string;
/** What Pyodide's own lock file says of its build. */
declare const PYODIDE_LOCK_INFO: Record<string, string>;
