"""A ring says where keys go while the keyboard is used, around the row; a click shows none."""

import pytest
from PySide6.QtCore import QStringListModel, Qt
from PySide6.QtWidgets import QLineEdit, QStyledItemDelegate, QVBoxLayout, QWidget

from desktop_agent.core.messages import DiffDisplay
from desktop_agent.gui.kit.lists.choice_list import ChoiceList
from desktop_agent.gui.kit.lists.row_painter import RowPainter
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconButton,
    PrimaryButton,
    TextButton,
    column,
)
from desktop_agent.gui.transcript.cards.card import CardHeader
from desktop_agent.gui.transcript.cards.diff_view import DiffView


class _Rows(QStyledItemDelegate):
    def __init__(self, theme, parent):
        super().__init__(parent)
        self._theme = theme

    def paint(self, painter, option, index):
        with RowPainter(self._theme, painter, option) as pen:
            pen.ground()


@pytest.fixture
def shown(qtbot, theme):
    """A list of two rows behind a field, in which the focus is at first."""
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(200, 160)
    field, rows = QLineEdit(window), ChoiceList("rows", window)
    rows.setModel(QStringListModel(["one", "two"], rows))
    rows.setItemDelegate(_Rows(theme, rows))
    rows.setMouseTracking(False)
    layout = QVBoxLayout(window)
    layout.addWidget(field)
    layout.addWidget(rows)
    with qtbot.waitExposed(window):
        window.show()
    window.activateWindow()
    field.setFocus()
    qtbot.waitFocus(field)
    rows.window_kept = window
    return field, rows


def has_ring(theme, rows, number):
    """Whether the accent's colour stands at the edge of a row, and nowhere around the list."""
    image = rows.grab().toImage()
    accent = theme.color("accent")

    def is_accent(x, y):
        here = image.pixelColor(x, y)
        return abs(here.red() - accent.red()) + abs(here.green() - accent.green()) < 90

    assert not any(is_accent(0, y) for y in range(image.height()))
    box = rows.visualRect(rows.model().index(number, 0))
    middle = box.center() + rows.viewport().pos()
    return any(is_accent(x, middle.y()) for x in range(9))


def test_tab_into_a_list_rings_the_row_that_keys_are_for(shown, qtbot, theme):
    field, rows = shown
    assert not has_ring(theme, rows, 0)
    qtbot.keyClick(field, Qt.Key.Key_Tab)
    qtbot.waitFocus(rows)
    assert rows.currentIndex().row() == 0
    assert has_ring(theme, rows, 0)
    qtbot.keyClick(rows, Qt.Key.Key_Down)
    assert has_ring(theme, rows, 1)
    assert not has_ring(theme, rows, 0)


def test_a_click_on_a_row_shows_no_ring_until_a_key_is_pressed(shown, qtbot, theme):
    _, rows = shown
    at = rows.visualRect(rows.model().index(1, 0)).center()
    qtbot.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=at)
    rows.clearSelection()
    assert rows.hasFocus()
    assert not has_ring(theme, rows, 1)
    qtbot.keyClick(rows, Qt.Key.Key_Up)
    assert has_ring(theme, rows, 0)


@pytest.fixture
def beside_a_field(qtbot):
    """Show a part below a field, which has the focus and is returned."""
    windows = []

    def show(part):
        window = QWidget()
        windows.append(window)
        qtbot.addWidget(window)
        window.resize(300, 160)
        field = QLineEdit(window)
        column(field, part, within=window)
        with qtbot.waitExposed(window):
            window.show()
        window.activateWindow()
        field.setFocus()
        qtbot.waitFocus(field)
        return field

    return show


@pytest.mark.parametrize(
    "make",
    [
        lambda theme: TextButton(theme, "Write to Main"),
        lambda theme: PrimaryButton(theme, "Allow once"),
        lambda theme: GhostButton(theme, "Show"),
        lambda theme: IconButton(theme, "x", "Close"),
    ],
)
def test_a_button_has_its_ring_and_no_frame_inside(qtbot, theme, make, beside_a_field):
    """The desktop's style draws a frame around the words once keys were used."""
    button = make(theme)
    first = beside_a_field(button)
    without = button.grab().toImage()
    qtbot.keyClick(first, Qt.Key.Key_Tab)
    qtbot.waitFocus(button)
    focused = button.grab().toImage()
    assert focused != without
    inside = without.rect().adjusted(5, 5, -5, -5)
    assert focused.copy(inside) == without.copy(inside)


@pytest.mark.parametrize("make", [TextButton, PrimaryButton, GhostButton])
def test_who_clicks_a_button_goes_on_writing(qtbot, theme, make, beside_a_field):
    button = make(theme, "Copy")
    field = beside_a_field(button)
    with qtbot.waitSignal(button.clicked):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert field.hasFocus()


@pytest.mark.parametrize(
    "make",
    [
        lambda theme: CardHeader(theme),
        lambda theme: DiffView(theme, DiffDisplay("a.txt", "@@ -1 +1 @@\n-a\n+b\n", 1, 1)),
    ],
    ids=["header", "diff"],
)
def test_what_paints_itself_is_ringed_for_keys_alone(qtbot, theme, make, beside_a_field):
    part = make(theme)
    first = beside_a_field(part)

    def is_ringed():
        """Whether the accent stands at the middle of the upper edge."""
        image, accent = part.grab().toImage(), theme.color("accent")
        edge = [image.pixelColor(image.width() // 2, y) for y in range(5)]
        return any(abs(one.red() - accent.red()) < 30 and one.blue() > 200 for one in edge)

    assert not is_ringed()
    at = part.viewport() if isinstance(part, DiffView) else part
    qtbot.mouseClick(at, Qt.MouseButton.LeftButton)
    qtbot.waitFocus(part)
    assert not is_ringed()
    qtbot.keyClick(part, Qt.Key.Key_Home)
    assert is_ringed()
    qtbot.mouseClick(at, Qt.MouseButton.LeftButton)
    assert not is_ringed()
    qtbot.keyClick(part, Qt.Key.Key_Tab, Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitFocus(first)
    qtbot.keyClick(first, Qt.Key.Key_Tab)
    qtbot.waitFocus(part)
    assert is_ringed()
