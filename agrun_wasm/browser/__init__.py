"""The page's side of the runtime: the one room that may import `js` and `pyodide`."""
