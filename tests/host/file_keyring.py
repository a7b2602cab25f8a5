"""A keyring in a file, for commands that each run in a process of their own (PYTHON_KEYRING_BACKEND)."""

from __future__ import annotations

import json
from pathlib import Path

from keyring.backend import KeyringBackend

__all__ = ["FileKeyring"]


class FileKeyring(KeyringBackend):
    """Keeps passwords in `keyring.json` in the home folder."""

    priority = 1

    def get_password(self, service: str, username: str) -> str | None:
        return _kept().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        _keep({**_kept(), f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        _keep({name: password for name, password in _kept().items() if name != f"{service}/{username}"})


def _kept() -> dict[str, str]:
    file = Path.home() / "keyring.json"
    found: dict[str, str] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def _keep(passwords: dict[str, str]) -> None:
    (Path.home() / "keyring.json").write_text(json.dumps(passwords), encoding="utf-8")
