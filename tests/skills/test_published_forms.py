"""Documents in the style of public skill repositories load, and keep what they say."""

from __future__ import annotations

import pytest

from agrun_wasm.skills.skill import Skill
from tests.skills.samples import codes

FORMS: dict[str, tuple[str, list[str]]] = {
    "pdf": (
        (
            "---\nname: pdf\ndescription: Comprehensive PDF toolkit for extracting text and tables, creating new "
            "PDFs, merging/splitting documents, and handling forms. When Claude needs to fill in a PDF form or "
            "process, generate, or analyze PDF documents at scale.\nlicense: Proprietary. LICENSE.txt has "
            "complete terms\n---\n\n# PDF Processing Guide\n\n## Overview\n\n```python\nprint('---')\n```\n"
        ),
        [],
    ),
    "internal-comms": (
        (
            "---\nname: internal-comms\ndescription: A set of resources to help me write internal communications, "
            "using the formats that my company likes. Claude should use this skill whenever asked to write some sort "
            "of internal communications (status reports, leadership updates, 3P updates, newsletters, FAQs, incident "
            "reports, project updates, etc.).\nlicense: Complete terms in LICENSE.txt\n---\n\n## When to use it\n"
        ),
        [],
    ),
    "docs-writer": (
        (
            "---\nname: docs-writer\ndescription: |\n  Writes documentation.\n\n  Use when: a README is missing\n"
            'license: Apache-2.0\ncompatibility: "Requires git, docker, jq, and access to the internet"\nmetadata:\n'
            '  author: example-org\n  version: "1.0"\n  tags:\n    - docs\n    - writing\n'
            "allowed-tools: Bash(git:*) Bash(jq:*) Read\n---\n# Writer\n"
        ),
        ["metadata_nested"],
    ),
    "commit": (
        (
            "---\nname: commit\ndescription: Create well-formatted commits: conventional messages with scopes\n"
            "allowed-tools: Bash(git add:*), Bash(git status:*), Bash(git commit:*)\nargument-hint: [message]\n"
            "model: sonnet\n---\n\n## Context\n\n- Current status: !`git status`\n"
        ),
        ["unquoted_colon", "unknown_field", "unknown_field"],
    ),
    "emoji": ("---\nname: party\ndescription: 🎉 Plans parties — “big” ones\n---\n# 🎉\n", []),
    "long-license": (
        (
            "---\nname: notes\ndescription: >-\n  Takes notes in meetings and\n  files them by topic.\nlicense: >\n"
            "  MIT, see\n  LICENSE\nmetadata: {}\n---\n# Notes\n"
        ),
        [],
    ),
}


@pytest.mark.parametrize("folder", FORMS)
def test_loads(folder: str) -> None:
    text, expected = FORMS[folder]
    loaded = Skill.from_files({"SKILL.md": text, "LICENSE.txt": "terms", "references/a.md": "# A\n"})
    assert loaded.description
    assert loaded.body.startswith("#")
    assert codes(loaded.diagnostics) == expected
    assert sorted(loaded.resources) == ["LICENSE.txt", "references/a.md"]


def test_fields_of_the_longest() -> None:
    loaded = Skill.from_files({"SKILL.md": FORMS["docs-writer"][0]})
    assert loaded.description == "Writes documentation.\n\nUse when: a README is missing"
    assert loaded.license == "Apache-2.0"
    assert loaded.compatibility == "Requires git, docker, jq, and access to the internet"
    assert loaded.metadata == {"author": "example-org", "version": "1.0", "tags": ["docs", "writing"]}
    assert loaded.allowed_tools == ["Bash(git:*)", "Bash(jq:*)", "Read"]
