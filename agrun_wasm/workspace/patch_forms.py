"""The operations of a patch as a model is told of them. Rules: 2.11.

Owned here: their forms in words and as an argsSchema. Must not know what an operation does (`patch_operations`).
"""

from __future__ import annotations

#: type -> its form, for people and models
SHAPES: dict[str, str] = {
    "replace": "{type: 'replace', find, replace, replace_all?}",
    "append": "{type: 'append', content, separator?}",
    "insert_after_section": "{type: 'insert_after_section', heading, content, separator?}",
    "normalize_headings": "{type: 'normalize_headings', headings: [{lineNumber, text}]}",
}

#: the argsSchema of one operation of any type
OPERATION = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "description": "; ".join(SHAPES.values())},
        "find": {"type": "string", "description": "The exact current text, literally; it must fit once."},
        "replace": {"type": "string"},
        "replace_all": {"type": "boolean", "aliases": ["replaceAll"]},
        "content": {"type": "string"},
        "heading": {"type": "string"},
        "separator": {"type": "string"},
        "headings": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "lineNumber": {"type": "integer", "description": "From 1."},
                    "text": {"type": "string", "description": "With #s to change the level, without to keep it."},
                },
            },
        },
    },
}
