"""What must grow with the person's text size, and what must stay in line at any size."""

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QFrame,
    QLineEdit,
    QMenu,
    QScrollArea,
    QStyle,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.core.events import TurnStarted
from desktop_agent.core.settings import Settings
from desktop_agent.gui.composer.composer import Composer
from desktop_agent.gui.frame.side_panel import RightPanel
from desktop_agent.gui.kit.search_field import SearchField
from desktop_agent.gui.settings.dialog import SettingsDialog
from desktop_agent.gui.settings.rows import ChoiceBox, Switch
from desktop_agent.gui.transcript.view.view import TranscriptView
from tests import gallery_story as story
from tests.helpers.panels import follow


def _shown(qtbot, widget, width, height):
    qtbot.addWidget(widget)
    widget.resize(width, height)
    widget.show()
    qtbot.waitExposed(widget)
    QApplication.processEvents()


@pytest.mark.parametrize("percent", [100, 200])
def test_the_magnifier_is_as_large_as_the_text_and_stands_before_it(qtbot, theme, scaled, percent):
    scaled(percent)
    field = SearchField(theme, "Find")
    _shown(qtbot, field, 400, 30 * percent // 100)
    size, image = theme.icon_px(14), field.grab().toImage()
    ground = image.pixel(image.width() // 2, image.height() // 2)
    words = field.textMargins().left()
    rows = [
        row
        for row in range(4, image.height() - 4)
        if any(image.pixel(column, row) != ground for column in range(5, words))
    ]
    assert rows[-1] - rows[0] >= size * 0.7
    assert words > size
    field.setText("words")
    button = field.findChild(QWidget, "clearField")
    assert field.rect().contains(button.geometry())
    assert button.geometry().left() >= field.width() - field.textMargins().right() - 8


def test_the_magnifier_stands_before_the_words_where_they_run_from_right_to_left(qtbot, theme):
    field = SearchField(theme, "Find")
    field.setText("words")
    _shown(qtbot, field, 400, 32)
    field.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    QApplication.processEvents()
    assert field.textMargins().right() < field.textMargins().left()
    assert field.findChild(QWidget, "clearField").geometry().right() < field.width() // 2


@pytest.mark.parametrize("percent", [100, 200])
def test_icons_in_menus_are_as_large_as_their_words(qtbot, theme, scaled, percent):
    scaled(percent)
    menu = QMenu()
    qtbot.addWidget(menu)
    menu.ensurePolished()
    wanted = 16 * percent // 100
    assert menu.style().pixelMetric(QStyle.PixelMetric.PM_SmallIconSize, None, menu) == wanted
    assert theme.icon("pencil").availableSizes()[0].width() == wanted


def test_what_a_field_is_for_can_be_read_while_it_is_empty(qtbot, theme):
    field = QLineEdit()
    _shown(qtbot, field, 200, 32)
    told = field.palette().color(QPalette.ColorRole.PlaceholderText)
    assert told == theme.color("subtle")


def test_the_models_name_takes_the_room_that_is_left(qtbot, theme):
    composer = Composer(theme)
    _shown(qtbot, composer, 568, 260)
    follow(composer, story.team())
    follow(composer, TurnStarted(story.MAIN))
    QApplication.processEvents()
    assert "claude-sonnet-4-5" in composer.findChild(QWidget, "modelButton").text()


@pytest.mark.parametrize("percent", [100, 200])
@pytest.mark.parametrize("width", [568, 916, 1400, 1900])
def test_the_message_box_stands_in_line_with_what_is_said(qtbot, theme, scaled, width, percent):
    scaled(percent)
    center = QWidget()
    column = QVBoxLayout(center)
    column.setContentsMargins(0, 0, 0, 0)
    view, composer = TranscriptView(theme), Composer(theme)
    column.addWidget(view, 1)
    column.addWidget(composer)
    _shown(qtbot, center, width, 600)
    said = QRect(view.browser.mapTo(center, view.column().topLeft()), view.column().size())
    frame = composer.findChild(QFrame, "composer")
    box = QRect(frame.mapTo(center, QPoint(0, 0)), frame.size())
    left, right = said.left() - box.left(), box.right() - said.right()
    assert abs(left - right) <= 2
    assert left >= -1


def test_a_line_of_the_transcript_holds_as_many_words_in_large_text(qtbot, theme, scaled):
    view = TranscriptView(theme)
    _shown(qtbot, view, 1900, 600)
    words = {}
    for percent in (100, 200):
        scaled(percent)
        words[percent] = view.column().width() / theme.text_px("body")
    assert words[200] == pytest.approx(words[100], rel=0.02)


def test_with_large_text_the_card_that_holds_shows_its_buttons_though_others_wait(
    qtbot, theme, scaled
):
    scaled(150)
    panel = RightPanel(theme)
    _shown(qtbot, panel, theme.size("right"), 900)
    follow(panel, story.team())
    for event in story.asks():
        follow(panel, event)
    panel.agents.tree.flush()
    panel.agents.select(story.HELD)

    def is_shown():
        button = panel.findChild(QWidget, "budgetMore")
        if button is None or not button.isVisible():
            return False
        foot = button.mapTo(panel, button.rect().bottomLeft()).y()
        return foot < panel.agents.asks.mapTo(panel, QPoint(0, 0)).y()

    qtbot.waitUntil(is_shown)
    assert panel.agents.asks.count == 4


_PAGES = ("appearance", "models", "behaviour", "rules", "sandbox", "places", "about")


@pytest.mark.parametrize("page", _PAGES)
def test_no_page_of_the_settings_has_to_be_moved_sideways(qtbot, theme, scaled, page):
    scaled(200)
    dialog = SettingsDialog(theme, Settings())
    qtbot.addWidget(dialog)
    dialog.rules.set_rules(story.RULES)
    dialog.models.set_keys(story.KEYS)
    dialog.models.set_models(story.MODELS)
    dialog.open_page(page)
    qtbot.waitExposed(dialog)
    dialog.resize(800, 700)
    QApplication.processEvents()
    for area in dialog.findChildren(QScrollArea):
        if area.isVisible():
            assert area.horizontalScrollBar().maximum() == 0
    names = dialog.findChild(QAbstractScrollArea, "settingsPages")
    assert names.viewport().width() > names.fontMetrics().horizontalAdvance("Models and keys")


def test_a_switch_ends_where_the_boxes_below_each_other_end(qtbot, theme):
    dialog = SettingsDialog(theme, Settings())
    qtbot.addWidget(dialog)
    dialog.open_page("appearance")
    qtbot.waitExposed(dialog)
    switch, choice = dialog.findChild(Switch, "reduceMotion"), dialog.findChild(ChoiceBox, "theme")
    ends = [one.mapTo(dialog, one.rect().topRight()).x() for one in (switch, choice)]
    assert ends[0] == ends[1]
    image = switch.grab().toImage()
    middle = image.height() // 2
    assert image.pixel(image.width() - 1, middle) != image.pixel(1, middle)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("percent", [100, 125, 200])
def test_a_drop_down_shows_every_choice_whole(qtbot, theme, scaled, scheme, percent):
    theme.configure(scheme, percent, True)
    for count in (3, 8):
        page = QWidget()
        box = ChoiceBox("theme", [(number, f"Choice {number}") for number in range(count)])
        QVBoxLayout(page).addWidget(box)
        _shown(qtbot, page, 420, 200)
        page.activateWindow()
        box.setFocus()
        box.showPopup()
        QApplication.processEvents()
        view = box.view()
        view.setFocus()
        QApplication.processEvents()
        last = view.visualRect(box.model().index(count - 1, 0))
        assert view.verticalScrollBar().maximum() == 0
        assert last.bottom() <= view.viewport().height()
        assert last.bottom() > view.viewport().height() - last.height()
        strips = [one for one in view.window().children() if isinstance(one, QWidget)]
        assert [one for one in strips if one.isVisible()] == [view]
        box.hidePopup()
