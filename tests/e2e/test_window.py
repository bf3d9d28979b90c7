"""A person at the real window: the main job by clicks and keys, and what can come between."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton, QTextBrowser, QWidget

from desktop_agent import paths
from desktop_agent.core.messages import open_calls
from desktop_agent.core.requests import Limits
from desktop_agent.gui.transcript.cards.approval_card import ApprovalCard
from tests.adapters.sandbox.conftest import need_sandbox
from tests.e2e import job, wire
from tests.helpers.engines import history_of
from tests.helpers.patience import HANG_MS as WAIT
from tests.helpers.processes import pid_here
from tests.helpers.providers import DIALECTS, Calls, Fail, Reset, Say, Wait
from tests.helpers.windows import backend_of

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
SLOW = """#!/bin/sh
echo $$ > pid
echo "it works on it"
while [ ! -e go ]; do sleep 0.02; done
echo "it is done"
"""


class Person:
    """Looks at one window, clicks and types. Every wait is for something to be seen."""

    def __init__(self, qtbot, window):
        self.qtbot = qtbot
        self.window = window

    def until(self, is_met):
        self.qtbot.waitUntil(lambda: bool(is_met()), timeout=WAIT)
        return is_met()

    @property
    def page(self):
        return self.window.pages.page(self.window.flow.agent)

    @property
    def text(self):
        return self.page.findChild(QTextBrowser).toPlainText() if self.page else ""

    @property
    def status(self):
        return self.window.flow.info.status if self.window.flow.info else ""

    @property
    def box(self):
        return self.window.findChild(QPlainTextEdit, "composerText")

    def ready(self):
        self.until(lambda: self.window.flow.info is not None and self.box.isVisible())

    def write(self, text):
        self.ready()
        self.qtbot.mouseClick(self.box.viewport(), Qt.MouseButton.LeftButton)
        self.qtbot.keyClicks(self.box, text)

    def press(self, key, modifiers=Qt.KeyboardModifier.NoModifier):
        self.qtbot.keyClick(self.window.focusWidget() or self.window, key, modifiers)

    def send(self, text):
        self.write(text)
        self.press(Qt.Key.Key_Return)

    def sees(self, text):
        self.until(lambda: text in self.text)

    def find(self, kind, name):
        return [one for one in self.window.findChildren(kind, name) if one.isVisible()]

    def button(self, name, kind=QPushButton):
        def pressable():
            return [one for one in self.find(kind, name) if one.isEnabled()]

        return self.until(pressable)[0]

    def click(self, name, kind=QPushButton):
        self.qtbot.mouseClick(self.button(name, kind), Qt.MouseButton.LeftButton)

    def asked(self):
        """Wait for an approval that may be answered by now; go there as a person would."""

        def armed():
            if self.page is None:
                return []
            self.page.focus_oldest_approval()
            cards = self.find(ApprovalCard, "approvalCard")
            return [card for card in cards if card.is_armed and card.isEnabled()]

        return self.until(armed)[0]

    def allow(self):
        self.asked()
        self.click("allowOnce")

    def idle(self):
        def is_idle():
            info = self.window.flow.info
            is_over = info.status not in ("running", "needs_you")
            return info.updated_at > info.created_at and is_over

        self.until(is_idle)


@pytest.fixture
def person(qtbot, open_window, shop, monkeypatch):
    """A person in front of the window, in the shop's folder."""
    for name in KEYS:
        monkeypatch.setenv(name, "sk-test-loopback")

    def sit_down(provider=None, **changes):
        if provider is not None:
            changes |= {"model": provider.model, "api_base": provider.api_base}
        return Person(qtbot, open_window(shop, **changes))

    return sit_down


def check_is_whole(person, *providers):
    """Nothing is left open in what the model would be sent next."""
    for provider in providers:
        for request in provider.requests:
            assert not wire.problem(provider.dialect, request.body)
    engine = backend_of(person.window).engine
    assert not open_calls(history_of(engine, person.window.flow.info.main_agent))


def test_the_main_job_by_mouse_and_keys_with_a_provider_of_each_kind(person, provide, shop):
    providers = [provide(dialect, job.script()) for dialect in DIALECTS]
    me = person(providers[0])
    for number, provider in enumerate(providers):
        if number:
            (shop / "prices.py").write_text(f"def gross(net, percent):\n{job.WRONG}")
            me.press(Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
            me.until(lambda: me.window.flow.info.updated_at == me.window.flow.info.created_at)
            me.window.flow.choose_model(provider.model, provider.api_base)
            me.until(lambda p=provider: me.window.flow.info.model == p.model)
        me.send(job.REQUEST)
        me.asked()
        assert not job.is_fixed(shop)
        me.allow()
        me.until(lambda: job.is_fixed(shop))
        card = me.asked()
        assert job.COMMAND in card.accessibleName()
        me.press(Qt.Key.Key_Return)
        me.sees(job.ANSWER)
        me.idle()
        assert me.status == "idle"
        check_is_whole(me, provider)
        assert len(provider.requests) == 4


def test_enter_allows_only_where_the_card_itself_was_chosen(person, provide, shop):
    write = Calls(("write", {"path": "made.txt", "content": "bread\n"}))
    provider = provide("openai", [write, Say("First."), Say("Second.")])
    me = person(provider)
    me.send("Write it")
    me.until(lambda: me.find(ApprovalCard, "approvalCard"))
    me.until(lambda: me.find(ApprovalCard, "approvalCard")[0].is_armed)
    assert me.box.hasFocus()
    me.press(Qt.Key.Key_Return)
    me.write("And then?")
    me.press(Qt.Key.Key_Return)
    me.until(lambda: me.find(QWidget, "noteRow"))
    assert me.status == "needs_you"
    assert not (shop / "made.txt").exists()
    me.press(Qt.Key.Key_A, Qt.KeyboardModifier.AltModifier)
    me.until(lambda: me.find(ApprovalCard, "approvalCard")[0].hasFocus())
    me.press(Qt.Key.Key_Return)
    me.until(lambda: (shop / "made.txt").exists())
    me.sees("Second.")
    me.idle()
    assert "".join(provider.requests[-1].user_texts).count("And then?") == 1


def test_a_refusal_with_a_reason_reaches_the_model_and_changes_nothing(person, provide, shop):
    write = Calls(("write", {"path": "made.txt", "content": "bread\n"}))
    linked = [Say("As [they say](https://example.com). "), write]
    provider = provide("openai", [linked, lambda r: Say(f"Told: {r.results[-1]}")])
    me = person(provider)
    me.send("Write it")
    me.asked()
    me.click("refuse")
    field = me.until(lambda: me.find(QWidget, "refuseReason"))[0]
    me.qtbot.keyClicks(field, "cake instead")
    me.press(Qt.Key.Key_Return)
    assert me.box.hasFocus()
    assert QApplication.activeModalWidget() is None
    assert not me.page.findChild(QTextBrowser).textCursor().hasSelection()
    me.sees("denied by the user")
    me.idle()
    assert "cake instead" in provider.requests[-1].results[-1]
    assert not (shop / "made.txt").exists()


def slow_command(shop):
    script = shop / "slow"
    script.write_text(SLOW)
    script.chmod(0o755)
    return Calls(("shell", {"command": "./slow"}))


def test_stop_in_the_middle_of_a_command_ends_it_and_the_session_goes_on(person, provide, shop):
    provider = provide("openai", [slow_command(shop), Say("Going on.")])
    me = person(provider)
    me.send("Run it")
    me.allow()
    me.until(lambda: (shop / "pid").exists() and (shop / "pid").read_text().strip())
    pid = pid_here(int((shop / "pid").read_text()), shop)
    me.click("stopButton")
    me.until(lambda: me.find(QWidget, "stopCard"))
    me.idle()
    me.until(lambda: not Path(f"/proc/{pid}").exists())
    check_is_whole(me)
    assert len(provider.requests) == 1
    me.click("continueTurn")
    me.sees("Going on.")
    me.idle()
    check_is_whole(me, provider)
    assert "Cancelled" in provider.requests[-1].results[-1]


def test_a_note_sent_while_a_tool_runs_is_read_once_at_the_next_step(person, provide, shop):
    provider = provide("openai", [slow_command(shop), Say("Understood."), Say("More.")])
    me = person(provider)
    me.send("Run it")
    me.allow()
    me.until(lambda: (shop / "pid").exists())
    me.write("Use the blue one")
    me.press(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    row = me.until(lambda: me.find(QWidget, "noteRow"))[0]
    me.until(lambda: "./slow" in row.accessibleName())
    (shop / "go").touch()
    me.sees("Understood.")
    me.idle()
    assert "Delivered" in me.find(QWidget, "noteRow")[0].accessibleName()
    assert len(provider.requests) == 2
    me.send("Go on")
    me.sees("More.")
    me.idle()
    for request in provider.requests[1:]:
        assert "".join(request.user_texts).count("Use the blue one") == 1
    assert me.text.count("Use the blue one") == 1
    check_is_whole(me, provider)


def test_after_a_restart_the_whole_job_is_there_and_can_be_gone_on_with(
    person, provide, shop, open_window
):
    provider = provide("anthropic", [*job.script(), Say("It was 19 percent.")])
    me = person(provider)
    me.send(job.REQUEST)
    me.allow()
    me.until(lambda: job.is_fixed(shop))
    me.allow()
    me.sees(job.ANSWER)
    me.idle()
    before = me.text
    open_window.close(me.window)
    again = Person(me.qtbot, open_window("", model=provider.model, api_base=provider.api_base))
    again.sees(job.ANSWER)
    assert again.text == before
    again.send("How much was it?")
    again.sees("It was 19 percent.")
    again.idle()
    assert len(provider.requests[-1].results) == 3
    check_is_whole(again, provider)


def test_a_fault_is_said_on_a_card_and_retry_works(person, provide):
    words = "We are down for an hour"
    provider = provide("openai", [Fail(503, message=words), Say("Here I am.")])
    me = person(provider, limits=Limits(max_retries=0))
    me.send("Hello")
    card = me.until(lambda: me.find(QWidget, "faultCard"))[0]
    assert words in card.accessibleName()
    me.idle()
    assert me.status == "failed"
    assert me.button("faultAction").accessibleName() == "Try again"
    me.click("faultAction")
    me.sees("Here I am.")
    me.idle()
    assert not me.find(QPushButton, "faultAction")
    assert "".join(provider.requests[-1].user_texts).count("Hello") == 1


def test_what_was_said_before_a_break_is_kept_and_continued(person, provide):
    provider = provide("openai", [Reset(after_chunks=6), Say("and that was the rest.")])
    me = person(provider)
    me.send("Tell me everything")
    me.until(lambda: me.find(QPushButton, "faultAction"))
    assert "piece 0" in me.text
    assert me.button("faultAction").accessibleName() == "Continue"
    me.idle()
    me.click("faultAction")
    me.sees("and that was the rest.")
    me.idle()
    check_is_whole(me, provider)


def test_a_killed_model_host_is_one_card_and_the_work_goes_on(person, provide):
    gate = threading.Event()
    provider = provide("openai", [[Say("Half of it. ", chunks=1), Wait(gate)], Say("All of it.")])
    me = person(provider)
    me.send("Go")
    me.sees("Half of it.")
    os.kill(backend_of(me.window).model.pid, 9)
    me.until(lambda: me.find(QWidget, "faultCard"))
    me.idle()
    gate.set()
    me.click("faultAction")
    me.sees("All of it.")
    me.idle()
    check_is_whole(me, provider)


def test_a_newcomer_plays_through_the_demo_by_clicks(qtbot, open_window, tmp_path):
    folder = tmp_path / "garden"
    shutil.copytree(paths.resource("demo"), folder)
    me = Person(qtbot, open_window(folder))
    me.until(lambda: me.find(QPushButton, "useDemo"))
    me.click("useDemo")
    me.ready()
    assert me.window.flow.info.workspace.root == str(folder)
    me.send("Look around")
    me.asked()
    me.write("keep it short")
    me.press(Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    me.until(lambda: me.find(QWidget, "noteRow"))
    me.allow()
    me.until(lambda: (folder / "OVERVIEW.md").exists())
    first = (folder / "OVERVIEW.md").read_text()
    me.allow()
    me.until(lambda: (folder / "OVERVIEW.md").read_text() != first)
    me.idle()
    assert "## What I read" not in (folder / "OVERVIEW.md").read_text()


def test_a_command_that_failed_inside_is_let_out_from_its_card_and_told_of_in_settings(
    person, provide, own_home
):
    need_sandbox({})
    beside = own_home / "bin" / "beside"  # what is there is only read inside
    beside.parent.mkdir()
    command = {"command": f"echo cached > ~/.cache/kept; touch {beside}"}
    again = command | {"outside": "the user allowed it"}
    script = [Calls(("shell", command)), Say("Failed."), Calls(("shell", again)), Say("Worked.")]
    me = person(provide("openai", script), mode="free")
    me.send("Make it")
    me.sees("Failed.")
    me.idle()
    assert not beside.exists()
    header = me.find(QWidget, "toolCardHeader")[-1]
    me.qtbot.mouseClick(header, Qt.MouseButton.LeftButton)
    me.click("runOutside")
    me.click("runOutsideOnce")
    me.sees("Worked.")
    assert beside.exists()
    assert not me.find(ApprovalCard, "approvalCard"), "it was decided already"

    me.window.settings_window.open()
    me.window.findChild(QWidget, "settingsDialog").open_page("sandbox")
    me.click("emptyCache")
    me.until(lambda: not me.find(QPushButton, "emptyCache"))
    caches = own_home.glob("**/sandbox/caches/*/cache/*")
    assert list(caches) == []
    me.window.findChild(QWidget, "settingsDialog").close()


def test_everything_that_takes_the_focus_has_a_name(person, provide):
    provider = provide("openai", job.script())
    me = person(provider)
    me.send(job.REQUEST)
    me.asked()
    nameless = [
        f"{type(one).__name__} {one.objectName()}"
        for one in me.window.findChildren(QWidget)
        if one.isVisible() and one.focusPolicy() != Qt.FocusPolicy.NoFocus and not _name(one)
    ]
    assert not nameless
    QTest.keyClick(me.window, Qt.Key.Key_Tab)


def _name(widget):
    text = getattr(widget, "text", None)
    return widget.accessibleName() or (callable(text) and text())
