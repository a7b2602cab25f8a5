"""No committed file says where it was made: no package server, no path of this machine, no credentials."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from build_tasks.copies import MIRRORED
from build_tasks.steps import ROOT

SETTINGS = re.compile(r"--(extra-)?index-url|--find-links|--trusted-host|_authToken|^\s*registry\s*=", re.MULTILINE)
SECRETS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bsk-(ant-|proj-)?[A-Za-z0-9_-]{32,}|\bgh[pousr]_[A-Za-z0-9]{36}"
)
PUBLIC = {"pypi.org", "files.pythonhosted.org", "registry.npmjs.org", ""}
COPIES = tuple(target for _, _, target in MIRRORED)


def tracked() -> Iterator[tuple[Path, str]]:
    """Every tracked text file of our own writing: (path, text)."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        file = ROOT / name
        if not file.is_file() or file == Path(__file__) or file.parent in COPIES:
            continue
        try:
            yield file, file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def output(command: list[str]) -> str:
    """What a program prints; nothing where it is not installed."""
    program = shutil.which(command[0])
    return subprocess.run([program, *command[1:]], capture_output=True, text=True).stdout if program else ""


def package_servers() -> set[str]:
    """Hosts the clients on this machine are configured with, the public ones aside."""
    settings = [value for name, value in os.environ.items() if re.match(r"(PIP|UV|NPM_CONFIG)_", name, re.IGNORECASE)]
    settings += map(output, (["pip", "config", "list"], ["npm", "config", "get", "registry"]))
    urls = re.findall(r"https?://[^\s'\"]+", "\n".join(settings))
    return {urlsplit(url).hostname or "" for url in urls} - PUBLIC


@pytest.fixture(scope="module")
def files() -> list[tuple[Path, str]]:
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("not a git checkout")
    return list(tracked())


def test_no_client_settings(files: list[tuple[Path, str]]) -> None:
    assert [str(file) for file, text in files if SETTINGS.search(text) and file.suffix not in (".py", ".md")] == []


def test_no_package_server_of_this_machine(files: list[tuple[Path, str]]) -> None:
    servers = package_servers()
    assert [(str(file), host) for file, text in files for host in servers if host in text] == []


def test_no_path_of_this_machine(files: list[tuple[Path, str]]) -> None:
    places = {str(ROOT), f"{Path.home()}/."}
    assert [(str(file), place) for file, text in files for place in places if place in text] == []


def test_no_credentials(files: list[tuple[Path, str]]) -> None:
    assert [str(file) for file, text in files if SECRETS.search(text)] == []


def test_no_conflict_with_the_ignore_list(files: list[tuple[Path, str]]) -> None:
    command = ["git", "ls-files", "-c", "-i", "--exclude-standard"]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout == ""
