"""Pure parsers: bytes and text in, plain values out.

Owned here: incremental UTF-8 with server-sent events, JSON out of model text, Markdown structure, HTML to Markdown,
URLs, charsets, redaction. Nothing in this room knows about providers, actions, runs or events of the runtime; it
imports the standard library, and inside functions justhtml and markdown-it-py.
"""
