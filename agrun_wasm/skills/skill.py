"""A skill: its document, its resources, and its tools where they are trusted. Rules: document 2, 2.9.

Owns what makes a skill of files, and the trust in them. No file is read here, and no tool of an untrusted skill is run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.skills.document import lf, parse_document
from agrun_wasm.skills.frontmatter import Diagnostic, diagnostic
from agrun_wasm.skills.resources import path_inside
from agrun_wasm.skills.tools import FILE as TOOLS_FILE
from agrun_wasm.skills.tools import SkillTool
from agrun_wasm.skills.trusted import TRUSTED

DOCUMENT_FILE = "SKILL.md"


@dataclass(frozen=True, eq=False)
class Skill:
    """A loaded skill; make one with `Skill.from_files`.

    `resources` are its other files by path. `tools` is empty where the skill is untrusted or has none; `has_tools_file`
    tells the two apart. `diagnostics` are `{code, message}`, what was repaired or breaks the standard.
    """

    name: str
    description: str
    body: str
    license: str | None = None
    compatibility: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    allowed_tools: list[str] = field(default_factory=list)
    resources: dict[str, str] = field(default_factory=dict)
    tools: dict[str, SkillTool] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    trusted: bool = False
    has_tools_file: bool = False
    content_hash: str = ""

    @classmethod
    def from_files(cls, files: Mapping[str, str], *, trust_tools: bool = False) -> Skill:
        """A skill from the texts of its files by path: `{"SKILL.md": ..., "tools.py": ..., "references/x.md": ...}`.

        All paths may share a leading directory, which is then taken for the skill's own. Raises CONFIG_INVALID naming
        the file that is missing or unusable. `trust_tools` is the host's word that tools.py may run.
        """
        texts, folder, diagnostics = _rooted(files)
        where = f"{folder}/" if folder else ""
        document = parse_document(texts[DOCUMENT_FILE], file=f"{where}{DOCUMENT_FILE}", folder=folder)
        diagnostics += document.diagnostics
        digest = content_hash(texts)
        trusted = trust_tools or digest in TRUSTED
        tools: dict[str, SkillTool] = {}
        if trusted and TOOLS_FILE in texts:
            from agrun_wasm.skills.tool_file import load_tools

            tools, faults = load_tools(texts[TOOLS_FILE], document.name)
            diagnostics += faults
        return cls(
            name=document.name,
            description=document.description,
            body=document.body,
            license=document.license,
            compatibility=document.compatibility,
            metadata=document.metadata,
            allowed_tools=document.allowed_tools,
            resources={p: text for p, text in texts.items() if p not in (DOCUMENT_FILE, TOOLS_FILE)},
            tools=tools,
            diagnostics=diagnostics,
            trusted=trusted,
            has_tools_file=TOOLS_FILE in texts,
            content_hash=digest,
        )


def content_hash(texts: Mapping[str, str]) -> str:
    """SHA-256 over the sorted paths, each with its text, NUL after either; line ends count as LF."""
    digest = hashlib.sha256()
    for path in sorted(texts):
        for part in (path, lf(texts[path])):
            digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _rooted(files: Mapping[str, str]) -> tuple[dict[str, str], str | None, list[Diagnostic]]:
    """The files by their path in the skill, and the name of the directory they were in, if it was given."""
    if not isinstance(files, Mapping):
        raise ConfigInvalid("skill: files must be a mapping of path to text")
    texts: dict[str, str] = {}
    diagnostics: list[Diagnostic] = []
    for path, text in dict[Any, Any](files).items():
        if not (isinstance(path, str) and isinstance(text, str)):
            raise ConfigInvalid(f"skill: the file {str(path)[:80]!r} must be text under a path")
        inside = path_inside(path)
        if inside is None:
            diagnostics.append(diagnostic("path_outside_skill", f"{path!r} leads out of the skill and was left out"))
        else:
            texts[inside] = text
    documents = sorted(
        (p for p in texts if p.rpartition("/")[2].lower() == "skill.md"), key=lambda p: (p.count("/"), p)
    )
    if not documents:
        raise ConfigInvalid(
            f"skill: there is no {DOCUMENT_FILE} among its files ({', '.join(sorted(texts)[:5]) or 'none'})"
        )
    root, _, name = documents[0].rpartition("/")
    if name != DOCUMENT_FILE:
        diagnostics.append(diagnostic("document_name", f"the file {name!r} should be called {DOCUMENT_FILE!r}"))
    prefix = f"{root}/" if root else ""
    outside = [path for path in texts if not path.startswith(prefix)]
    if outside:
        diagnostics.append(diagnostic("path_outside_skill", f"{outside[0]!r} is not beside {documents[0]!r}; left out"))
    inner = {path.removeprefix(prefix): text for path, text in texts.items() if path.startswith(prefix)}
    inner[DOCUMENT_FILE] = inner.pop(name)
    return inner, root.rpartition("/")[2] or None, diagnostics
