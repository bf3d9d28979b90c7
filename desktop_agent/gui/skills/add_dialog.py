"""Adding skills: an address or a file, then what was found, then *Install*."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QElapsedTimer, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QRadioButton,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.core.skill_install import Fetched
from desktop_agent.gui.kit.fields.input_methods import Line
from desktop_agent.gui.kit.fitted_area import FittedArea, fit_dialog
from desktop_agent.gui.kit.links import accept_copy
from desktop_agent.gui.kit.safe_text import elapsed_text, with_marks
from desktop_agent.gui.kit.text import size_text
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    PrimaryButton,
    Spinner,
    TextButton,
    TextLabel,
    column,
    named,
    row,
    ticker,
)
from desktop_agent.gui.skills.drop_zone import DropZone, dropped_source
from desktop_agent.gui.skills.install_list import SkillChecklist

# In widths of the text size: with one field, and with what was found.
_SMALL, _LARGE = (48, 22), (70, 46)
_COMMIT_LETTERS = 7


class AddSkillSheet(QDialog):
    """Fetches skills, shows what was found, and asks which to install.

    Signals:
        fetch_requested(address), cancelled: answered by `show_fetched` or `show_error`
        progress_wanted: while it fetches, every second; answered by `show_progress`
        target_chosen(target): answered by `show_clashes`
        install_requested(folders, target, replaces): answered by `show_error` or by closing it
    """

    fetch_requested = Signal(str)
    cancelled = Signal()
    progress_wanted = Signal()
    target_chosen = Signal(str)
    install_requested = Signal(object, str, bool)

    def __init__(
        self, theme: Theme, parent: QWidget | None = None, *, folder_name: str = ""
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._folder_name = folder_name
        self._come = 0
        self._clock = QElapsedTimer()
        self._ticks = ticker(self, 1000, self._on_tick)
        self.setObjectName("addSkillSheet")
        self.setWindowTitle(self.tr("Add skill"))
        self.setAcceptDrops(True)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.checklist = SkillChecklist(theme)
        self._pages = QStackedWidget(self)
        for page in (self._make_ask(), self._make_wait(), self._make_choose()):
            self._pages.addWidget(page)
        self._error = TextLabel("", "error", self, name="addSkillError", wraps=True, copies=True)
        self._error.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(*(theme.space("l"),) * 4)
        layout.setSpacing(theme.space("m"))
        layout.addWidget(self._pages, 1)
        layout.addWidget(self._error)
        layout.addLayout(self._make_buttons())
        self._go(0)

    # -- down --------------------------------------------------------------------------------

    def begin(self, address: str) -> None:
        """Look at something at once, as what was dropped on the window.

        An installation is let come to its end first: what is fetched is still needed.
        """
        if self.is_installing:
            return
        self._address.setText(address)
        self._fetch()

    def show_progress(self, size: int) -> None:
        """Say how many bytes have come."""
        self._come = size
        self._show_elapsed()

    def show_fetched(self, fetched: Fetched) -> None:
        self._ticks.stop()
        self.checklist.show_found(fetched.skills)
        source = fetched.source
        if fetched.commit:
            source = f"{source} @ {fetched.commit[:_COMMIT_LETTERS]}"
        self._source.setText(with_marks(source))
        self._skipped.setText(with_marks("\n".join(fetched.skipped)))
        self._skipped_area.setVisible(bool(fetched.skipped))
        self._clash.setVisible(self.checklist.has_clash())
        self._skip.setChecked(True)
        self._go(2)
        self.checklist.list.setFocus(Qt.FocusReason.OtherFocusReason)
        if self._here.isChecked():
            self.target_chosen.emit("folder")

    def show_clashes(self, clashes: Mapping[str, str]) -> None:
        """Show what is there already where it shall go, by folder."""
        self.checklist.set_clashes(clashes)
        self._clash.setVisible(self.checklist.has_clash())

    def show_error(self, words: str) -> None:
        """Say what went wrong, where it can be tried again."""
        self._ticks.stop()
        page = self._pages.currentIndex()
        if page == 1:
            page = 2 if self.is_installing else 0
        self._go(page)
        self._error.setText(with_marks(words))
        self._error.show()
        if self._pages.currentIndex() == 0:
            self._make_room()
            self._address.setFocus(Qt.FocusReason.OtherFocusReason)
            self._address.selectAll()

    def _make_room(self) -> None:
        """Grow by what the error takes: else it is taken from the words over it."""
        edge, gap = self._theme.space("l"), self._theme.space("m")
        high = self._error.heightForWidth(self.width() - 2 * edge)
        self.resize(self.width(), self.height() + high + gap)

    # -- construction ------------------------------------------------------------------------

    def _make_ask(self) -> QWidget:
        theme = self._theme
        page = QWidget()
        title = TextLabel(self.tr("Where is the skill?"), "h3", page)
        about = TextLabel(
            self.tr(
                "The address of a git repository, of a folder in it, of a SKILL.md or of a zip; "
                "or a path on this computer. You see what is in it before anything is installed."
            ),
            "muted",
            page,
            wraps=True,
        )
        self._address = named(Line(page), "skillAddress", self.tr("Address or path"))
        self._address.setPlaceholderText("https://github.com/owner/skills/tree/main/pdf")
        self._address.setClearButtonEnabled(False)
        self._address.returnPressed.connect(self._fetch)
        self._address.textChanged.connect(self._on_address)
        zone = DropZone(theme, page)
        zone.dropped.connect(self.begin)
        zone.file_wanted.connect(lambda: self._choose(is_folder=False))
        zone.folder_wanted.connect(lambda: self._choose(is_folder=True))
        column(title, about, self._address, (zone, 1), spacing=theme.space("m"), within=page)
        return page

    def _make_wait(self) -> QWidget:
        theme = self._theme
        page = QWidget()
        self._doing = TextLabel("", "title", page, name="addSkillDoing", wraps=True)
        self._doing.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._elapsed = TextLabel("", "subtle", page, name="addSkillProgress")
        self._elapsed.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        layout = QVBoxLayout(page)
        layout.setSpacing(theme.space("m"))
        layout.addStretch(1)
        layout.addLayout(row(None, Spinner(theme, 24, page), None))
        layout.addWidget(self._doing)
        layout.addWidget(self._elapsed)
        layout.addStretch(1)
        return page

    def _make_choose(self) -> QWidget:
        theme = self._theme
        page = QWidget()
        title = TextLabel(self.tr("What to install"), "h3", page)
        self._source = TextLabel("", "mono", page, name="fetchedSource", wraps=True)
        self._skipped = TextLabel("", "warn", name="fetchedSkipped", wraps=True)
        self._skipped_area = FittedArea(self._skipped, 72, page)
        self.checklist.ticked.connect(self._count)
        self._mine = named(QRadioButton(self.tr("For me, in every folder"), page), "installMine")
        self._mine.setChecked(True)
        here = self.tr("Only in {folder}, for everyone who works in it")
        self._here = named(QRadioButton(here.format(folder=self._folder_name), page), "installHere")
        self._here.setVisible(bool(self._folder_name))
        self._here.toggled.connect(lambda: self.target_chosen.emit(self.target))
        self._skip = named(QRadioButton(self.tr("Skip what is there already"), page), "skipThere")
        self._replace = named(QRadioButton(self.tr("Replace it"), page), "replaceThere")
        self._replace.toggled.connect(self.checklist.set_replacing)
        for pair in ((self._mine, self._here), (self._skip, self._replace)):
            group = QButtonGroup(page)
            group.addButton(pair[0])
            group.addButton(pair[1])
        self._clash = QWidget(page)
        self._clash.setLayout(row(self._skip, self._replace, None, spacing=theme.space("l")))
        layout = column(spacing=theme.space("s"), within=page)
        for widget in (title, self._source, self._skipped_area, self.checklist, self._clash):
            layout.addWidget(widget, int(widget is self.checklist))
        layout.addLayout(row(self._mine, self._here, None, spacing=theme.space("l")))
        return page

    def _make_buttons(self) -> QHBoxLayout:
        theme = self._theme
        self._fetch_button = PrimaryButton(theme, self.tr("Fetch"), "", self, name="fetchSkill")
        self._fetch_button.setToolTip(
            self.tr("Fetch it and show what is in it; nothing is installed")
        )
        self._fetch_button.clicked.connect(self._fetch)
        self._install = PrimaryButton(theme, "", "", self, name="installSkills")
        self._install.clicked.connect(self._on_install)
        self._back = TextButton(theme, self.tr("Back"), "", self, name="addSkillBack")
        self._back.clicked.connect(lambda: self._go(0))
        self._leave = GhostButton(theme, self.tr("Cancel"), "", self, name="addSkillCancel")
        self._leave.clicked.connect(self._on_cancel)
        return row(self._back, None, self._leave, self._fetch_button, self._install)

    # -- steps -------------------------------------------------------------------------------

    @property
    def target(self) -> str:
        """Where it shall go: `mine`, or the `folder`."""
        return "folder" if self._here.isChecked() else "mine"

    @property
    def is_installing(self) -> bool:
        """Whether the user waits for an installation."""
        return self._pages.currentIndex() == 1 and bool(self._doing.property("installs"))

    def _go(self, page: int) -> None:
        self._pages.setCurrentIndex(page)
        self._fit(page)
        self._error.hide()
        self._fetch_button.setVisible(page == 0)
        self._back.setVisible(page == 2)
        self._install.setVisible(page == 2)
        self._leave.setEnabled(True)
        self._on_address()
        if page == 0:
            self._address.setFocus(Qt.FocusReason.OtherFocusReason)

    def _fit(self, page: int) -> None:
        """Be as large as the page asks for; the one that waits takes the size there is."""
        for number in range(self._pages.count()):
            shown = self._pages.widget(number)
            policy = QSizePolicy.Policy.Preferred if number == page else QSizePolicy.Policy.Ignored
            if shown is not None:
                shown.setSizePolicy(policy, policy)
        if page == 1:
            return
        fit_dialog(self, self._theme, *(_SMALL if page == 0 else _LARGE))
        window = self.parentWidget()
        if window is not None and self.isVisible():
            self.move(window.window().geometry().center() - self.rect().center())

    def _on_address(self) -> None:
        self._fetch_button.setEnabled(bool(self._address.text().strip()))

    def _fetch(self) -> None:
        address = self._address.text().strip()
        if address:
            self._wait(self.tr("Fetching {what}…").format(what=address), installs=False)
            self.fetch_requested.emit(address)

    def _wait(self, words: str, *, installs: bool) -> None:
        self._doing.setText(with_marks(words))
        self._doing.setProperty("installs", installs)
        self._come = 0
        self._elapsed.setText("")
        self._clock.start()
        self._ticks.start()
        self._go(1)
        # An installation is never left incomplete; it takes a moment only.
        self._leave.setEnabled(not installs)
        self._leave.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_tick(self) -> None:
        if not self.is_installing:
            self.progress_wanted.emit()
        self._show_elapsed()

    def _show_elapsed(self) -> None:
        elapsed = elapsed_text(self._clock.elapsed() / 1000)
        words = self.tr("{size} so far · {time}") if self._come else "{time}"
        self._elapsed.setText(words.format(size=size_text(self._come), time=elapsed))

    def _count(self) -> None:
        count = len(self.checklist.chosen())
        words = self.tr("Install {n} skills").format(n=count)
        self._install.set_text(self.tr("Install 1 skill") if count == 1 else words)
        self._install.setEnabled(count > 0)

    def _on_install(self) -> None:
        chosen = self.checklist.chosen()
        if chosen:
            self._wait(self.tr("Installing…"), installs=True)
            self.install_requested.emit(chosen, self.target, self._replace.isChecked())

    def _on_cancel(self) -> None:
        if self._pages.currentIndex() == 1:
            self._ticks.stop()
            self._go(0)
            self.cancelled.emit()
        else:
            self.reject()

    def _choose(self, *, is_folder: bool) -> None:
        dialog = QFileDialog(self, self.tr("Add skill"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if is_folder:
            dialog.setFileMode(QFileDialog.FileMode.Directory)
            dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        else:
            dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
            dialog.setNameFilter(self.tr("Skills (*.zip *.skill *.md)"))
        dialog.fileSelected.connect(self.begin)
        dialog.open()

    # -- events ------------------------------------------------------------------------------

    def reject(self) -> None:
        """Closing cancels a fetch; an installation is completed."""
        if not self.is_installing:
            self.cancelled.emit()
            super().reject()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._pages.currentIndex() == 0 and dropped_source(event.mimeData()):
            accept_copy(event)

    def dropEvent(self, event: QDropEvent) -> None:
        accept_copy(event)
        self.begin(dropped_source(event.mimeData()))
