"""Pictures of branches: where they begin, and the message that begins one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from desktop_agent.core.events import MessageAdded
from desktop_agent.core.sessions import BranchPoint
from tests import gallery_story as story
from tests.helpers.windows import part

if TYPE_CHECKING:
    from tests.gallery import Gallery


async def show_branches(gallery: Gallery) -> None:
    """Take every picture of branches."""
    opened = story.failed()
    added = [event.message for event in opened.events if isinstance(event, MessageAdded)]
    said = next(message for message in added if message.role == "user")
    point = BranchPoint(1, said.id, 1, (0, 1, 2))
    gallery.show(replace(opened, branches=(point,), path=3))
    await gallery.take("80-branch-switcher")
    view = gallery.window.pages.page(gallery.window.flow.agent)
    assert view is not None
    view.browser.setFocus()
    QTest.keyClick(view.browser, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    await gallery.take("81-message-actions")
    part(gallery.window, "editMessage").click()
    words = "Files stay as they are: 3 files changed since that message."
    composer = gallery.window.frame.composer
    assert composer.branch_draft is not None
    composer.branch.show_files(composer.branch_draft.before, words, can_restore=True)
    await gallery.take("82-branch-begun")
    part(gallery.window, "cancelBranch").click()
    view.remember_requested.emit("Run the tests with **uv**, never with `pip`; build with Node 22.")
    dialog = part(gallery.window, "rememberDialog")
    await gallery.take("83-remember", dialog)
    dialog.reject()
