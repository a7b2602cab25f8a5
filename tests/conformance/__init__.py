"""Conformance: scenarios played through the public API, on CPython and inside Pyodide. FORMAT.md explains them."""
