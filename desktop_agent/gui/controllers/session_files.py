"""Exports sessions to files and imports them: the dialogs, and how far it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QStandardPaths, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from shiboken6 import isValid

from desktop_agent.core.ids import SessionId
from desktop_agent.core.sessions import ExportForm, SessionFileError
from desktop_agent.core.workspace import Workspace
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.frame.notice_bar import Notice
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.widgets import named, ticker

if TYPE_CHECKING:
    import asyncio

    from PySide6.QtWidgets import QFileDialog, QProgressDialog

_NOTICE, _SHOW = "session_file", "show_exported"
_FORMS: dict[str, ExportForm] = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}
_SUFFIXES = ("html", "md", "json")
# A dot would make the title's end pass for the kind of the file: `Read a.json`, `Python 3.12`.
_NO_NAME = re.compile(r'[\x00-\x1f<>:"/\\|?*.]+')
_LONGEST_NAME = 80
_POLL_MS = 200
_LONG_MS = 500


class SessionFilesController(Controller):
    """Joins the menus to `SessionFiles`."""

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts)
        self._shown: Path | None = None
        # Those of files that are not done: an answer may come after the end.
        self._boxes: set[QProgressDialog] = set()
        self._frame.sidebar.sessions.exported.connect(self.export)
        self._frame.notices.acted.connect(self._act)

    def export_current(self) -> None:
        if self._session.current is not None:
            self.export(self._session.current)

    def export(self, session_id: str) -> None:
        """Ask for a file, and write a session to it."""
        info = self._known.sessions.get(SessionId(session_id))
        if info is None:
            return
        dialog = self._dialog(self.tr("Export session"), "exportSession")
        dialog.setAcceptMode(dialog.AcceptMode.AcceptSave)
        filters = (
            self.tr("Web page (*.html)"),
            self.tr("Markdown (*.md)"),
            self.tr("Session with all branches (*.json)"),
        )
        dialog.setNameFilters(filters)
        dialog.setDefaultSuffix("html")

        def follow(chosen: str) -> None:
            dialog.setDefaultSuffix(_SUFFIXES[filters.index(chosen)])

        def write(path: str) -> None:
            self._write(info.id, path, _FORMS[f".{dialog.defaultSuffix()}"])

        dialog.filterSelected.connect(follow)
        name = " ".join(_NO_NAME.sub(" ", info.title).split())
        dialog.selectFile(name[:_LONGEST_NAME].rstrip() or "session")
        dialog.fileSelected.connect(write)
        dialog.open()

    def import_session(self) -> None:
        """Ask for a file, and open the session in it."""
        dialog = self._dialog(self.tr("Import session"), "importSession")
        dialog.setFileMode(dialog.FileMode.ExistingFile)
        dialog.setNameFilter(self.tr("Exported session (*.json)"))
        dialog.fileSelected.connect(self._read)
        dialog.open()

    def _dialog(self, title: str, name: str) -> QFileDialog:
        from PySide6.QtWidgets import QFileDialog  # slow to load, and rarely wanted

        place = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        dialog = named(QFileDialog(self._frame.window(), title, place), name)
        dialog.finished.connect(dialog.deleteLater)
        return dialog

    def _write(self, session_id: SessionId, path: str, otherwise: ExportForm) -> None:
        form = _FORMS.get(Path(path).suffix.lower(), otherwise)
        work = partial(self._export, session_id, path, form)
        self._run(work, path, self.tr("Exporting the session…"))

    async def _export(self, session_id: SessionId, path: str, form: ExportForm) -> None:
        await self._queries.files.export(session_id, path, form)
        self._shown = Path(path)
        words = self.tr("Exported to “{name}”.").format(name=with_marks(Path(path).name))
        notice = Notice(words, "info", _SHOW, self.tr("Show folder"))
        self._frame.notices.put(_NOTICE, notice)

    def _read(self, path: str) -> None:
        workspace = self._session.workspace
        if workspace is None:
            self._say(self.tr("Open a folder first: the session continues in it."))
            return
        work = partial(self._import, path, Workspace(workspace.root))
        self._run(work, path, self.tr("Importing the session…"))

    async def _import(self, path: str, workspace: Workspace) -> None:
        session_id = await self._queries.files.import_file(path, workspace)
        self._session.choose_session(session_id)

    def _run(self, work: Callable[[], Coroutine[Any, Any, None]], path: str, title: str) -> None:
        """Do it, and show how far it is once that takes long."""
        from PySide6.QtWidgets import QProgressDialog

        self._frame.notices.remove(_NOTICE)
        box = QProgressDialog(title, self.tr("Cancel"), 0, 100, self._frame.window())
        named(box, "sessionFileProgress").setWindowTitle(title.rstrip("…"))
        box.setWindowModality(Qt.WindowModality.NonModal)
        box.setMinimumDuration(_LONG_MS)
        self._boxes.add(box)
        ticker(box, _POLL_MS, partial(self._ask_progress, box, path)).start()
        job = self._queries.run(self._guarded(work), "a session's file")
        box.canceled.connect(job.cancel)
        job.add_done_callback(partial(self._close, box))

    async def _guarded(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except SessionFileError as error:
            self._say(str(error))

    def _ask_progress(self, box: QProgressDialog, path: str) -> None:
        def show(share: float) -> None:
            if box in self._boxes:
                # 100 would close it before the file has its name.
                box.setValue(min(99, int(100 * share)))

        self._queries.ask(show, self._queries.files.progress(path))

    def _close(self, box: QProgressDialog, _: asyncio.Future[None]) -> None:
        self._boxes.discard(box)
        if isValid(box):  # else the window has gone meanwhile
            box.reset()
            box.deleteLater()

    def _say(self, text: str) -> None:
        self._frame.notices.put(_NOTICE, Notice(with_marks(text), "error"))

    def _act(self, action: str) -> None:
        if action == _SHOW and self._shown is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._shown.parent)))
