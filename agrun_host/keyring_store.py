"""Provider keys in the system's keyring, and the commands `agrun keys set`, `list` and `remove`.

Owned here: the keyring's service name, and what is said where there is none. A key is typed unseen or read from
standard input, never an argument: those stand in histories and process lists. Needs the extra `keyring`.
"""

from __future__ import annotations

import getpass
import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agrun_host.keys import KEY_VARIABLES
from agrun_host.options import refuse
from agrun_wasm import AgrunError
from agrun_wasm.contracts.naming import did_you_mean

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["KeyringUnusable", "app", "key_in_keyring"]

SERVICE = "agrun"

app = typer.Typer(help="Keys of providers in this system's keyring.", no_args_is_help=True, rich_markup_mode=None)
ProviderName = Annotated[str, typer.Argument(help=f"One of {', '.join(KEY_VARIABLES)}.", metavar="PROVIDER")]


class KeyringUnusable(AgrunError):
    """There is no keyring here, or it refuses."""

    code = "KEYRING_UNUSABLE"


def key_in_keyring(provider: str) -> str | None:
    """The provider's key; None where there is none, and where no keyring can be used."""
    try:
        return _asked("get", provider)
    except KeyringUnusable:
        return None


@app.command("set")
def set_key(provider: ProviderName) -> None:
    """Keep a provider's key: typed unseen, or from standard input.

    \b
      agrun keys set openai
      agrun keys set openai < key.txt
    """
    from agrun_host.terminal import Screen

    screen = Screen()
    _known(provider)
    try:
        key = (getpass.getpass(f"Key of {provider}: ") if sys.stdin.isatty() else sys.stdin.readline()).strip()
        if not key:
            refuse(screen, "no key was given", "Type it, or give it on standard input.")
        _asked("set", provider, key)
    except AgrunError as error:
        refuse(screen, error.message, error.hint)
    except (EOFError, KeyboardInterrupt):
        raise typer.Exit(130) from None
    screen.note(f"the key of {provider} is in the keyring")


@app.command("list", short_help="Name the providers that have a key.")
def list_keys(
    as_json: Annotated[bool, typer.Option("--json", help="Print them as a JSON list.")] = False,
) -> None:
    """Name the providers that have a key in the keyring; no key is shown.

    \b
      agrun keys list
    """
    from agrun_host.terminal import Screen

    try:
        found = [provider for provider in KEY_VARIABLES if _asked("get", provider)]
        print(json.dumps(found) if as_json else "\n".join(found), end="\n" if found or as_json else "")
    except AgrunError as error:
        refuse(Screen(), error.message, error.hint)


@app.command("remove")
def remove_key(provider: ProviderName) -> None:
    """Take a provider's key out of the keyring.

    \b
      agrun keys remove openai
    """
    from agrun_host.terminal import Screen

    screen = Screen()
    _known(provider)
    try:
        if not _asked("get", provider):
            refuse(screen, f"the keyring has no key of {provider}")
        _asked("delete", provider)
    except AgrunError as error:
        refuse(screen, error.message, error.hint)
    screen.note(f"the key of {provider} is removed")


def _known(provider: str) -> None:
    if provider not in KEY_VARIABLES:
        from agrun_host.terminal import Screen

        refuse(Screen(), f"unknown provider {provider!r}{did_you_mean(provider, KEY_VARIABLES)}")


def _asked(what: str, provider: str, *key: str) -> str | None:
    """A call of the keyring; its failures in words that hold no key."""
    keyring = _keyring()
    call = getattr(keyring, f"{what}_password")
    try:
        found: str | None = call(SERVICE, provider, *key)
    except Exception as fault:
        raise KeyringUnusable(
            f"the keyring of this system cannot be used ({type(fault).__name__})",
            hint=f"Unlock or install one, or set {KEY_VARIABLES[provider][0]} in the environment instead.",
        ) from None
    return found


def _keyring() -> ModuleType:
    try:
        import keyring
    except ImportError:
        raise KeyringUnusable(
            "keys in a keyring need the package keyring", hint="pip install 'agrun-host[keyring]'"
        ) from None
    return keyring
