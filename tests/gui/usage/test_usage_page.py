"""The page of usage: what it says is what was used, and what is not known is said to be so."""

import csv
import io
from datetime import date

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QPushButton, QWidget

from desktop_agent.core.usage import UsageLine, UsageReport
from desktop_agent.gui.usage.page import UsagePage
from desktop_agent.gui.usage.text import amount_text, as_csv, bars, unknown_text
from tests.gallery_usage import report
from tests.helpers.patience import HANG_MS as WAIT
from tests.helpers.windows import part, words_in

SHOWN = int(Qt.ItemDataRole.DisplayRole)


def rows_of(page):
    """Return the cells of the table as a screen reader reads them."""
    model = part(page, "usageTable").model()
    columns = range(model.columnCount())
    return [
        [model.index(line, at).data(SHOWN) for at in columns] for line in range(model.rowCount())
    ]


@pytest.fixture
def room(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(1000, 700)
    window.show()
    return window


@pytest.fixture
def page(room, theme):
    made = UsagePage(theme, room)
    made.resize(room.size())
    made.show()
    return made


def send(window, qtbot, text):
    window.frame.composer.set_text(text)
    qtbot.keyClick(window.frame.composer.focusWidget(), Qt.Key.Key_Return)


def test_what_was_asked_of_a_model_is_found_on_the_page_and_leads_to_its_session(
    open_window, project, qtbot
):
    window = open_window(project, model="demo")
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    window.commands.usage.trigger()
    qtbot.waitUntil(lambda: "Nothing was asked" in words_in(part(window, "noUsage")), timeout=WAIT)
    send(window, qtbot, "hello")  # the page takes the room of the box, which hears all the same
    page = part(window, "usagePage")
    qtbot.waitUntil(lambda: bool(rows_of(page)), timeout=WAIT)  # it follows while it is open
    assert rows_of(page)[0][0] == "demo"
    assert rows_of(page)[0][2] == "$0.00"
    assert rows_of(page)[0][3] == "unknown"  # the demo counts no tokens
    window.full.leave()
    was = window.flow.current
    window.commands.new.trigger()
    qtbot.waitUntil(lambda: window.flow.current not in (None, was), timeout=WAIT)
    window.commands.usage.trigger()
    qtbot.mouseClick(part(page, "usageBy_session"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(rows_of(page)) == 1, timeout=WAIT)
    qtbot.keyClick(part(page, "usageTable"), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.flow.current == was, timeout=WAIT)
    assert not page.isVisible()


def test_esc_leads_back_to_the_conversation(open_window, project, qtbot):
    window = open_window(project, model="demo")
    qtbot.waitState(window.flow.agent_shown, lambda: window.flow.info is not None)
    window.commands.usage.trigger()
    page = part(window, "usagePage")
    qtbot.waitUntil(page.isVisible, timeout=WAIT)
    qtbot.keyClick(page.focusWidget() or page, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not page.isVisible(), timeout=WAIT)
    assert part(window, "composerText").isVisible(), "there is nothing to write in"


def test_each_period_asks_from_its_first_day_and_a_late_answer_is_not_shown(page, qtbot):
    asked = []
    page.asked.connect(asked.append)
    for days in ("7", "90", "0"):
        qtbot.mouseClick(part(page, f"usagePeriod_{days}"), Qt.MouseButton.LeftButton)
    today = date.today()
    assert [(today - date.fromisoformat(one)).days for one in asked[:2]] == [6, 89]
    assert asked[2] == ""
    page.show_report(report(30))
    assert rows_of(page) == []


def test_what_is_not_known_is_said_and_never_shown_as_nothing(page):
    page.show_report(report())
    rows = {row[0]: row[1:] for row in rows_of(page)}
    assert rows["ollama_chat/qwen3:14b"][:3] == ["–", "unknown", "855k + unknown"]
    assert set(rows["Unknown model"][:6]) == {"–", "unknown"}
    assert "The price of 139 requests is not known" in words_in(page)
    assert "0" not in {cell.strip("$") for cell in rows["Unknown model"]}


def test_the_table_says_what_the_bars_show(page, qtbot):
    page.show_report(report())
    qtbot.mouseClick(part(page, "usageBy_day"), Qt.MouseButton.LeftButton)
    chart = part(page, "usageChart")
    days = {row[0]: row[2] for row in rows_of(page)}
    assert len(days) == len(report().days)
    highest = max(report().days, key=lambda line: line.cost)
    assert amount_text(highest, "cost") in chart.accessibleDescription()
    assert chart.accessibleName() == "Money by day"
    slot = chart.width() / 30
    place = chart.rect().center()
    place.setX(round(slot * 29.5))
    assert chart.bar_at(place).key == date.today().isoformat()


def test_names_of_models_and_sessions_are_only_text(page, qtbot):
    page.show_report(report())
    qtbot.mouseClick(part(page, "usageBy_session"), Qt.MouseButton.LeftButton)
    names = [row[0] for row in rows_of(page)]
    assert not any("\u202e" in name for name in names)
    rows = list(csv.DictReader(io.StringIO(as_csv(report()))))
    assert not any(row["name"].startswith("=") for row in rows)


def test_a_file_of_it_has_every_line_and_no_zero_for_what_is_unknown(page, qtbot, tmp_path):
    page.show_report(report())
    said = []
    page.said.connect(said.append)
    qtbot.mouseClick(part(page, "exportUsage"), Qt.MouseButton.LeftButton)
    dialog = page.findChild(QFileDialog, "exportUsageDialog")
    path = tmp_path / "usage.csv"
    dialog.fileSelected.emit(str(path))
    dialog.reject()
    assert str(path) in said[0]
    text = path.read_text("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    given = report()
    assert len(rows) == len(given.days) + len(given.models) + len(given.sessions)
    local = next(row for row in rows if row["name"] == "ollama_chat/qwen3:14b")
    assert (local["cost"], local["input_tokens"], local["unpriced_requests"]) == (
        "",
        "804000",
        "96",
    )


def test_nothing_used_is_said_and_can_not_be_exported(page):
    page.show_report(UsageReport(page.since))
    assert "Nothing was asked of a model in this time." in words_in(page)
    assert not page.findChild(QPushButton, "exportUsage").isEnabled()


def test_all_there_is_has_a_bar_a_month_and_no_more_than_can_be_seen():
    today = date(2026, 11, 23)
    found = bars(UsageReport("", days=(UsageLine("2026-01", requests=1),)), today)
    assert [found[0].key, found[-1].key, len(found)] == ["2026-01", "2026-11", 11]
    # A clock that was wrong once makes no bars of a thousand years.
    assert len(bars(UsageReport("", days=(UsageLine("0001-01", requests=1),)), today)) == 120
    assert unknown_text(UsageLine(requests=3)) == ""
