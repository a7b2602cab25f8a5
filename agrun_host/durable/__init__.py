"""Runs that survive their process: driven as DBOS workflows, kept in a database, told to whoever reads along.

Must not know: HTTP.
"""
