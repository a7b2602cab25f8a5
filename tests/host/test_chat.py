"""`agrun chat`, in a real terminal and in a pipe."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner, Result

from agrun_host.cli import app
from tests.host.kit import providers_at_work

pty = pytest.importorskip("pty")

KEY = "sk-marker-0123456789"
ASKS = {"toolCalls": [{"name": "read_url", "args": {"url": "https://pages.invalid/a"}}]}


class Terminal:
    """The command in a pseudo-terminal: what it wrote so far, and what is typed."""

    def __init__(self, url: str, term: str) -> None:
        self._side, other = pty.openpty()
        environment = {**os.environ, "OPENAI_API_KEY": KEY, "TERM": term, "COLUMNS": "80", "LINES": "24"}
        for name in ("NO_COLOR", "HTTP_PROXY", "http_proxy"):
            environment.pop(name, None)
        command = [sys.executable, "-m", "agrun_host", "chat", "-p", "openai:m", "--base-url", url]
        self.process = subprocess.Popen(
            command, stdin=other, stdout=other, stderr=other, env=environment, start_new_session=True
        )
        os.close(other)
        self.seen = ""

    def wait_for(self, text: str) -> None:
        """Reads until the text has come; fails when nothing comes any more."""
        while text not in self.seen:
            ready, _, _ = select.select([self._side], [], [], 15)
            assert ready, f"{text!r} did not come after {self.seen!r}"
            try:
                self.seen += os.read(self._side, 65_536).decode("utf-8", "replace")
            except OSError:
                raise AssertionError(f"it ended without {text!r}: {self.seen!r}") from None

    def type(self, text: str) -> None:
        self.seen = ""
        os.write(self._side, text.encode())

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._side)


@contextmanager
def terminal(url: str, term: str = "xterm") -> Iterator[Terminal]:
    opened = Terminal(url, term)
    try:
        opened.wait_for("> ")
        yield opened
    finally:
        opened.close()


def test_turns_know_those_before_and_answers_are_drawn_as_markdown() -> None:
    with providers_at_work({"text": "It is **bold**."}, {"text": "Again."}) as fake, terminal(fake.url) as chat:
        chat.type("first\n")
        chat.wait_for("\x1b[1mbold\x1b[0m")
        chat.wait_for("> ")
        chat.type("second\n")
        chat.wait_for("Again.")
        chat.wait_for("> ")
        time.sleep(0.5)  # a person is slower than the moment in which the terminal is set up for a line
        chat.type("\x04")
        assert chat.process.wait(timeout=15) == 0
        told = str(fake.seen[1].body["messages"])
    assert "first" in told
    assert "It is **bold**." in told


def test_ctrl_c_stops_the_answer_and_the_conversation_goes_on() -> None:
    stalls = {"text": "Hello there, this is long.", "stallAfter": 2}
    with providers_at_work(stalls, {"text": "Here again."}) as fake, terminal(fake.url) as chat:
        chat.type("first\n")
        chat.wait_for("Hello")
        chat.process.send_signal(signal.SIGINT)
        chat.wait_for("stopped")
        chat.wait_for("> ")
        chat.type("second\n")
        chat.wait_for("Here again.")


def test_a_second_ctrl_c_leaves_and_keeps_what_was_said() -> None:
    with providers_at_work({"text": "Hello there, this is long.", "stallAfter": 2}) as fake, terminal(fake.url) as chat:
        chat.type("first\n")
        chat.wait_for("Hello")
        chat.process.send_signal(signal.SIGINT)
        chat.wait_for("stopped")
        chat.wait_for("> ")
        assert "Hello" in chat.seen
        time.sleep(0.5)
        chat.process.send_signal(signal.SIGINT)
        assert chat.process.wait(timeout=15) == 130
        assert "Traceback" not in chat.seen


def test_an_earlier_line_comes_back_behind_the_prompt() -> None:
    with providers_at_work({"text": "One."}, {"text": "Two."}) as fake, terminal(fake.url) as chat:
        chat.type("first\n")
        chat.wait_for("One.")
        chat.wait_for("> ")
        time.sleep(0.5)
        chat.type("\x1b[A")
        chat.wait_for("first")
        assert "\x1b[K" not in chat.seen.partition("first")[0], "the prompt is not taken away"
        chat.type("\n")
        chat.wait_for("Two.")


def test_an_approval_is_asked_for_in_between() -> None:
    with providers_at_work(ASKS, {"text": "Not read."}) as fake, terminal(fake.url) as chat:
        chat.type("read\n")
        chat.wait_for("Approve it? [y/n] ")
        chat.type("n\n")
        chat.wait_for("Not read.")


def test_a_dumb_terminal_gets_the_text_as_it_is() -> None:
    with providers_at_work({"text": "It is **bold**."}) as fake, terminal(fake.url, "dumb") as chat:
        chat.type("first\n")
        chat.wait_for("It is **bold**.")
        chat.wait_for("> ")
        assert "\x1b[" not in chat.seen


def piped(*lines: str) -> Result:
    with providers_at_work({"text": "One **bold**."}, {"text": "Two."}) as fake:
        arguments = ["chat", "-p", "openai:m", "--base-url", fake.url]
        environment = {"OPENAI_API_KEY": KEY, "HTTP_PROXY": None}
        result = CliRunner().invoke(app, arguments, input="".join(f"{line}\n" for line in lines), env=environment)
        result.requests = [str(seen.body) for seen in fake.seen]  # type: ignore[attr-defined]
        return result


def test_in_a_pipe_each_line_is_a_turn_and_answers_alone_are_on_standard_output() -> None:
    result = piped("first", "", "second")
    assert (result.exit_code, result.stdout) == (0, "One **bold**.\nTwo.\n")


def test_new_forgets_and_quit_ends() -> None:
    result = piped("zebra crossing", "/new", "second", "/quit", "third")
    assert result.stdout == "One **bold**.\nTwo.\n"
    assert "zebra" not in result.requests[1]  # type: ignore[attr-defined]


def test_a_wrong_command_is_answered_with_the_right_ones() -> None:
    said = piped("/nwe").stderr
    assert "unknown command '/nwe'; did you mean '/new'?" in said
    assert "/quit  end (as Ctrl+D does)" in said
