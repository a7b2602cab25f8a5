"""YAML frontmatter to plain text values, with repairs for what people really write.

Every scalar stays the text that stands in the file (`1.10` is "1.10", `4711` is "4711", `yes` is "yes"). What YAML
refuses is taken literally, block by block, and reported. Knows nothing of which fields a skill has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

#: `{code, message}`: what was repaired or breaks the standard without making the skill unusable
Diagnostic = dict[str, str]

_KEY_LINE = re.compile(r"""(?P<key>[^\s:#\[\]{}&*!|>%@`-][^:]*?)\s*:(?:[ \t]+(?P<value>.*))?$""")
_MAX_NODES = 5_000
_MAX_DEPTH = 20


class Field(NamedTuple):
    """A top-level value. `kind` "scalar" is one that YAML reads as a number, a bool or a date; `source` its text."""

    value: Any
    kind: Literal["string", "scalar", "null", "list", "mapping"]
    line: int
    source: str


class FrontmatterError(Exception):
    """The frontmatter is no mapping of fields. `line` counts from 1 in the file."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def diagnostic(code: str, message: str) -> Diagnostic:
    return {"code": code, "message": message}


def read_frontmatter(text: str, first_line: int) -> tuple[dict[str, Field], list[Diagnostic]]:
    """The fields between the dashes; `first_line` is the file's line number of the first of them."""
    diagnostics: list[Diagnostic] = []
    fields = _parse(text, first_line, diagnostics)
    if fields is not None:
        return fields, diagnostics
    tabbed = next((n for n, line in enumerate(text.split("\n")) if re.match(r" *\t", line)), None)
    if tabbed is not None:
        text = re.sub(r"(?m)^[ \t]+", lambda found: found[0].replace("\t", "  "), text)
        diagnostics.append(
            diagnostic("tab_indent", f"line {first_line + tabbed}: a tab as indentation was read as two spaces")
        )
        fields = _parse(text, first_line, diagnostics)
        if fields is not None:
            return fields, diagnostics
    return _parse_by_block(text, first_line, diagnostics), diagnostics


def _parse(text: str, first_line: int, diagnostics: list[Diagnostic]) -> dict[str, Field] | None:
    """The fields, or None where the text is no YAML."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.nodes import MappingNode

    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except YAMLError:
        return None
    if root is None:
        return {}
    if not isinstance(root, MappingNode):
        raise FrontmatterError("the frontmatter must be a list of 'field: value' lines", first_line)
    fields: dict[str, Field] = {}
    left = [_MAX_NODES]
    for key, node in root.value:
        name, line = str(key.value), first_line + key.start_mark.line
        if name in fields:
            diagnostics.append(
                diagnostic("duplicate_field", f"line {line}: {name!r} stands twice; the last one counts")
            )
        source = text[node.start_mark.index : node.end_mark.index]
        fields[name] = Field(_plain(node, left, 0, line), _kind(node), line, " ".join(source.split()))
    return fields


def _kind(node: Any) -> Literal["string", "scalar", "null", "list", "mapping"]:
    if node.id != "scalar":
        return "list" if node.id == "sequence" else "mapping"
    tag = str(node.tag).rpartition(":")[2]
    return "null" if tag == "null" else "string" if tag == "str" else "scalar"


def _plain(node: Any, left: list[int], depth: int, line: int) -> Any:
    left[0] -= 1
    if left[0] < 0 or depth > _MAX_DEPTH:  # aliases can make a short text endless
        raise FrontmatterError("the frontmatter holds too many or too deeply nested values", line)
    if node.id == "scalar":
        return None if _kind(node) == "null" else str(node.value)
    if node.id == "sequence":
        return [_plain(item, left, depth + 1, line) for item in node.value]
    return {str(key.value): _plain(value, left, depth + 1, line) for key, value in node.value}


def _parse_by_block(text: str, first_line: int, diagnostics: list[Diagnostic]) -> dict[str, Field]:
    """Each field for itself; one that YAML refuses is taken literally."""
    fields: dict[str, Field] = {}
    for at, lines in _blocks(text.split("\n")):
        line = first_line + at
        parsed = _parse("\n".join(lines), line, diagnostics)
        if parsed is None:
            parsed = _literal(lines, line, diagnostics)
        fields.update(parsed)
    return fields


def _blocks(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """A line `key: value` at the left edge, with the lines that follow up to the next such line."""
    start, block = 0, list[str]()
    for n, line in enumerate(lines):
        if _KEY_LINE.match(line):
            if block:
                yield start, block
            start, block = n, [line]
        elif block:
            block.append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            block = [line]
    if block:
        yield start, block


def _literal(lines: list[str], line: int, diagnostics: list[Diagnostic]) -> dict[str, Field]:
    head = _KEY_LINE.match(lines[0])
    if head is None:
        raise FrontmatterError(f"cannot be read: {lines[0].strip()[:60]!r} is no 'field: value' line", line)
    name, first = head["key"].strip("\"' "), (head["value"] or "").strip()
    nested = [text for text in lines[1:] if text.strip()]
    if not first and nested and all(text.lstrip().startswith("- ") for text in nested):
        items = [text.lstrip()[2:].strip().strip("\"'") for text in nested]
        diagnostics.append(diagnostic("value_repaired", f"line {line}: the list {name!r} was taken literally"))
        return {name: Field(items, "list", line, " ".join(items))}
    if not first and nested and nested[0][0] in " \t" and _KEY_LINE.match(nested[0].lstrip()):
        return {name: _literal_mapping(lines[1:], line, diagnostics)}
    if first[:1] in ("|", ">"):
        first = ""
    value = _folded([first, *lines[1:]])
    colon = re.search(r":(\s|$)", value) is not None
    if value[:1] in ("'", '"'):
        value = value[1:-1] if value.endswith(value[0]) and len(value) > 1 else value[1:]
    code, why = ("unquoted_colon", "an unquoted colon") if colon else ("value_repaired", "no valid YAML")
    diagnostics.append(diagnostic(code, f"line {line}: the value of {name!r} has {why} and was taken literally"))
    return {name: Field(value, "string", line, value)}


def _literal_mapping(lines: list[str], line: int, diagnostics: list[Diagnostic]) -> Field:
    """Fields one level in, each parsed or repaired for itself."""
    margin = min(len(text) - len(text.lstrip()) for text in lines if text.strip())
    inner = _parse_by_block("\n".join(text[margin:] for text in lines), line + 1, diagnostics)
    source = " ".join(" ".join(lines).split())
    return Field({name: field.value for name, field in inner.items()}, "mapping", line, source)


def _folded(lines: list[str]) -> str:
    """Lines as YAML folds them: one break is a space, a blank line is a break."""
    folded = ""
    for line in (text.strip() for text in lines):
        if not line:
            folded += "\n"
        else:
            folded += line if not folded or folded.endswith("\n") else f" {line}"
    return folded.strip()
