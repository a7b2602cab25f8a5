"""From the options of a command that drives a run to its exit code: shared by `run` and `resume`.

Owned here: cassettes, spans and keys of such a command, and what ends it early. Must not know: what is asked, and how
things look.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

import typer

from agrun_host.options import database_url, refuse
from agrun_host.runs import NoSuchRun
from agrun_host.telemetry_export import telemetry
from agrun_wasm import AgrunError, RunResult
from agrun_wasm.contracts.config import RuntimeConfig

if TYPE_CHECKING:
    from agrun_host.begun import Begun
    from agrun_host.cassette import Cassette
    from agrun_host.terminal import Screen
    from agrun_wasm import Runtime
    from agrun_wasm.runtime.starting import RunStart

__all__ = [
    "EXIT_CODES",
    "AsJson",
    "DriveOptions",
    "Otel",
    "Record",
    "Replay",
    "SaveState",
    "drive",
    "drive_kept",
    "runtime_of",
]

#: status -> exit code; 2 is a wrong command line or config
EXIT_CODES = {"completed": 0, "failed": 1, "blocked": 3, "continuation": 4, "aborted": 130}

AsJson = Annotated[bool, typer.Option("--json", help="Print events and the result as JSON, a line each; ask nobody.")]
Record = Annotated[Path | None, typer.Option(metavar="FILE", help="Keep all traffic in a cassette, without keys.")]
Replay = Annotated[Path | None, typer.Option(metavar="FILE", help="Answer from a cassette alone: no network, no key.")]
SaveState = Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the state at the end, for `agrun resume`.")]

Otel = Annotated[
    bool, typer.Option("--otel", help="Send OpenTelemetry spans and metrics; without it OTEL_* switch that on.")
]


class DriveOptions(NamedTuple):
    """What `run` and `resume` share beside what they drive."""

    record: Path | None
    replay: Path | None
    save_state: Path | None
    otel: bool
    as_json: bool


def drive(
    screen: Screen,
    config: Callable[[], RuntimeConfig],
    start: Callable[[Runtime], RunStart],
    request: Mapping[str, Any],
    options: DriveOptions,
) -> NoReturn:
    """A run from its options to the command's exit code."""
    from agrun_host.driving import run_as_json, run_shown

    with _told(screen), telemetry(screen, wanted=options.otel) as instrument:
        cassette = _cassette(screen, options.record, options.replay)
        runtime = instrument(runtime_of(screen, config(), cassette))

        def next_turn(session: str, said: str) -> RunStart:
            return runtime.session(session).stream({**request, "prompt": said})

        if options.as_json:
            result = run_as_json(runtime, start(runtime), cassette)
        else:
            result = run_shown(runtime, start(runtime), screen, next_turn, cassette)
        if options.save_state is not None:
            _save(screen, options.save_state, result)
    _exit(screen, result, cassette)


def drive_kept(
    screen: Screen, config: Callable[[], RuntimeConfig], begun: Begun, database: str | None, options: DriveOptions
) -> NoReturn:
    """The same for a run that is kept in a database."""
    from agrun_host.kept import Kept, follow_kept

    if options.save_state is not None:
        refuse(screen, "--save-state is for runs that are kept nowhere else; the database has the state of this one")
    interrupted = f"interrupted; agrun resume {begun.run_id} goes on with it"
    with _told(screen, interrupted), telemetry(screen, wanted=options.otel) as instrument:
        cassette = _cassette(screen, options.record, options.replay)
        made = config()

        def make_runtime(**ports: Any) -> Runtime:
            return instrument(runtime_of(screen, made, cassette, **ports))

        kept = Kept(make_runtime, database_url(database), cassette)
        result = follow_kept(kept, begun, screen, as_json=options.as_json)
    _exit(screen, result, cassette)


@contextmanager
def _told(screen: Screen, interrupted: str = "stopped") -> Iterator[None]:
    """What ends a command early, in words and as its exit code."""
    try:
        yield
    except NoSuchRun as error:
        refuse(screen, f"there is no run {error.args[0]!r} in this database", "`agrun runs` lists those that it has.")
    except AgrunError as error:
        refuse(screen, error.message, error.hint)
    except KeyboardInterrupt:
        screen.note(interrupted)
        raise typer.Exit(EXIT_CODES["aborted"]) from None


def _exit(screen: Screen, result: RunResult, cassette: Cassette | None) -> NoReturn:
    told = result.error.message if result.error else ""
    for miss in cassette.misses if cassette else []:
        if miss.message not in told:
            screen.problem(miss.message, miss.hint)
    missed = cassette is not None and bool(cassette.misses)
    raise typer.Exit(EXIT_CODES["failed"] if missed else EXIT_CODES[result.status])


def _cassette(screen: Screen, record: Path | None, replay: Path | None) -> Cassette | None:
    """The open cassette of a command, None without one. Raises CASSETTE_INVALID and CASSETTE_VERSION_UNSUPPORTED."""
    if record is not None and replay is not None:
        refuse(screen, "--record and --replay exclude each other")
    path = record or replay
    if path is None:
        return None
    from agrun_host.cassette import Cassette

    cassette = Cassette(path, "record" if record else "replay")
    cassette.open()
    return cassette


def runtime_of(screen: Screen, config: RuntimeConfig, cassette: Cassette | None, **ports: Any) -> Runtime:
    from pydantic import SecretStr

    from agrun_host.keyring_store import key_in_keyring
    from agrun_host.keys import missing_key, with_key
    from agrun_host.runtime import Runtime

    config = with_key(config, stored=None if cassette and cassette.mode == "replay" else key_in_keyring)
    if problem := missing_key(config):
        if cassette is None or cassette.mode == "record":
            refuse(screen, problem)
        # Nobody is asked, so nobody looks at it; the dialects want one before they make a request.
        signed = config.provider_config().model_copy(update={"api_key": SecretStr("from-a-cassette")})
        config = config.model_copy(update={"provider": signed})
    return Runtime(config, fetch=cassette.fetch if cassette else None, **ports)


def _save(screen: Screen, path: Path, result: RunResult) -> None:
    try:
        path.write_text(json.dumps(result.state, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as fault:
        screen.problem(f"the state cannot be kept in {path}: {fault.strerror}")
