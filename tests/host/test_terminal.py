"""What a person sees of a run, and what is made of what they type."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from agrun_host.terminal import Screen, printable
from agrun_wasm import RunEvent
from tests.fakes.providers import FakeProviders
from tests.host.kit import providers_at_work


def event(type_: str, **detail: Any) -> RunEvent:
    return RunEvent(seq=1, type=type_, run_id="run-1", cycle=1, at=0, detail=detail)


ROWS = [
    (event("action-executing", actionName="add", args={"a": "[red]x", "b": "ü"}), '  → add {"a": "[red]x", "b": "ü"}'),
    (event("action-executed", actionName="add", ok=True, summary="5\nand [/x]"), "  ✓ add: 5 and [/x]"),
    (event("action-executed", actionName="add", ok=True, summary="add: 5"), "  ✓ add: 5"),
    (event("action-executed", actionName="add", ok=False, summary="no"), "  ✗ add: no"),
    (event("action-executed", actionName="add", ok=True, summary=""), "  ✓ add: action-executed"),
    (event("action-failed", actionName="add", error="boom :warning:"), "  ✗ add: boom :warning:"),
    (event("action-timeout", actionName="add", timeoutMs=30), "  ✗ add: action-timeout"),
    (event("policy-denied", actionName="add", reason="tier 3: deny"), "  ⊘ add: tier 3: deny"),
    (
        event("model-retry", code="PROVIDER_TIMEOUT", delayMs=1500, attempt=1),
        "  ↻ PROVIDER_TIMEOUT, asked again in 1.5 s",
    ),
    (event("auto-read", url="https://a.example"), "  → https://a.example"),
    (event("planner-invalid-decision", reason="empty_reply", preview=""), "  ! empty_reply"),
    (event("action-executing", actionName="ask_clarification", args={"question": "?"}), ""),
    (event("cycle-started", stepsLeft=8), ""),
    (event("reasoning-delta", text="hm"), ""),
]


@pytest.mark.parametrize(("shown", "row"), ROWS, ids=lambda part: part.type if isinstance(part, RunEvent) else "")
def test_the_row_of_an_event(capsys: pytest.CaptureFixture[str], shown: RunEvent, row: str) -> None:
    Screen().show(shown)
    assert capsys.readouterr() == ("", f"{row}\n" if row else "")


def test_a_long_row_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().show(event("action-executing", actionName="add", args={"text": "x\n" * 5000}))
    assert len(capsys.readouterr().err) < 600


def test_signs_that_the_terminal_lacks_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    narrow = io.TextIOWrapper(io.BytesIO(), "ascii", errors="replace")
    monkeypatch.setattr(sys, "stderr", narrow)
    screen = Screen()
    for ok in (True, False):
        screen.show(event("action-executed", actionName="add", ok=ok, summary="5"))
    narrow.flush()
    assert narrow.buffer.getvalue() == b"  + add: 5\n  x add: 5\n"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext", "plain\n\ttext"),
        ("a\r\nb", "a\nb"),
        ("\x1b[31mred\x1b]52;c;aGk=\x07", "\\x1b[31mred\\x1b]52;c;aGk=\\x07"),
        ("\x9b2J\x7f", "\\x9b2J\\x7f"),
        ("pay \u202e001\u202c", "pay \\u202e001\\u202c"),
        ("日本 ✓ 👩\u200d🔬", "日本 ✓ 👩\u200d🔬"),
    ],
)
def test_nothing_steers_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


def streaming(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Screen:
    screen = Screen()
    monkeypatch.setattr(screen, "_streams", True)
    return screen


def result(**parts: Any) -> Any:
    from types import SimpleNamespace

    return SimpleNamespace(**{"status": "completed", "text": "", "error": None, "output": {}, **parts})


@pytest.mark.parametrize(
    ("events", "text", "out", "err"),
    [
        ([event("text-delta", text="Hel"), event("text-delta", text="lo.")], "Hello.", "Hello.\n", ""),
        ([event("text-delta", text="Hello.\n")], "Hello.", "Hello.\n", ""),
        ([], "Hello.", "Hello.\n", ""),
        (
            [event("text-delta", text="Hm"), event("answer-superseded", reason="no"), event("text-delta", text="Yes.")],
            "Yes.",
            "Hm\nYes.\n",
            "(no)\n",
        ),
        ([event("text-delta", text="Hm"), event("answer-superseded", reason="no")], "Yes.", "Hm\nYes.\n", "(no)\n"),
        ([event("answer-superseded", reason="nothing was shown")], "Yes.", "Yes.\n", ""),
    ],
)
def test_the_answer_is_printed_once(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    events: list[RunEvent],
    text: str,
    out: str,
    err: str,
) -> None:
    screen = streaming(monkeypatch, capsys)
    for one in events:
        screen.show(one)
    screen.end(result(text=text))
    assert capsys.readouterr() == (out, err)


def test_a_reader_that_is_no_terminal_gets_the_answer_alone(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    for one in (event("text-delta", text="Hm"), event("answer-superseded", reason="no")):
        screen.show(one)
    screen.end(result(text="Yes [red]."))
    assert capsys.readouterr().out == "Yes [red].\n"


class Person:
    """Someone at a real terminal: what they see, and what they type once they see something."""

    def __init__(self, terminal: int, running: subprocess.Popen[bytes]) -> None:
        self._terminal = terminal
        self.running = running
        self.seen = ""

    def see(self, words: str) -> None:
        deadline = time.monotonic() + 20
        while words not in self.seen:
            assert time.monotonic() < deadline, f"{words!r} did not come; seen was:\n{self.seen}"
            self._read(0.05)

    def types(self, text: str) -> None:
        self.seen = ""
        os.write(self._terminal, text.encode())

    def interrupts(self) -> None:
        """Ctrl+C. A person is slower than the moment in which a program begins to read, when it is not heard."""
        time.sleep(0.3)
        self.running.send_signal(signal.SIGINT)

    def leaves(self) -> int:
        """The command's exit code, when it has ended by itself."""
        deadline = time.monotonic() + 20
        while self.running.poll() is None and time.monotonic() < deadline:
            self._read(0.05)
        self._read(0.05)
        return self.running.wait(1)

    def _read(self, seconds: float) -> None:
        if select.select([self._terminal], [], [], seconds)[0]:
            try:
                more = os.read(self._terminal, 65_536).decode("utf-8", "replace")
            except OSError:
                return
            self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", more)


@contextmanager
def at_a_terminal(fake: FakeProviders, **env: str) -> Iterator[Person]:
    import pty

    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "agrun_host",
            "run",
            "hi",
            "-p",
            "openai:m",
            "--base-url",
            fake.url,
            "--system",
            "Be brief.",
        ],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "OPENAI_API_KEY": "k", "TERM": "xterm", "COLUMNS": "80", **env},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Person(ours, running)
    finally:
        running.kill()
        running.wait()
        os.close(ours)


READ = {
    "toolCalls": [{"name": "read_url", "args": {"url": f"https://pages.invalid/{place}"}} for place in ("a", "[red]b")]
}
ASK = {"toolCalls": [{"name": "ask_clarification", "args": {"question": "Which [/tmp]\x1b[2J one?"}}]}
posix = pytest.mark.skipif(os.name != "posix", reason="terminals of this kind")


@posix
def test_approvals_are_asked_for_one_by_one() -> None:
    with providers_at_work(READ, {"text": "Done [/x]."}) as fake, at_a_terminal(fake) as person:
        person.see('"url": "https://pages.invalid/a"')
        person.see("Approve it? [y/n, a: all 2, d: none of them] ")
        person.types("what?\n")
        person.see("Approve it? [y/n, a: all 2, d: none of them] ")
        person.types("n not that one\n")
        person.see('"url": "https://pages.invalid/[red]b"')
        person.see("Approve it? [y/n] ")
        person.types("YES\n")
        person.see("Done [/x].")
        assert person.leaves() == 0
        told = str(fake.seen[1].body["messages"])
        assert "pages.invalid" in told
        assert "the user denied read_url: not that one" in told
        assert person.seen.count("Done") == 1


@posix
@pytest.mark.parametrize(("typed", "denied"), [("d too many\n", 2), ("a\n", 0)])
def test_all_approvals_are_answered_at_once(typed: str, denied: int) -> None:
    with providers_at_work(READ, {"text": "Done."}) as fake, at_a_terminal(fake) as person:
        person.see("a: all 2, d: none of them] ")
        person.types(typed)
        person.see("Done.")
        assert person.leaves() == 0
        assert "Approve it?" not in person.seen
        assert str(fake.seen[1].body["messages"]).count("the user denied read_url: too many") == denied


@posix
def test_a_question_is_answered_in_the_same_conversation() -> None:
    with providers_at_work(ASK, {"text": "That one."}) as fake, at_a_terminal(fake) as person:
        person.see("? Which [/tmp]\\x1b[2J one?\n> ")
        person.types("\n")
        person.see("> ")
        person.types("the [b] one\n")
        person.see("That one.")
        assert person.leaves() == 0
        assert fake.seen[1].body["messages"][-1]["content"] == "the [b] one"
        assert all("Be brief." in str(seen.body["messages"][0]) for seen in fake.seen)


@posix
@pytest.mark.parametrize("reply", [READ, ASK], ids=["approval", "question"])
def test_ctrl_d_leaves_it_unanswered(reply: Mapping[str, Any]) -> None:
    with providers_at_work(reply) as fake, at_a_terminal(fake) as person:
        person.see("> " if reply is ASK else "none of them] ")
        person.types("\x04")
        person.see("not answered")
        assert person.leaves() == 3


@posix
@pytest.mark.parametrize("reply", [READ, ASK], ids=["approval", "question"])
def test_ctrl_c_at_a_question_stops_it(reply: Mapping[str, Any]) -> None:
    with providers_at_work(reply) as fake, at_a_terminal(fake) as person:
        person.see("> " if reply is ASK else "none of them] ")
        person.interrupts()
        person.see("stopped")
        assert person.leaves() == 130
        assert "Traceback" not in person.seen


@posix
def test_ctrl_c_in_the_middle_of_the_answer() -> None:
    with providers_at_work({"text": "Hello there, this is long.", "stallAfter": 3}) as fake:
        with at_a_terminal(fake) as person:
            person.see("Hello")
            person.interrupts()
            person.see("stopped")
            assert person.leaves() == 130
            assert "Traceback" not in person.seen
        deadline = time.monotonic() + 5
        while not fake.stats.closed and time.monotonic() < deadline:
            time.sleep(0.01)
        assert fake.stats.closed == 1


@posix
def test_what_was_typed_before_an_approval_was_shown_is_no_answer() -> None:
    with providers_at_work({**READ, "delayMs": 100}) as fake, at_a_terminal(fake) as person:
        person.see("thinking")
        person.types("y\ny\n")
        person.see("Approve it? [y/n, a: all 2, d: none of them] ")
        time.sleep(0.3)
        person.types("")
        assert person.running.poll() is None
        assert len(fake.seen) == 1


@posix
@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_can_be_switched_off(env: dict[str, str], coloured: bool) -> None:
    advance = {"toolCalls": [{"name": "workspace_list", "args": {}}]}
    with providers_at_work(advance, {"text": "Done."}) as fake, at_a_terminal(fake, **env) as person:
        raw = ""
        while person.running.poll() is None or select.select([person._terminal], [], [], 0.1)[0]:
            try:
                raw += os.read(person._terminal, 65_536).decode()
            except OSError:
                break
        assert ("\x1b[36m" in raw) == coloured
        assert "Done." in raw
