"""Every task of this project that a person needs, with nothing but Python >= 3.11 and Node >= 20 installed.

    python build.py demo      sets everything up, builds, shows one run, serves the page
    python build.py test      sets up what the tests need and runs them all

Each task says what it does and how long each step took, and skips the steps whose inputs have not changed.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):
    sys.exit("Python >= 3.11 is needed, this is " + sys.version.split()[0] + " (" + sys.executable + ")")

import argparse
from collections.abc import Callable

from build_tasks import checks, copies, environment, products
from build_tasks.steps import TaskError, foreground, require, say

PORT = 8000
DEMO_PROMPT = "How many kilometres are 26.2 miles?"


def serve(port: int) -> int:
    """Serve web/dist on this machine until stopped."""
    say("==> The page, served by agrun_host")
    page = environment.WEB / "dist"
    return foreground(
        [environment.program("agrun"), "serve", "--database", "none", "--directory", page, "--port", str(port)]
    )


def demo(port: int, *, then_serve: bool) -> int:
    """From a bare checkout to an agent: one run in the terminal, then the page."""
    products.web()
    say(f"==> One run in the terminal, without a key: {DEMO_PROMPT}")
    require([environment.program("agrun"), "run", DEMO_PROMPT, "--provider", "offline"])
    return serve(port) if then_serve else 0


def build_and_serve(port: int) -> int:
    products.web()
    return serve(port)


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(
        prog="build.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tasks = root.add_subparsers(dest="task", metavar="TASK", required=True)

    def task(name: str, help_text: str, run: Callable[[argparse.Namespace], int | None]) -> argparse.ArgumentParser:
        added = tasks.add_parser(name, help=help_text, description=help_text)
        added.set_defaults(run=run)
        return added

    def port(added: argparse.ArgumentParser) -> argparse.ArgumentParser:
        added.add_argument("--port", type=int, default=PORT, help=f"port on 127.0.0.1 (default {PORT})")
        return added

    def passed_on(added: argparse.ArgumentParser, receiver: str) -> None:
        added.add_argument("arguments", nargs="*", metavar="ARG", help=f"for {receiver}, after `--`")

    task("setup", "create .venv and web/node_modules from the lock files", lambda _: environment.setup())
    task("wheel", "build both wheels into dist/wheels", lambda _: products.wheel())
    task("web", "build the page into web/dist", lambda _: products.web())
    task("snapshot", "add a memory snapshot to web/dist, made in Chromium", lambda _: products.snapshot())
    added = task("demo", "set up, build, show one run, serve the page", lambda a: demo(a.port, then_serve=a.serve))
    port(added).add_argument("--no-serve", dest="serve", action="store_false", help="end after the run in the terminal")
    port(task("serve", "build the page and serve it with agrun_host", lambda a: build_and_serve(a.port)))
    passed_on(task("test", "set up what the tests need, run them all", lambda a: checks.test(a.arguments)), "pytest")
    task("check", "ruff, mypy --strict and the page's type check", lambda _: checks.check())
    passed_on(task("bench", "run the benchmarks", lambda a: checks.bench(a.arguments)), "tests.bench")
    task("schema", "write schemas/*.json from the contracts", lambda _: copies.schema())
    task("sync", "copy the shared scenarios and cases into tests/", lambda _: copies.sync())
    added = task("clean", "remove what was built", lambda a: products.clean(everything=a.all))
    added.add_argument("--all", action="store_true", help="also .venv and web/node_modules")
    return root


def main() -> int:
    arguments = parser().parse_args()
    try:
        return arguments.run(arguments) or 0
    except TaskError as error:
        print(f"build.py {arguments.task}: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
