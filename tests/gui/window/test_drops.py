"""What is dropped on the window is taken, wherever in it it falls."""

import pytest
from PySide6.QtCore import QCoreApplication, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QAbstractSpinBox, QLineEdit, QPlainTextEdit, QWidget

from desktop_agent.core.settings import Settings
from desktop_agent.gui.language_models.key_form import KeyForm
from desktop_agent.gui.mcp.dialogs import ServerSheet
from desktop_agent.gui.settings.dialog import SettingsDialog
from desktop_agent.gui.skills.add_dialog import AddSkillSheet
from desktop_agent.gui.transcript.cards.approval_forms import EditForm
from desktop_agent.gui.transcript.view.remember_dialog import RememberDialog
from tests import gallery
from tests import gallery_story as story
from tests.helpers.windows import part

COPY = Qt.DropAction.CopyAction
# A file manager offers both, and with this key proposes a move: what was moved, it deletes.
OFFERED = COPY | Qt.DropAction.MoveAction
HELD = (Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier)


def drop(window, widget, *files, before_drop=lambda: None):
    """Drop files in the middle of a widget, as the desktop does; tell whether copies are taken."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(one)) for one in files])
    return drop_data(window, widget, mime, before_drop)


def drop_data(window, widget, mime, before_drop=lambda: None):
    place = widget.mapTo(window, QPoint(widget.width() // 2, min(60, widget.height() // 2)))
    enter = QDragEnterEvent(place, OFFERED, mime, *HELD)
    QCoreApplication.sendEvent(window.windowHandle(), enter)
    before_drop()
    dropped = QDropEvent(QPointF(place), OFFERED, mime, *HELD)
    QCoreApplication.sendEvent(window.windowHandle(), dropped)
    assert dropped.proposedAction() == Qt.DropAction.MoveAction
    return enter.isAccepted() and dropped.isAccepted() and dropped.dropAction() == COPY


@pytest.fixture
def notes(tmp_path):
    one = tmp_path / "notes.txt"
    one.write_text("milk", encoding="utf-8")
    return one


@pytest.mark.parametrize(
    "where",
    [
        "transcript",
        "sessionList",
        "emptySession",
        "header",
        "taskList",
        "changesPage",
        "composerText",
    ],
)
def test_a_file_dropped_anywhere_goes_with_the_next_message(stage, qtbot, notes, where):
    async def step(shown, window):
        shown.show(story.empty() if where == "emptySession" else story.edited())
        if where == "changesPage":
            window.commands.changes.trigger()
        await gallery.pause(0)
        box = window.frame.composer.box
        held = []
        look = lambda: held.append(part(window, "composer").is_held_over)  # noqa: E731
        assert drop(window, part(window, where), notes, before_drop=look)
        assert held == [True]
        assert not part(window, "composer").is_held_over
        qtbot.waitState(box.changed, lambda: not box.is_reading)
        assert [one.part.text for one in box.attached] == ["milk"]
        assert part(window, "composerText").hasFocus()

    stage(step)


def test_a_file_dropped_before_there_is_a_session_is_refused_with_a_word(open_window, qtbot, notes):
    window = open_window()
    qtbot.waitState(
        window.frame.stack.currentChanged,
        lambda: window.frame.stack.currentWidget().objectName() == "welcome",
    )
    assert drop(window, part(window, "welcome"), notes)
    assert "Choose a model and a folder first" in part(window, "noticeText").text()
    assert not window.frame.composer.box.attached


def test_of_a_folder_among_files_the_chip_says_how_to_mention_it(stage, qtbot, notes):
    async def step(shown, window):
        shown.show(story.edited())
        await gallery.pause(0)
        box = window.frame.composer.box
        folder = notes.parent / "src"
        folder.mkdir()
        opened = []
        window.popups.folder_found.connect(opened.append)
        assert drop(window, part(window, "transcript"), folder, notes)
        qtbot.waitState(box.changed, lambda: not box.is_reading)
        assert part(window, "composerText").isVisible()
        assert any("Mention it with @" in one.reason for one in box.attached)
        assert not opened

    stage(step)


@pytest.mark.parametrize("where", ["composerText", "modelButton", "searchSessions", "addTask"])
def test_a_text_that_is_dropped_stays_where_it_came_from(stage, qtbot, where):
    async def step(shown, window):
        shown.show(story.edited())
        await gallery.pause(0)
        field = part(window, "composerText" if where == "modelButton" else where)
        mime = QMimeData()
        mime.setText("https://example.org/")
        mime.setUrls([QUrl("https://example.org/")])
        assert drop_data(window, part(window, where), mime)
        text = field.toPlainText() if isinstance(field, QPlainTextEdit) else field.text()
        assert text == "https://example.org/"

    stage(step)


def test_what_is_dropped_on_the_fields_of_forms_and_dialogs_stays_where_it_came_from(theme, qtbot):
    holder = QWidget()
    forms = [
        SettingsDialog(theme, Settings()),
        AddSkillSheet(theme),
        ServerSheet(theme),
        KeyForm(theme),
        RememberDialog(theme, "", ""),
        EditForm(theme, "", holder),
    ]
    mime = QMimeData()
    mime.setText("words")
    for field in (one for form in forms for one in form.findChildren(QWidget) if is_field(one)):
        inside = field.viewport() if isinstance(field, QPlainTextEdit) else field
        for event in (
            QDragEnterEvent(QPoint(5, 5), OFFERED, mime, *HELD),
            QDragMoveEvent(QPoint(5, 5), OFFERED, mime, *HELD),
            QDropEvent(QPointF(5, 5), OFFERED, mime, *HELD),
        ):
            QCoreApplication.sendEvent(inside, event)
        taken = (event.isAccepted(), event.dropAction())
        assert taken == (True, COPY), field.objectName()


def is_field(widget):
    """Whether text is typed in it, and it is no part of a box of numbers."""
    is_line = isinstance(widget, QLineEdit) and not isinstance(widget.parent(), QAbstractSpinBox)
    return (is_line or isinstance(widget, QPlainTextEdit)) and not widget.isReadOnly()
