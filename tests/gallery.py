"""Pictures of every screen for a look over them: the real window, fed with a made-up session.

python -m tests.gallery FOLDER [--theme light|dark] [--width N] [--text PERCENT] [--only NAME…]
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import qasync
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from desktop_agent.core.events import Event, SessionOpened, SessionsChanged
from desktop_agent.core.settings import Settings
from desktop_agent.gui.agents.panel import AgentPanel
from desktop_agent.gui.bridge.bridge import Bridge
from desktop_agent.gui.frame.shortcuts_dialog import ShortcutsDialog
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.startup.run import make_application
from desktop_agent.gui.state.background_jobs import BackgroundJob
from desktop_agent.gui.transcript.cards.approval_card import ApprovalCard
from desktop_agent.gui.transcript.cards.approval_forms import RefuseForm
from desktop_agent.gui.window.app_windows import AppWindows
from desktop_agent.gui.window.main_window import MainWindow
from tests import gallery_story as story
from tests.bench.stage import pause
from tests.gallery_branches import show_branches
from tests.gallery_changes import show_changes
from tests.gallery_context import show_context
from tests.gallery_look import show_look
from tests.gallery_sandbox import show_sandbox
from tests.gallery_servers import show_servers
from tests.gallery_sessions import show_sessions
from tests.gallery_skills import show_skills
from tests.gallery_usage import show_usage
from tests.helpers.windows import app_of, bridge_of, part, side_panel
from tests.outpost.gallery import far_team, show_far_team, show_places

_HIGH = 900
_SETTLE_S = 0.45


class Gallery:
    """The window, and a picture of it whenever one is asked for."""

    def __init__(self, app: QApplication, given: argparse.Namespace) -> None:
        self.given = given
        self.theme = Theme(app)
        self.theme.configure(given.theme, given.text, True)
        self.window = self.make(Settings(theme=given.theme, text_scale=given.text, model="demo"))

    def make(self, settings: Settings) -> MainWindow:
        bridge = Bridge()
        window = AppWindows(self.theme, bridge, settings, bridge).open_first()
        window.resize(self.given.width, _HIGH)
        window.show()
        window.activateWindow()
        return window

    @property
    def agents(self) -> AgentPanel:
        panel = side_panel(self.window)
        assert panel is not None
        return panel.agents

    def hear(self, *events: Event) -> None:
        """Let the window hear events as the bridge gives them."""
        bridge_of(self.window).received.emit(events)

    def show(self, opened: SessionOpened) -> None:
        """Open a session on screen."""
        self.hear(SessionsChanged(story.SESSIONS))
        self.window.pages.drop(opened.info.main_agent)
        self.window.known.hide()
        self.window.flow.show_session(opened.info.id)
        self.hear(opened)

    async def take(self, name: str, widget: QWidget | None = None) -> None:
        """Save a picture, unless others were asked for."""
        await pause(_SETTLE_S)
        given = self.given
        if given.only and not any(name.startswith(one) for one in given.only):
            return
        path = given.folder / f"{name}-{given.theme}-{given.width}-{given.text}.png"
        (widget or self.window).grab().save(str(path))
        sys.stdout.write(f"{path}\n")

    async def type(self, words: str) -> None:
        """Write into the message box, where the focus brings its lists up."""
        self.window.activateWindow()
        await pause(_SETTLE_S)
        text = part(self.window, "composerText")
        text.setFocus()
        text.insertPlainText(words)

    def point(self, widget: QWidget, where: QPoint) -> None:
        """Move the mouse over a widget."""
        at = QPointF(where)
        none = Qt.MouseButton.NoButton
        over = widget.mapToGlobal(at)
        move = QMouseEvent(
            QEvent.Type.MouseMove, at, over, none, none, Qt.KeyboardModifier.NoModifier
        )
        QApplication.sendEvent(widget, move)


async def _first_run(gallery: Gallery) -> None:
    window = gallery.window
    gallery.window = gallery.make(Settings(theme=gallery.given.theme))
    gallery.hear(SessionsChanged(()))
    page = part(gallery.window, "welcome")
    page.models.set_servers(story.SERVERS)
    page.models.set_keys(())
    page.models.key_form.set_places(has_keyring=True, keeps_in_file=False)
    page.models.set_models(story.MODELS)
    await gallery.take("01-welcome")
    page.set_progress("Demo model")
    await gallery.take("02-welcome-folder")
    gallery.window.hide()
    gallery.window = window
    window.activateWindow()


async def _session(gallery: Gallery) -> None:
    gallery.show(story.empty())
    await gallery.take("03-empty")
    gallery.window.popups.open_picker()
    await gallery.take("04-folders")
    part(gallery.window, "workspacePicker").close()
    gallery.show(story.working())
    await gallery.take("05-working")
    gallery.window.side.toggle()
    await gallery.take("05b-panel-toggled")
    gallery.window.side.toggle()
    await _refusing(gallery)
    gallery.show(story.edited())
    await gallery.take("06-diff")
    gallery.show(story.failed())
    await gallery.take("07-error")
    gallery.show(story.asked())
    await gallery.take("08-question")
    gallery.show(story.stopped())
    await gallery.take("09-stopped")
    gallery.window.commands.palette.trigger()
    await gallery.take("10-palette")
    part(gallery.window, "commandPalette").close()
    gallery.window.popups.open_models()
    part(gallery.window, "modelPicker").set_models(story.MODELS)
    await gallery.take("11-models")
    part(gallery.window, "modelPicker").close()
    await _finding(gallery)


async def _windows(gallery: Gallery) -> None:
    """Show a session that has a request in two windows: the second can only read it."""
    opened = story.working()
    gallery.show(opened)
    first = gallery.window
    app = app_of(first)
    app.open_beside(first)
    second = app.windows[1]
    gallery.hear(SessionsChanged(story.SESSIONS))
    second.flow.show_session(opened.info.id)
    gallery.hear(opened)
    await gallery.take("16-reading-window", second)
    second.frame.sidebar.sessions.renamed.emit(opened.info.id, "Another name")
    await gallery.take("17-reading-window-refused", second)
    part(second, "dismissNotice").click()
    app.take_over(second)
    await gallery.take("18-first-window-reads")
    second.close()


async def _refusing(gallery: Gallery) -> None:
    card = gallery.window.findChild(ApprovalCard)
    assert card is not None
    await pause(_SETTLE_S)  # it can be answered only after a moment
    card.findChild(QPushButton, "refuse").click()
    await gallery.take("05c-refusing")
    form = card.findChild(RefuseForm)
    assert form is not None
    menu = form.rule_menu()
    always = card.findChild(QPushButton, "refuseAlways")
    menu.popup(always.mapToGlobal(always.rect().bottomLeft()))
    await gallery.take("05d-refuse-always", menu)
    menu.close()


async def _finding(gallery: Gallery) -> None:
    window = gallery.window
    gallery.show(story.edited())
    window.commands.find.trigger()
    window.frame.find_bar.field.setText("retry")
    await gallery.take("12-find")
    window.frame.find_bar.leave()
    side_panel(window).tasks.findChild(QWidget, "taskGraphTab").click()
    _open_side(gallery)
    await gallery.take("13-graph")
    side_panel(window).tasks.findChild(QWidget, "taskListTab").click()
    window.frame.close_drawer()
    await gallery.type("@re")
    window.frame.composer.box.set_completions("re", ("README.md", "src/", "src/retry.py"))
    await gallery.take("14-files")
    part(window, "composerText").clear()
    window.commands.shortcuts.trigger()
    sheet = window.findChild(ShortcutsDialog)
    assert sheet is not None
    await gallery.take("15-keys", sheet)
    sheet.reject()


async def _settings(gallery: Gallery) -> None:
    gallery.window.settings_window.open()
    dialog = part(gallery.window, "settingsDialog")
    dialog.rules.set_rules(story.RULES)
    dialog.models.set_keys(story.KEYS)
    dialog.models.set_models(story.MODELS)
    dialog.models.set_has_keyring(True)
    for page in ("appearance", "models", "behaviour", "rules", "about"):
        dialog.open_page(page)
        await gallery.take(f"20-settings-{page}", dialog)
    await show_places(gallery, dialog)
    dialog.close()


def _open_side(gallery: Gallery) -> None:
    frame = gallery.window.frame
    if frame.has_side_drawer and not frame.has_side_open:
        frame.toggle_side()


async def _team(gallery: Gallery) -> None:
    gallery.show(story.team())
    _open_side(gallery)
    panel = gallery.agents
    await gallery.take("30-team")
    panel.select(story.EXPLORER)
    gallery.hear(*story.notes())
    await gallery.take("31-strip")
    jobs = ("npm run dev -- --port 5173", "python -m http.server 8000 --directory docs/build/html")
    running = [BackgroundJob(story.MAIN, f"job_{n}", words) for n, words in enumerate(jobs)]
    gallery.window.side.show_jobs(tuple(running))
    await gallery.take("31b-jobs")
    gallery.window.side.show_jobs(())
    view = panel.tree.view
    box = view.button_box(panel.tree.model.index_of(story.EXPLORER), "probe")
    gallery.point(view.viewport(), box.center())
    await gallery.take("32-row-buttons")
    menu = view.actions_of_row.make_menu(view)
    menu.popup(view.viewport().mapToGlobal(box.center()))
    await gallery.take("33-menu", menu)
    menu.close()
    panel.set_probe_result(story.EXPLORER, story.PROBE)
    await gallery.take("34-probe")
    gallery.window.side.edit_budget(story.EXPLORER, panel.strip)
    await gallery.take("35-budget")
    part(gallery.window, "budgetForm").close()
    panel.select(story.TESTER)
    await gallery.take("36-answer")
    panel.select(story.HELD)
    await gallery.take("37-held")
    gallery.hear(*story.asks())
    _open_side(gallery)
    await gallery.take("38-asks")
    for row in panel.asks.findChildren(QWidget, "askRow"):
        row.mark.setChecked(row.ask.is_approval)
    await gallery.take("39-asks-marked")
    gallery.window.flow.show_agent(story.EXPLORER)
    gallery.hear(story.explorer())
    await gallery.take("40-subagent")
    gallery.window.frame.close_drawer()
    await gallery.take("41-subagent-no-drawer")


async def _far(gallery: Gallery) -> None:
    gallery.show(far_team(story.team()))
    _open_side(gallery)
    await show_far_team(gallery.take, gallery.hear, gallery.agents, story.EXPLORER)


async def _many(gallery: Gallery) -> None:
    gallery.show(story.crowd())
    _open_side(gallery)
    await gallery.take("50-crowd")
    gallery.agents.select(story.crowd().agents[500].id)
    await gallery.take("51-crowd-selected")
    gallery.show(story.odd())
    gallery.agents.select(story.ODD[0])
    _open_side(gallery)
    await gallery.take("52-odd-names")
    gallery.window.flow.show_agent(story.ODD[0])
    gallery.hear(story.odd_one())
    await gallery.take("53-odd-subagent")


async def _skills(gallery: Gallery) -> None:
    await show_skills(gallery, story.empty())


async def _changes(gallery: Gallery) -> None:
    await show_changes(gallery)


async def _servers(gallery: Gallery) -> None:
    await show_servers(gallery, story.empty())


async def _usage(gallery: Gallery) -> None:
    await show_usage(gallery, story.empty())


PARTS: dict[str, Callable] = {
    "first": _first_run,
    "session": _session,
    "windows": _windows,
    "sessions": show_sessions,
    "settings": _settings,
    "places": _far,
    "team": _team,
    "many": _many,
    "skills": _skills,
    "servers": _servers,
    "usage": _usage,
    "sandbox": show_sandbox,
    "changes": _changes,
    "context": show_context,
    "branches": show_branches,
    "look": show_look,
}


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--theme", default="light")
    parser.add_argument("--width", type=int, default=1440)
    parser.add_argument("--text", type=int, default=100)
    parser.add_argument("--part", nargs="*", default=list(PARTS))
    parser.add_argument("--only", nargs="*", default=[])
    return parser.parse_args()


def main() -> int:
    given = _given()
    given.folder.mkdir(parents=True, exist_ok=True)
    logging.getLogger("desktop_agent.gui.startup.run").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as home:
        os.environ["DESKTOP_AGENT_HOME"] = os.environ["HOME"] = home
        app = make_application()
        loop = qasync.QEventLoop(app)
        asyncio.set_event_loop(loop)

        async def play() -> None:
            gallery = Gallery(app, given)
            for part in given.part:
                await PARTS[part](gallery)

        with loop:
            loop.run_until_complete(play())
    return 0


if __name__ == "__main__":
    sys.exit(main())
