"""The warm start, Python's side: what is put into a memory snapshot, and what is done to a Python that comes from one.

A snapshot is made and restored by web/src/boot/; must not know how, nor where it is kept.
"""

from __future__ import annotations

import gc
import importlib
import pkgutil
import random
import time
from collections.abc import Iterator

from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError

import agrun_wasm
from agrun_wasm.browser.border import from_text, to_text
from agrun_wasm.contracts.base import Contract
from agrun_wasm.skills.frontmatter import read_frontmatter
from agrun_wasm.text.html import html_to_markdown
from agrun_wasm.text.markdown import headings

__all__ = ["prepare", "wake"]

#: of Python's own library: what is imported late, by us or by the tools of skills
LATE = (
    "csv",
    "decimal",
    "difflib",
    "email.utils",
    "fractions",
    "hashlib",
    "ipaddress",
    "secrets",
    "statistics",
    "uuid",
)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}


def prepare() -> None:
    """Imports all of agrun_wasm, and uses once what builds itself at its first use."""
    for found in pkgutil.walk_packages(agrun_wasm.__path__, "agrun_wasm."):
        importlib.import_module(found.name)
    for name in LATE:
        importlib.import_module(name)
    for contract in _subclasses(Contract):
        contract.model_rebuild()
    read_frontmatter("name: a\ntags: [b]", 1)
    headings("# a")
    html_to_markdown("<p>a</p>")
    _prove()
    gc.collect()


def wake() -> None:
    """Makes this Python another one than its siblings from the same snapshot. Raises where something does not work."""
    random.seed()  # what asks the system for its randomness gets this page's
    _read_time_zone()
    importlib.invalidate_caches()
    _prove()


def _read_time_zone() -> None:
    """What the module `time` reads once, when Python starts."""
    year = time.localtime().tm_year
    halves = [time.localtime(time.mktime((year, month, 1, 12, 0, 0, 0, 0, -1))) for month in (1, 7)]
    standard, summer = sorted(halves, key=lambda half: half.tm_gmtoff)
    values = {
        "timezone": -standard.tm_gmtoff,
        "altzone": -summer.tm_gmtoff,
        "daylight": int(standard.tm_gmtoff != summer.tm_gmtoff),
        "tzname": (standard.tm_zone, summer.tm_zone),
    }
    vars(time).update(values)


def _prove() -> None:
    """A new model checks values, a schema checks values, text crosses: native code, its errors and ours at once."""

    class Probe(BaseModel):
        n: int
        name: str = "x"

    if Probe.model_validate({"n": "3"}).model_dump() != {"n": 3, "name": "x"}:
        raise RuntimeError("a model does not validate")
    try:
        Probe.model_validate({"n": "three"})
    except ValidationError as error:
        if error.errors()[0]["type"] != "int_parsing":
            raise RuntimeError("a model refuses for another reason") from error
    else:
        raise RuntimeError("a model accepts what it must refuse")
    validator = Draft202012Validator(SCHEMA)
    if not validator.is_valid({"n": 1}) or validator.is_valid({"n": 0}) or validator.is_valid({}):
        raise RuntimeError("a schema does not check")
    if from_text(to_text({"n": [1.5, None, "é"]})) != {"n": [1.5, None, "é"]}:
        raise RuntimeError("text does not cross")


def _subclasses(base: type[Contract]) -> Iterator[type[Contract]]:
    for subclass in base.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)
