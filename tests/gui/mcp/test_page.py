"""The page of servers, from states that are made up."""

from desktop_agent.gui.mcp.page import ServersPage
from tests import gallery_servers
from tests.helpers.windows import part


def test_after_a_server_was_removed_the_next_key_is_for_the_list(qtbot, theme):
    """Enter would ask to remove the one that is shown in its place."""
    page = ServersPage(theme)
    qtbot.addWidget(page)
    page.resize(1180, 800)
    with qtbot.waitExposed(page):
        page.show()
    page.activateWindow()
    states = gallery_servers.states()
    page.set_states(states)
    shown = page.detail.state
    remove = part(page, "removeServer")
    remove.setFocus()
    qtbot.waitFocus(remove)
    page.set_states(tuple(one for one in states if one.server.name != shown.server.name))
    qtbot.waitFocus(page.list)
    assert page.detail.state.server.name != shown.server.name
