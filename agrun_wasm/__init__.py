"""agrun_wasm: a general agent runtime whose one pure core runs in a browser, in a notebook and on a server."""
