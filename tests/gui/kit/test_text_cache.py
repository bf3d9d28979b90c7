"""What was typed and not sent is there again at the next start; what was sent is not."""

import shutil

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from desktop_agent import paths
from desktop_agent.core.agents import AgentInfo
from desktop_agent.core.events import AgentsChanged, SessionsChanged
from desktop_agent.core.ids import MessageId
from desktop_agent.gui.agents.panel import AgentPanel
from desktop_agent.gui.composer.composer import Composer
from desktop_agent.gui.composer.mode_button import ModeButton
from desktop_agent.gui.kit.text_cache import TextCache
from desktop_agent.gui.state.branch_draft import BranchDraft
from tests.helpers.events import opened
from tests.helpers.panels import follow


@pytest.fixture
def start(qtbot, theme):
    """Start a part of the window; hiding it is the end of the app."""

    def start_one(kind):
        part = kind(theme)
        qtbot.addWidget(part)
        part.resize(800, 600)
        part.show()
        qtbot.waitExposed(part)
        return part

    return start_one


def test_what_was_typed_in_a_deleted_session_is_deleted_with_it(start):
    composer = start(Composer)
    for number in (1, 2):
        follow(composer, opened(f"se_{number}", agent=f"ag_{number}"))
        composer.set_text(f"draft {number}")
    composer.hide()
    follow(composer, SessionsChanged((opened("se_2", agent="ag_2").info,)))
    assert "draft 1" not in (paths.data_dir() / "drafts.json").read_text()
    again = start(Composer)
    for number, text in ((1, ""), (2, "draft 2")):
        follow(again, opened(f"se_{number}", agent=f"ag_{number}"))
        assert again.draft() == text


def test_a_draft_of_each_session_is_there_after_a_restart(start):
    composer = start(Composer)
    for number in (1, 2):
        follow(composer, opened(f"se_{number}", agent=f"ag_{number}"))
        composer.set_text(f"draft {number}\nof two lines \N{ROCKET}")
    composer.hide()
    again = start(Composer)
    follow(again, opened())
    assert again.draft() == "draft 1\nof two lines \N{ROCKET}"
    follow(again, opened("se_2", agent="ag_2"))
    assert again.draft() == "draft 2\nof two lines \N{ROCKET}"


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_draft_is_there_after_a_crash_while_an_earlier_message_was_edited(
    start, qtbot, tmp_path, monkeypatch, is_sent
):
    composer = start(Composer)
    follow(composer, opened())
    composer.set_text("half a thought")
    composer.begin_branch(BranchDraft(MessageId("me_1"), "Paint it red", is_edit=True))
    composer.hide()
    composer.show()
    if is_sent:
        with qtbot.waitSignal(composer.branch_submitted):
            composer.findChild(QWidget, "sendButton").click()
    # Another process knows only what is on disk.
    shutil.copytree(paths.data_dir(), tmp_path / "again" / "data")
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(tmp_path / "again"))
    again = start(Composer)
    follow(again, opened())
    assert again.draft() == ("half a thought" if is_sent else "Paint it red\n\nhalf a thought")


def test_a_sent_message_does_not_come_back_as_a_draft_even_after_a_crash(start, qtbot):
    composer = start(Composer)
    follow(composer, opened())
    composer.set_text("send me")
    composer.hide()
    composer.show()
    with qtbot.waitSignal(composer.submitted):
        composer.findChild(QWidget, "sendButton").click()
    # No orderly end: the file is as it is now.
    again = start(Composer)
    follow(again, opened())
    assert again.draft() == ""


def test_an_unsent_steer_is_there_after_a_restart(start, qtbot):
    main = AgentInfo("ag_1", "se_1", "Main")
    child = AgentInfo("sa_1", "se_1", "a", "running", "ag_1")
    panel = start(AgentPanel)
    for _ in range(2):
        follow(panel, opened())
        follow(panel, AgentsChanged("se_1", (main, child)))
        panel.tree.flush()
        panel.select("sa_1")
        if not panel.strip.input.field.text():
            qtbot.keyClicks(panel.strip.input.field, "use euros")
            panel.hide()
            panel = start(AgentPanel)
    assert panel.strip.input.field.text() == "use euros"
    with qtbot.waitSignal(panel.steered):
        qtbot.keyClick(panel.strip.input.field, Qt.Key.Key_Return)
    panel.hide()
    assert TextCache(paths.data_dir() / "steer_drafts.json").text("sa_1") == ""


def test_the_free_mode_is_confirmed_once_a_folder_also_after_a_restart(start, qtbot):
    button = start(ModeButton)
    button.folder = "/home/ada/shop"
    button.findChild(QAction, "mode_free").trigger()
    button.window().findChild(QWidget, "confirmFreeYes").click()
    again = start(ModeButton)
    again.folder = "/home/ada/shop"
    with qtbot.waitSignal(again.mode_chosen):
        again.findChild(QAction, "mode_free").trigger()
    other = start(ModeButton)
    other.folder = "/home/ada/other"
    other.findChild(QAction, "mode_free").trigger()
    box = other.window().findChild(QWidget, "confirmFree")
    assert box is not None
    box.reject()


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b"\xff\xfe", b'{"a": 3}'])
def test_a_damaged_file_of_drafts_costs_the_drafts_alone(tmp_path, qtbot, damage):
    path = tmp_path / "drafts.json"
    path.write_bytes(damage)
    kept = TextCache(path)
    assert kept.text("a") == ""
    kept.keep("a", "new")
    kept.save()
    assert TextCache(path).text("a") == "new"


def test_old_drafts_make_room_for_new_ones(tmp_path):
    kept = TextCache(tmp_path / "drafts.json")
    for number in range(300):
        kept.keep(str(number), "text")
    kept.save()
    again = TextCache(tmp_path / "drafts.json")
    assert (again.text("299"), again.text("0")) == ("text", "")
