"""A person has a subagent work at one of their places, without asking the agent to do so."""

from __future__ import annotations

import sys

import pytest
from PySide6.QtCore import Qt

from desktop_agent.core.events import ApprovalRequested
from desktop_agent.core.network.places import Place
from tests.gui.agents.test_window_agents import Team, agents_of
from tests.gui.window.test_window import WAIT, ready, wait_idle, wait_shown, write
from tests.helpers.providers import Calls, LoopbackProvider, Say
from tests.helpers.windows import bridge_of, part, words_in
from tests.outpost.rig import far

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no outposts on Windows")


@pytest.fixture
def team():
    return Team()


@pytest.fixture
def window(open_window, project, monkeypatch, team, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-loopback")
    box = Place("box", "command", far(tmp_path / "there"))
    with LoopbackProvider("openai", [team.answer] * 60) as provider:
        yield open_window(
            project, model=provider.model, api_base=provider.api_base, mode="free", places=(box,)
        )


def test_what_is_typed_is_done_there_at_once_and_its_report_comes_back(window, team, qtbot):
    asked = []
    bridge_of(window).received.connect(
        lambda batch: asked.extend(one for one in batch if isinstance(one, ApprovalRequested))
    )
    writes = Calls(("write", {"path": "far.txt", "content": "far\n"}))
    team.scripts["alpha"] = [writes, Say("alpha has written it")]
    team.scripts["main"] = [Say("I see what alpha did.")]
    ready(qtbot, window)
    window.frame.composer.set_text("alpha work")
    window.commands.palette.trigger()
    palette = part(window, "commandPalette")
    palette.search.setText("Run on box…")
    qtbot.waitUntil(lambda: palette.list.current is not None, timeout=WAIT)
    assert palette.list.current.title == "Run on box…"
    qtbot.keyClick(palette.search, Qt.Key.Key_Return)
    assert window.frame.composer.draft() == "/run-on box alpha work"
    qtbot.keyClick(window.frame.composer.box.edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "alpha work" in agents_of(window), timeout=WAIT)
    assert agents_of(window)["alpha work"].place == "box"
    wait_shown(qtbot, window, "I see what alpha did.")
    wait_idle(qtbot, window)
    assert asked == [], "they said it themselves"
    assert window.frame.composer.draft() == ""


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("/run-on attic paint it", "no place called “attic”"),
        ("/run-on box", "stands behind the place"),
    ],
)
def test_what_can_not_be_run_there_is_said_and_given_back(window, qtbot, typed, words):
    write(qtbot, window, typed)
    assert words in words_in(window.frame.notices)
    assert window.frame.composer.draft().strip() == typed
    assert len(agents_of(window)) <= 1


def test_the_places_are_offered_behind_a_slash(window, qtbot):
    ready(qtbot, window)
    edit = window.frame.composer.box.edit
    qtbot.keyClicks(edit, "/run")
    shown = part(window, "skillPopup")
    qtbot.waitUntil(lambda: shown is not None and shown.isVisible(), timeout=WAIT)
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert window.frame.composer.draft() == "/run-on box "
