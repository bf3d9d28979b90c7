"""The page of usage: bars by day over a table by model, session or day."""

from __future__ import annotations

from datetime import date
from functools import partial

from PySide6.QtCore import QIODevice, QSaveFile, QStandardPaths, Qt, Signal
from PySide6.QtWidgets import QFrame, QStackedWidget, QWidget

from desktop_agent.core.usage import UsageLine, UsageReport
from desktop_agent.gui.kit.fitted_area import PlainArea
from desktop_agent.gui.kit.lists.list_page import FullPage
from desktop_agent.gui.kit.lists.tab_row import TabRow
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconLabel,
    Separator,
    TextLabel,
    column,
    row,
)
from desktop_agent.gui.usage.chart import UsageChart
from desktop_agent.gui.usage.table import UsageTable
from desktop_agent.gui.usage.text import (
    PERIODS,
    Grouping,
    Measure,
    as_csv,
    bars,
    first_day,
    lines_of,
    summary_text,
    unknown_text,
)

_LEAST_ROWS = 4


class UsagePage(FullPage):
    """Signals:
    asked(str): for the report from this day on (empty: of all there is)
    session_chosen(str): its id
    said(str): what became of a file
    """

    asked = Signal(str)
    session_chosen = Signal(str)
    said = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, "usagePage", parent)
        self._report = UsageReport()
        self._is_measure_chosen = False
        self.setAccessibleName(self.tr("Usage"))
        self._pages = QStackedWidget(self)
        self._pages.addWidget(PlainArea(self._make_body()))
        self._pages.addWidget(self._make_empty())
        column(self._make_head(), Separator(), (self._pages, 1), within=self)
        self._connect()

    # -- down --------------------------------------------------------------------------------

    @property
    def since(self) -> str:
        """The first day of the period that is chosen; empty for all there is."""
        return first_day(int(self._periods.current), date.today())

    def show_report(self, report: UsageReport) -> None:
        """Show this; one for another period than is chosen now comes too late."""
        if report.since != self.since:
            return
        self._report = report
        total = report.total
        if not self._is_measure_chosen:
            self._measures.choose("cost" if total.cost or not total.tokens else "tokens")
        self._summary.setText(summary_text(total))
        self._unknown.setText(unknown_text(total))
        self._unknown.setVisible(bool(self._unknown.text()))
        self._nothing.setText(
            self.tr("Nothing was asked of a model in this time.")
            if report.since
            else self.tr("Nothing was asked of a model yet.")
        )
        self._pages.setCurrentIndex(0 if total.requests else 1)
        self._export.setEnabled(total.requests > 0)
        self._show_lines()

    def enter(self) -> None:
        """Take the focus."""
        button = self._periods.buttons[self._periods.current]
        button.setFocus(Qt.FocusReason.ShortcutFocusReason)

    # -- construction ------------------------------------------------------------------------

    def _make_head(self) -> QWidget:
        theme = self._theme
        head = QWidget(self)
        title = TextLabel(self.tr("Usage"), "h1", head)
        titles = {str(days): self.tr("{n} days").format(n=days) for days in PERIODS}
        titles["0"] = self.tr("All")
        self._periods = TabRow(theme, self.tr("Which time"), "usagePeriod", titles, head)
        self._periods.choose("30")
        self._export = GhostButton(theme, self.tr("Export CSV…"), "download", head)
        self._export.setObjectName("exportUsage")
        close = self._make_close(head, "leaveUsage")
        gap, edge = theme.space("m"), theme.space("xl")
        parts = (title, (self._periods, 1), self._export, close)
        line = row(*parts, spacing=gap, within=head)
        line.setContentsMargins(edge, theme.space("l"), theme.space("l"), theme.space("m"))
        return head

    def _make_body(self) -> QWidget:
        theme = self._theme
        body = QWidget()
        self._summary = TextLabel("", "h2", body, name="usageSummary", wraps=True, copies=True)
        self._unknown = TextLabel("", "warn", body, name="usageUnknown", wraps=True)
        measures: dict[Measure, str] = {"cost": self.tr("Money"), "tokens": self.tr("Tokens")}
        spoken = self.tr("What the bars show")
        self._measures = TabRow(theme, spoken, "usageMeasure", measures, self)
        self._chart = UsageChart(theme, body)
        groups: dict[Grouping, str] = {
            "model": self.tr("By model"),
            "session": self.tr("By session"),
            "day": self.tr("By day"),
        }
        self._groups = TabRow(theme, self.tr("How usage is listed"), "usageBy", groups, self)
        self.table = UsageTable(theme, body)
        self.table.setMinimumHeight(_LEAST_ROWS * theme.size("row"))
        about = TextLabel(
            self.tr(
                "What was paid for from this computer, by its calendar. Sessions that were erased "
                "still count, imported ones don’t. Prices are estimates."
            ),
            "caption",
            body,
            wraps=True,
        )
        note = row(IconLabel(theme, "info", "subtle", 14, body), (about, 1), spacing=8)
        top = column(self._summary, self._unknown, spacing=4)
        head = row((top, 1), (self._measures, Qt.AlignmentFlag.AlignTop), spacing=theme.space("m"))
        edge, gap = theme.space("xl"), theme.space("s")
        parts = (head, self._chart, theme.space("s"), self._groups, (self.table, 1), note)
        column(*parts, spacing=gap, edges=(edge, theme.space("l"), edge, edge), within=body)
        return body

    def _make_empty(self) -> QWidget:
        page = QFrame()
        page.setObjectName("noUsage")
        self._nothing = words = TextLabel("", "muted", page, name="nothingUsed", wraps=True)
        words.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        icon = IconLabel(self._theme, "gauge", "subtle", 32, page)
        parts = (None, row(None, icon, None), words, (None, 2))
        column(*parts, spacing=self._theme.space("m"), edges=self._theme.space("xl"), within=page)
        return page

    def _connect(self) -> None:
        self._periods.chosen.connect(lambda: self.asked.emit(self.since))
        self._measures.chosen.connect(self._on_measure_chosen)
        self._groups.chosen.connect(self._show_lines)
        self._export.clicked.connect(self._ask_where)
        self.table.chosen.connect(self._on_chosen)

    # -- what is shown -----------------------------------------------------------------------

    def _on_measure_chosen(self) -> None:
        self._is_measure_chosen = True
        self._show_lines()

    def _show_lines(self) -> None:
        grouping, measure = self._groups.current, self._measures.current
        self._chart.show_lines(bars(self._report, date.today()), measure)
        lines = lines_of(self._report, grouping, measure)
        spoken = self._groups.buttons[grouping].text()
        self.table.show_lines(lines, grouping, measure, self.tr("Usage {by}").format(by=spoken))

    def _on_chosen(self, line: UsageLine) -> None:
        if self._groups.current == "session" and line.key:
            self.session_chosen.emit(line.key)

    # -- a file of it ------------------------------------------------------------------------

    def _ask_where(self) -> None:
        from PySide6.QtWidgets import QFileDialog  # slow to load, and rarely wanted

        dialog = QFileDialog(self, self.tr("Export usage"))
        dialog.setObjectName("exportUsageDialog")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("csv")
        dialog.setDirectory(
            QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        )
        dialog.selectFile(f"usage-{date.today().isoformat()}.csv")
        data = as_csv(self._report).encode("utf-8-sig")  # spreadsheets know it by the mark
        dialog.fileSelected.connect(partial(self._save, data))
        dialog.open()

    def _save(self, data: bytes, path: str) -> None:
        file = QSaveFile(path)
        is_written = file.open(QIODevice.OpenModeFlag.WriteOnly)
        is_written = is_written and file.write(data) == len(data) and file.commit()
        said = self.tr("Saved as {path}") if is_written else self.tr("Not saved: {why}")
        self.said.emit(said.format(path=path, why=file.errorString()))
