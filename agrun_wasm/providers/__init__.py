"""Model providers: one neutral request and stream, a dialect per file, and what every call needs around it.

Knows contracts and text parsers. Must not know actions, plans or the loop; imports nothing heavy at import.
"""
