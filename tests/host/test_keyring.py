"""`agrun keys`: a key is kept, used and removed without being shown; where no keyring is, that is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoKeyring
from typer.testing import CliRunner, Result

from agrun_host.cli import app
from agrun_host.keys import KEY_VARIABLES
from tests.host.kit import providers_at_work

KEY = "sk-marker-0123456789"


class InMemory(KeyringBackend):
    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


class Locked(InMemory):
    def get_password(self, service: str, username: str) -> str | None:
        raise RuntimeError(KEY)


@pytest.fixture
def kept() -> Iterator[InMemory]:
    before, mine = keyring.get_keyring(), InMemory()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(before)


def agrun(*arguments: str, stdin: str | None = None, env: Mapping[str, str | None] | None = None) -> Result:
    none: dict[str, str | None] = {variable: None for variables in KEY_VARIABLES.values() for variable in variables}
    return CliRunner().invoke(app, list(arguments), input=stdin, env={**none, "HTTP_PROXY": None, **(env or {})})


def test_a_key_is_kept_named_and_removed_and_never_shown(kept: InMemory) -> None:
    done = [agrun("keys", "set", "openai", stdin=f"{KEY}\n"), agrun("keys", "list")]
    assert kept.kept == {("agrun", "openai"): KEY}
    done += [agrun("keys", "remove", "openai"), agrun("keys", "list")]
    assert kept.kept == {}
    assert [result.exit_code for result in done] == [0, 0, 0, 0]
    assert [result.stdout for result in done] == ["", "openai\n", "", ""]
    assert all(KEY not in result.stdout + result.stderr for result in done)


@pytest.mark.parametrize(("variable", "sent"), [(None, KEY), ("sk-from-the-environment", "sk-from-the-environment")])
def test_a_run_takes_it_where_the_environment_has_none(kept: InMemory, variable: str | None, sent: str) -> None:
    kept.set_password("agrun", "openai", KEY)
    with providers_at_work({"text": f"It is {KEY}."}) as fake:
        result = agrun("run", "hi", "-p", "openai:m", "--base-url", fake.url, env={"OPENAI_API_KEY": variable})
        assert fake.seen[0].headers["authorization"] == f"Bearer {sent}"
    assert variable is not None or result.stdout == "It is [redacted].\n"


WRONG = [
    (("set", "opnai"), "unknown provider 'opnai'; did you mean 'openai'?"),
    (("set", "openai"), "no key was given"),
    (("remove", "gemini"), "the keyring has no key of gemini"),
    (("set", "openai", KEY), "unexpected extra argument"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG)
def test_a_wrong_command_says_what_is_wrong(kept: InMemory, arguments: tuple[str, ...], said: str) -> None:
    result = agrun("keys", *arguments, stdin="\n")
    assert (result.exit_code, kept.kept) == (2, {})
    assert said in result.stderr


@pytest.mark.parametrize("backend", [NoKeyring(), Locked()], ids=["none", "locked"])
def test_a_keyring_that_cannot_be_used_says_what_to_do(kept: InMemory, backend: KeyringBackend) -> None:
    keyring.set_keyring(backend)
    result = agrun("keys", "list")
    assert result.exit_code == 2
    assert "the keyring of this system cannot be used" in result.stderr
    assert "OPENAI_API_KEY in the environment instead" in result.stderr
    assert KEY not in result.stderr
    run = agrun("run", "hi", "-p", "openai:m")
    assert run.exit_code == 2
    assert "`agrun keys set openai`" in run.stderr
