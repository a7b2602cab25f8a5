"""Entries of a Pyodide lock file for wheels that lie beside it. Runs inside Pyodide, at build time.

Owns what `loadPackage` has to know of a wheel: its hash, what it depends on, what it can be imported as. All of it is
read from the wheels, so nothing here names a package but the one that is made here: the stand-in of the native rpds-py.
"""

import hashlib
import json
import re
import zipfile
from email.parser import HeaderParser
from pathlib import Path

EPOCH = (1980, 1, 1, 0, 0, 0)
#: the version whose names the stand-in has; those who ask for rpds-py ask for this one or an older one
RPDS_VERSION = "0.30.0"


def write_rpds(folder: str, module: str) -> None:
    """A wheel named rpds-py whose one module, of the text `module`, is the pure stand-in; the same bytes every time."""
    info = f"rpds_py-{RPDS_VERSION}.dist-info"
    needs = ("pyrsistent-as-rpds-py", "pyrsistent")  # the second is but an extra of the first
    headers = ["Metadata-Version: 2.1", "Name: rpds-py", f"Version: {RPDS_VERSION}"]
    metadata = "\n".join([*headers, *(f"Requires-Dist: {name}" for name in needs)]) + "\n"
    files = {
        "rpds.py": module,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: agrun-web\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = f"{info}/RECORD"
    lines = [f"{name},," for name in [*files, record]]
    with zipfile.ZipFile(Path(folder, f"rpds_py-{RPDS_VERSION}-py3-none-any.whl"), "w", zipfile.ZIP_STORED) as archive:
        for name, text in {**files, record: "\n".join(lines) + "\n"}.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), text)


def entries(folder: str, prefix: str) -> str:
    """JSON: name -> entry, for every wheel of the folder. `prefix` comes before each file's name.

    Raises ValueError for a wheel that needs one that is not in the folder: the lock would not work offline.
    """
    found = {}
    for path in sorted(Path(folder).glob("*.whl")):
        entry = _entry(path, prefix)
        found[entry["name"]] = entry
    for entry in found.values():
        if missing := [name for name in entry["depends"] if name not in found]:
            raise ValueError(f"{entry['file_name']} needs {', '.join(missing)}, of which no wheel is in the bundle")
    return json.dumps(found)


def _entry(path: Path, prefix: str) -> dict[str, object]:
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        metadata = next(name for name in names if name.count("/") == 1 and name.endswith(".dist-info/METADATA"))
        headers = HeaderParser().parsestr(wheel.read(metadata).decode())
    return {
        "name": _normal(headers["Name"]),
        "version": headers["Version"],
        "file_name": prefix + path.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": sorted(_imports(names)),
        "depends": sorted(_depends(headers.get_all("Requires-Dist") or [])),
        "unvendored_tests": False,
    }


def _depends(requirements: list[str]) -> set[str]:
    """Those of every environment: what has a marker is for an extra or for another Python than Pyodide's."""
    plain = [text for text in requirements if ";" not in text]
    return {_normal(re.match(r"[A-Za-z0-9._-]+", text.strip())[0]) for text in plain}


def _imports(names: list[str]) -> set[str]:
    tops = {name.split("/")[0] for name in names if name.endswith((".py", ".so"))}
    return {top.split(".")[0] for top in tops if not top.endswith((".dist-info", ".data"))}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
