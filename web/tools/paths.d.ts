export interface Paths {
  /** web/ */
  web: string;
  /** the checkout */
  root: string;
  dist: string;
  /** Pyodide's wheels */
  wheels: string;
}
