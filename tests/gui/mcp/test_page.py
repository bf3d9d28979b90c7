"""The page of servers, from states that are made up."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, Qt

from desktop_agent.core.mcp import McpServer, McpState
from desktop_agent.gui.mcp.dialogs import ServerSheet
from desktop_agent.gui.mcp.page import ServersPage
from tests import gallery_servers
from tests.helpers.windows import all_is_seen, hidden_part, part, words_in


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


def test_down_goes_from_the_filter_into_the_list(qtbot, theme):
    page = ServersPage(theme)
    qtbot.addWidget(page)
    with qtbot.waitExposed(page):
        page.show()
    page.activateWindow()
    page.set_states(gallery_servers.states())
    page.enter()
    qtbot.waitFocus(page.search)
    qtbot.keyClick(page.search, Qt.Key.Key_Down)
    qtbot.waitFocus(page.list)
    assert page.list.currentIndex().isValid()


def test_a_filter_that_matches_no_server_says_so_and_offers_the_way_back(qtbot, theme):
    page = ServersPage(theme)
    qtbot.addWidget(page)
    with qtbot.waitExposed(page):
        page.show()
    page.set_states(gallery_servers.states())
    qtbot.keyClicks(page.search, "zebra  x")
    assert "No server matches “zebra x”." in words_in(page)
    qtbot.mouseClick(part(page, "clearServerFilter"), Qt.MouseButton.LeftButton)
    assert page.list.model().rowCount() == len(gallery_servers.states())


@pytest.mark.parametrize("width", [1180, 500])
def test_a_row_whose_box_was_clicked_is_the_current_one_of_the_list(qtbot, theme, width):
    page = ServersPage(theme)
    qtbot.addWidget(page)
    page.resize(width, 800)
    with qtbot.waitExposed(page):
        page.show()
    page.set_states(gallery_servers.states())
    switched = []
    page.list.switched.connect(lambda key, _: switched.append(key))
    rows, now = page.list.rows.rows(), page.list.current_key
    number = next(n for n, row in enumerate(rows) if row.is_on is not None and row.key != now)
    rect = page.list.visualRect(page.list.rows.index(number))
    place = QPoint(rect.right() - 20, rect.center().y())
    qtbot.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert (switched, page.list.current_key) == ([rows[number].key], rows[number].key)
    assert page.list.isVisible()


@pytest.mark.parametrize("is_sse", [True, False])
def test_a_change_of_a_server_leaves_how_its_address_is_spoken_to(qtbot, theme, is_sse):
    before = McpServer(
        "far",
        url="https://mcp.example/events" if is_sse else "https://mcp.example/sse",
        is_sse=is_sse,
    )
    sheet = ServerSheet(theme, server=before)
    qtbot.addWidget(sheet)
    saved = []
    sheet.saved.connect(lambda server, replaces: saved.append(server))
    part(sheet, "serverVariables").setPlainText("PLACE=beds")
    part(sheet, "saveServer").click()
    assert saved == [replace(before, headers={"PLACE": "beds"})]


def test_a_change_of_a_server_leaves_a_variable_of_several_lines_whole(qtbot, theme):
    before = McpServer("db", "run", env={"CONFIG": "[x]\r\na=1\n\nb", "INDENT": "  ", "B": "2"})
    sheet = ServerSheet(theme, server=before)
    qtbot.addWidget(sheet)
    saved = []
    sheet.saved.connect(lambda server, replaces: saved.append(server))
    variables = part(sheet, "serverVariables")
    variables.setPlainText(variables.toPlainText().replace("B=2", "B=3"))
    part(sheet, "saveServer").click()
    assert saved == [replace(before, env=before.env | {"B": "3"})]


def test_a_server_is_tested_with_its_secrets_before_its_new_name_is_saved(qtbot, theme):
    before = McpServer("github", "run", env={"API_TOKEN": "${keyring:API_TOKEN}"})
    sheet = ServerSheet(theme, server=before)
    qtbot.addWidget(sheet)
    tested, saved = [], []
    sheet.test_requested.connect(tested.append)
    sheet.saved.connect(lambda server, replaces: saved.append((server.name, replaces)))
    part(sheet, "serverNameField").setText("gh")
    part(sheet, "testSheet").click()
    part(sheet, "saveServer").click()
    assert tested == [before], "they are kept under the name that it has"
    assert saved == [("gh", "github")]


@pytest.mark.parametrize("width", [640, 1180])
def test_all_of_the_address_of_a_sign_in_is_seen_before_it_is_opened(qtbot, theme, width):
    """Its end tells where one really signs in; most of it is one word."""
    host = f"accounts.example.{'a' * 60}.{'b' * 60}.evil.example"
    url = f"https://{host}/authorize?code_challenge={'E9Melhoa2Ow' * 30}&end=of-it"
    page = ServersPage(theme)
    qtbot.addWidget(page)
    page.resize(width, 800)
    page.set_states((McpState(McpServer("far", url=url), "starting", sign_in_url=url),))
    with qtbot.waitExposed(page):
        page.show()
    page.choose("far")
    shown = page.detail
    qtbot.waitUntil(lambda: part(shown, "openSignIn").isVisible())
    for name, words in (("signInHost", host), ("signInAddress", url)):
        assert all_is_seen(part(shown, name), words)
    for name in ("openSignIn", "testServer", "restartServer"):
        assert not hidden_part(part(shown, name))
