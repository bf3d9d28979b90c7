"""Every action of the window joined to what it does, one line each."""

from __future__ import annotations

from typing import Any

from desktop_agent.gui.frame.focus_regions import focus_neighbour


def connect_keys(window: Any) -> None:
    """Connect the actions of a MainWindow; called once, by itself."""
    keys, frame, popups = window.commands, window.frame, window.popups
    for leaving in (keys.new, keys.find, keys.composer, keys.approval):
        # Before what they do: that is about the conversation.
        leaving.triggered.connect(window.skills.leave)
    keys.new.triggered.connect(window.begin_session)
    keys.folder.triggered.connect(window.open_picker)
    keys.switch.triggered.connect(lambda: popups.open_palette((), window.known.sessions))
    # The list of all commands is none of them.
    listed = [action for action in keys.all if action is not keys.palette]
    keys.palette.triggered.connect(
        lambda: popups.open_palette((*listed, *window.side.commands()), window.known.sessions)
    )
    keys.rename.triggered.connect(frame.header.begin_rename)
    keys.delete.triggered.connect(lambda: frame.sidebar.sessions.delete(window.flow.current or ""))
    keys.settings.triggered.connect(window.settings_window.open)
    keys.quit.triggered.connect(window.close)
    keys.find.triggered.connect(frame.find_bar.enter)
    keys.find_next.triggered.connect(lambda: frame.find_bar.search())
    keys.find_previous.triggered.connect(lambda: frame.find_bar.search(backward=True))
    keys.copy_answer.triggered.connect(window.tools.copy_answer)
    keys.stop.triggered.connect(frame.composer.request_stop)
    keys.approval.triggered.connect(window.side.review)
    keys.composer.triggered.connect(frame.composer.focus_text)
    keys.sidebar.triggered.connect(frame.toggle_sidebar)
    keys.model.triggered.connect(window.open_models)
    keys.larger.triggered.connect(lambda: window.flow.scale_text(1))
    keys.smaller.triggered.connect(lambda: window.flow.scale_text(-1))
    keys.normal.triggered.connect(lambda: window.flow.scale_text(0))
    keys.shortcuts.triggered.connect(lambda: popups.open_shortcuts(keys.all))
    keys.next_region.triggered.connect(lambda: focus_neighbour(frame.regions(), 1))
    keys.previous_region.triggered.connect(lambda: focus_neighbour(frame.regions(), -1))
    keys.budget.triggered.connect(lambda: window.side.edit_budget())
    keys.side.triggered.connect(window.side.toggle)
    keys.skills.triggered.connect(lambda: window.skills.open())
    keys.add_skill.triggered.connect(lambda: window.skills.add())
    keys.trust.triggered.connect(window.skills.trust.look)
    keys.task.triggered.connect(window.side.add_task)
