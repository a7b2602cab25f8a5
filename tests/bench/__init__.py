"""Benchmarks: what agrun_wasm costs, as ratios to its peers inside one run on one machine (document 5).

`python -m tests.bench` runs the table in `measures` and writes .build/bench/results.{json,txt,svg}. Each figure is
taken by a subject, a process of its own (`subjects/`); the peers' packages live in .build/bench-venv only.
"""
