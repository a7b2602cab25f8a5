"""site.zip: every Python package of the page, compiled by the interpreter that will run them. Runs inside Pyodide, at
build time.

Owns what goes into the zip and how. The same inputs give the same bytes: names are sorted, dates fixed, code objects
unchecked. A package with a native module cannot be imported from a zip, so its Python files stand under `native/`, from
where the boot writes them beside the side module.
"""

import importlib.util
import json
import marshal
import struct
import sys
import zipfile
from pathlib import Path
from types import CodeType

from compression import zstd

#: what no page needs: tests, commands, another pydantic, tools for other tools
LEFT_OUT = (
    "annotated_types/test_cases.py",
    "jsonschema/__main__.py",
    "jsonschema/benchmarks",
    "jsonschema/cli.py",
    "jsonschema/tests",
    "jsonschema_specifications/tests",
    "justhtml/__main__.py",
    "markdown_it/cli",
    "pydantic/_hypothesis_plugin.py",
    "pydantic/experimental",
    "pydantic/mypy.py",
    "pydantic/v1",
    "pyrsistent/typing.py",
    "referencing/tests",
    "ruamel/yaml/clibz",
    "ruamel/yaml/cyaml.py",
)
LEFT_OUT_SUFFIXES = (".pyi", ".typed", ".so", ".h", ".c")
#: of a `.dist-info` folder only what a program can ask for at run time
KEPT_INFO = ("METADATA", "entry_points.txt")
EPOCH = (1980, 1, 1, 0, 0, 0)
#: rpds-py is native; its pure stand-in has the same names
RPDS = "import sys\n\nimport pyrsistent_as_rpds.pure\n\nsys.modules[__name__] = pyrsistent_as_rpds.pure\n"
OWN = "agrun_wasm"
SMALLEST = zstd.CompressionParameter.compression_level.bounds()[1]
UNCHECKED = 0b01  # PEP 552: a hash-based .pyc whose source is never looked for


def build(root: str, native: list[str], target: str) -> None:
    """Writes the archive of the packages under `root` to `target`; `native` names those that need the file system."""
    folder = Path(root)
    (folder / "rpds.py").write_text(RPDS)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    entries = dict(_entry(path, path.relative_to(folder).as_posix(), native) for path in files if _kept(path, folder))
    # Stored, and packed as a whole: smaller than packing each file, and nothing to unpack at an import.
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(entries):
            archive.writestr(zipfile.ZipInfo(name, EPOCH), entries[name])


def pack(source: str, target: str) -> None:
    Path(target).write_bytes(zstd.compress(Path(source).read_bytes(), level=SMALLEST))


def licenses(root: str) -> str:
    """The licence texts of the packages, as their wheels hold them."""
    parts = []
    for info in sorted(Path(root).glob("*.dist-info")):
        texts = [path for path in sorted(info.rglob("*")) if path.is_file() and _is_license(path.name)]
        parts += [f"==== {info.name.removesuffix('.dist-info')}: {path.name}\n\n{path.read_text()}" for path in texts]
    return "\n".join(parts)


def _is_license(name: str) -> bool:
    return name.upper().startswith(("LICENSE", "LICENCE", "COPYING", "NOTICE"))


def _kept(path: Path, folder: Path) -> bool:
    name = path.relative_to(folder).as_posix()
    if any(name == part or name.startswith(part + "/") for part in LEFT_OUT) or "__pycache__" in name:
        return False
    if ".dist-info/" in name:
        return path.name in KEPT_INFO
    return not name.endswith(LEFT_OUT_SUFFIXES)


def _entry(path: Path, name: str, native: list[str]) -> tuple[str, bytes]:
    target = f"native/{name}" if name.split("/")[0] in native else name
    if path.name == "METADATA":
        return target, path.read_bytes().split(b"\n\n")[0] + b"\n"  # the headers without the README
    if path.suffix != ".py":
        return target, path.read_bytes()
    return target + "c", _compiled(path.read_bytes(), name)


def _compiled(source: bytes, name: str) -> bytes:
    """Without docstrings and asserts, and others' code without line tables too: together half of the size."""
    code = compile(source, name, "exec", dont_inherit=True, optimize=2)
    header = importlib.util.MAGIC_NUMBER + struct.pack("<L", UNCHECKED) + importlib.util.source_hash(source)
    return header + marshal.dumps(code if name.startswith(f"{OWN}/") else _without_lines(code))


def _without_lines(code: CodeType) -> CodeType:
    constants = tuple(_without_lines(value) if isinstance(value, CodeType) else value for value in code.co_consts)
    return code.replace(co_linetable=b"", co_consts=constants)


def schemas(archive: str, root: str) -> str:
    """The JSON Schemas of the contracts, read from the archive just built (so that it is seen to work)."""
    sys.path[:0] = [archive, root]  # the latter only for the native package
    from agrun_wasm.contracts.schemas import json_schemas

    return json.dumps(json_schemas(), sort_keys=True)
