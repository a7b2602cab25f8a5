"""Both wheels hold their package, whole and alone."""

from __future__ import annotations

import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from build_tasks import products
from build_tasks.steps import ROOT


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Package name -> wheel, built from the tree as it is."""
    folder = tmp_path_factory.mktemp("wheels")
    products.build_wheels(folder)
    return {file.name.split("-")[0]: file for file in folder.iterdir()}


def members(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def sources(folder: Path, prefix: str) -> set[str]:
    found = (file for file in folder.rglob("*") if file.is_file() and not products.DERIVED_PARTS & set(file.parts))
    return {f"{prefix}/{file.relative_to(folder).as_posix()}" for file in found}


def metadata(wheel: Path, name: str) -> dict[str, list[str]]:
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (member for member in archive.namelist() if member.endswith(f".dist-info/{name}"))
        message = Parser().parsestr(archive.read(path).decode())
    return {key: message.get_all(key, []) for key in message}


def test_both_are_pure(wheels: dict[str, Path]) -> None:
    assert set(wheels) == {"agrun_wasm", "agrun_host"}
    assert all(file.name.endswith("-py3-none-any.whl") for file in wheels.values())


def test_the_core_holds_every_module_and_nothing_else(wheels: dict[str, Path]) -> None:
    assert members(wheels["agrun_wasm"]) == sources(ROOT / "agrun_wasm", "agrun_wasm")


def test_the_host_holds_its_modules_and_the_bundled_skills(wheels: dict[str, Path]) -> None:
    own = sources(ROOT / "agrun_host", "agrun_host") - {"agrun_host/pyproject.toml"}
    skills = sources(ROOT / "skills", "agrun_host/_skills")
    assert members(wheels["agrun_host"]) == own | skills


def test_the_core_needs_five_packages(wheels: dict[str, Path]) -> None:
    needs = metadata(wheels["agrun_wasm"], "METADATA")["Requires-Dist"]
    names = {need.split("<")[0].split(">")[0] for need in needs}
    assert names == {"pydantic", "jsonschema", "justhtml", "markdown-it-py", "ruamel.yaml"}


def test_the_same_tree_gives_the_same_bytes(wheels: dict[str, Path], tmp_path: Path) -> None:
    products.build_wheels(tmp_path)
    again = {file.name.split("-")[0]: file for file in tmp_path.iterdir()}
    assert {name: file.read_bytes() for name, file in again.items()} == {
        name: file.read_bytes() for name, file in wheels.items()
    }
