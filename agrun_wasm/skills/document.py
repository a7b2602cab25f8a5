"""SKILL.md: the six standard fields and the instructions. Rules: the Agent Skills standard, document 2, 2.9.

Strict where a rule can be reported, lenient where the skill can still be used: what breaks a rule is a diagnostic, only
a document without frontmatter, name or description is an error. Knows nothing of tools, trust or a run.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, NamedTuple

from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.contracts.naming import did_you_mean
from agrun_wasm.skills.frontmatter import Diagnostic, Field, FrontmatterError, diagnostic, read_frontmatter

FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
#: field -> most characters the standard allows
LIMITS = {"name": 64, "description": 1024, "compatibility": 500}


class SkillDocument(NamedTuple):
    """A parsed SKILL.md. `body` starts with its first non-blank line; line ends are LF."""

    name: str
    description: str
    license: str | None
    compatibility: str | None
    metadata: dict[str, Any]
    allowed_tools: list[str]
    body: str
    diagnostics: list[Diagnostic]


def parse_document(text: str, *, file: str = "SKILL.md", folder: str | None = None) -> SkillDocument:
    """Raises CONFIG_INVALID naming `file`. `folder` is the directory's name, which should equal the skill's."""
    front, body, first_line = _split(text, file)
    try:
        fields, diagnostics = read_frontmatter(front, first_line)
    except FrontmatterError as error:
        raise ConfigInvalid(f"{file}: line {error.line}: {error.message}") from None
    name = same_form(" ".join(_required("name", fields, file).split()))
    description = _required("description", fields, file)
    document = SkillDocument(
        name=name,
        description=description,
        license=_text("license", fields),
        compatibility=_text("compatibility", fields),
        metadata=_metadata(fields.get("metadata"), diagnostics),
        allowed_tools=_allowed_tools(fields.get("allowed-tools"), diagnostics),
        body=body,
        diagnostics=diagnostics,
    )
    diagnostics += _field_rules(fields) + _name_rules(name, folder) + _length_rules(document)
    return document


def same_form(name: str) -> str:
    """Names are compared in Unicode form NFC: file systems and zip files give decomposed ones."""
    return unicodedata.normalize("NFC", name)


def lf(text: str) -> str:
    """Line ends as LF, without a byte order mark or a zero-width blank in front."""
    return text.lstrip("\ufeff\u200b").replace("\r\n", "\n").replace("\r", "\n")


def _split(text: str, file: str) -> tuple[str, str, int]:
    """Frontmatter, body, and the line number of the frontmatter's first line."""
    lines = lf(text).split("\n")
    opening = next((n for n, line in enumerate(lines) if line.strip()), 0)
    if lines[opening].rstrip() != "---":
        raise ConfigInvalid(
            f"{file}: there is no frontmatter; the file must begin with a line '---', then 'name:' and 'description:', "
            "then a line '---'"
        )
    for n in range(opening + 1, len(lines)):
        if lines[n].rstrip() == "---":
            body = "\n".join(lines[n + 1 :])
            return "\n".join(lines[opening + 1 : n]), re.sub(r"\A(?:[ \t]*\n)+", "", body), opening + 2
    raise ConfigInvalid(f"{file}: the frontmatter that begins at line {opening + 1} has no closing line '---'")


def _required(field: str, fields: Mapping[str, Field], file: str) -> str:
    value = _text(field, fields)
    if not value:
        lack = "is empty" if field in fields else "is missing"
        near = did_you_mean(field, (name for name in fields if name not in FIELDS))
        raise ConfigInvalid(f"{file}: the field {field!r} {lack} in the frontmatter{near}")
    return value


def _text(name: str, fields: Mapping[str, Field]) -> str | None:
    field = fields.get(name)
    if field is None or field.kind == "null":
        return None
    text = field.value if isinstance(field.value, str) else field.source
    return text.strip() or None


def _metadata(field: Field | None, diagnostics: list[Diagnostic]) -> dict[str, Any]:
    if field is None or field.kind == "null":
        return {}
    if field.kind != "mapping":
        diagnostics.append(
            diagnostic("wrong_type", f"line {field.line}: 'metadata' must be a mapping; it was left out")
        )
        return {}
    metadata: dict[str, Any] = {key: "" if value is None else value for key, value in field.value.items()}
    if nested := [key for key, value in metadata.items() if not isinstance(value, str)]:
        diagnostics.append(
            diagnostic("metadata_nested", f"line {field.line}: 'metadata' should map text to text; see {nested[0]!r}")
        )
    return metadata


def _allowed_tools(field: Field | None, diagnostics: list[Diagnostic]) -> list[str]:
    if field is None or field.kind == "null":
        return []
    if field.kind == "mapping":
        diagnostics.append(
            diagnostic("wrong_type", f"line {field.line}: 'allowed-tools' must be a text of names; it was left out")
        )
        return []
    if field.kind == "list":
        diagnostics.append(
            diagnostic(
                "allowed_tools_list", f"line {field.line}: 'allowed-tools' should be one text of names, not a list"
            )
        )
        names = [name for item in field.value for name in split_names(_as_text(item))]
    else:
        names = split_names(field.value)
    return list(dict.fromkeys(name for name in names if name))


def _as_text(item: Any) -> str:
    """A list's item as it stood in the file; YAML reads `Bash(git: add)` as a mapping."""
    if isinstance(item, dict):
        return ", ".join(f"{key}: {value}" for key, value in item.items())
    return item if isinstance(item, str) else ""


def split_names(text: str) -> list[str]:
    """Names apart by blanks or commas, but not inside brackets: `Bash(git add *) Read`."""
    names, depth, current = list[str](), 0, ""
    for char in text:
        if depth == 0 and (char.isspace() or char == ","):
            names.append(current)
            current = ""
            continue
        depth = depth + 1 if char == "(" else max(0, depth - 1) if char == ")" else depth
        current += char
    return [name for name in (*names, current.strip()) if name]


def _field_rules(fields: Mapping[str, Field]) -> list[Diagnostic]:
    found = [
        diagnostic(
            "unknown_field", f"line {field.line}: {name!r} is no field of the standard{did_you_mean(name, FIELDS)}"
        )
        for name, field in fields.items()
        if name not in FIELDS
    ]
    for name in ("name", "description", "license", "compatibility"):
        field = fields.get(name)
        if field is None or field.kind in ("string", "null"):
            continue
        kind = "a number, a bool or a date" if field.kind == "scalar" else f"a {field.kind}"
        code = "scalar_type" if field.kind == "scalar" else "wrong_type"
        found.append(diagnostic(code, f"line {field.line}: {name!r} is {kind} in YAML and was read as text; quote it"))
    return found


def _name_rules(name: str, folder: str | None) -> list[Diagnostic]:
    broken = [
        rule
        for rule, holds in (
            ("only letters, digits and '-'", all(char.isalnum() or char == "-" for char in name)),
            ("lower case", name == name.lower()),
            ("no '-' at either end", name.strip("-") == name),
            ("no '--'", "--" not in name),
        )
        if not holds
    ]
    found = (
        [diagnostic("name_invalid", f"the name {name!r} breaks the standard: {'; '.join(broken)}")] if broken else []
    )
    if folder is not None and same_form(folder) != name:
        found.append(diagnostic("name_dir_mismatch", f"the name {name!r} differs from its directory {folder!r}"))
    return found


def _length_rules(document: SkillDocument) -> list[Diagnostic]:
    return [
        diagnostic(f"{field}_too_long", f"{field!r} has {len(text)} characters; the standard allows {limit}")
        for field, limit in LIMITS.items()
        if (text := getattr(document, field)) and len(text) > limit
    ]
