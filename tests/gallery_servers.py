"""The page of MCP servers, for the gallery."""

from __future__ import annotations

import time
from typing import Any

from desktop_agent.core.events import McpChanged
from desktop_agent.core.mcp import (
    McpArgument,
    McpLine,
    McpPrompt,
    McpResource,
    McpServer,
    McpState,
    McpTool,
)
from desktop_agent.core.parts.forms import FormField, ServerForm
from desktop_agent.gui.composer.server_offers import prompts_in, sources_in
from desktop_agent.gui.mcp.dialogs import ImportSheet, ServerSheet
from desktop_agent.gui.mcp.log_window import LogWindow
from desktop_agent.gui.transcript.cards.form_card import FormCard
from tests.bench.stage import pause
from tests.helpers.windows import bridge_of, part

_TOOLS = (
    McpTool("search_issues", "Find issues by words, label or person", mark="reads"),
    McpTool("get_issue", "One issue with its comments", mark="reads"),
    McpTool("list_projects", "Projects that you may see", mark="reads"),
    McpTool("add_comment", "Write a comment under an issue", mark="changes"),
    McpTool("close_issue", "Close an issue", mark="changes"),
    McpTool("run_query", "Run a saved query"),
)
_TRACKER = McpServer(
    "tracker",
    "npx",
    ("-y", "tracker-mcp", "--read-write"),
    {"TRACKER_URL": "${TRACKER_URL}", "TRACKER_TOKEN": "${keyring:TRACKER_TOKEN}"},
    tools_off=("close_issue", "run_query"),
)
_SIGN_IN = "Its tools are there once you have signed in."
_PRIVATE = McpServer("issues", url="https://issues.example/mcp")
_PROMPTS = (
    McpPrompt(
        "triage",
        "Sort the new issues of a project by how much they matter",
        (
            McpArgument("project", "Its short name", is_required=True),
            McpArgument("since", "A day such as 2026-11-01"),
        ),
    ),
    McpPrompt("weekly", "What was done this week"),
)
_RESOURCES = (
    McpResource("tracker://projects/web", "Project web", "What is open in it", "text/markdown"),
    McpResource("tracker://labels", "Labels"),
)
_LOG = tuple(
    McpLine(time.mktime((2026, 11, 2, 10, 2, at, 0, 0, -1)), text)
    for at, text in enumerate(("tracker-mcp 2.4.1, stdio", "signed in as Ada; 4 projects"), 11)
)


def states() -> tuple[McpState, ...]:
    """Return a server of each kind."""
    since = time.time() - 2520
    browser = McpServer("browser", "npx", ("-y", "browser-mcp"))
    why = "It ended: exit code 1. No display was found"
    docs = McpServer("docs-search", url="https://docs.example/mcp", origin="folder")
    return (
        McpState(browser, "failed", why),
        McpState(docs, "waiting", "It waits until you trust this folder.", needs_trust=True),
        McpState(McpServer("files", "uvx", ("mcp-files",), is_on=False), "off"),
        McpState(_PRIVATE, "sign_in", _SIGN_IN),
        McpState(
            McpServer("postgres", "uvx", ("mcp-postgres",)),
            "running",
            tools=_TOOLS[:3],
            since=since,
            is_contained=True,
        ),
        McpState(
            _TRACKER,
            "running",
            tools=_TOOLS,
            since=since,
            is_contained=True,
            changed=("get_issue",),
            prompts=_PROMPTS,
            resources=_RESOURCES,
        ),
    )


async def _show_offers(gallery: Any) -> None:
    """Take what servers offer in the message box."""
    window = gallery.window
    box = window.frame.composer.box
    window.frame.composer.focus_text()
    await pause(0.3)
    box.edit.insertPlainText("/tr")
    await gallery.take("80-prompts")
    box.edit.clear()
    form_of = next(one for one in states() if one.prompts)
    box.fill_in(prompts_in(window.servers.root, (form_of,))[0])  # as a choice in the list does
    await gallery.take("81-prompt-form")
    part(window, "promptForm").show_problem("The server “tracker” does not run. It ended: exit 1.")
    await gallery.take("82-prompt-failed")
    part(window, "promptForm").leave()
    box.edit.insertPlainText("Compare with @")
    box.set_completions("", ("README.md", "src/", "src/retry.py"))
    await gallery.take("83-resources")
    source = sources_in(window.servers.root, states())[0]
    box.attach_source(source)
    await gallery.take("84-resource-chip")
    box.clear()


_FORM = ServerForm(
    "Which release shall the notes be for?",
    (
        FormField("version", "Version", about="Such as 2.4.1", is_required=True),
        FormField("count", "Commits at most", "integer", default=50, least=1, most=500),
        FormField("kind", "Kind", "choice", choices=(("major", "Major"), ("minor", "Minor"))),
        FormField("is_draft", "Only a draft", "boolean", default=True),
        FormField("parts", "Parts", "choices", choices=(("web", "Web"), ("api", "Interface"))),
    ),
    server="tracker",
)
_URL = ServerForm(
    "Sign in to see private projects.",
    url="https://tracker.example/connect?state=9f2c51b7&scope=projects",
    server="tracker",
)


async def _show_forms(gallery: Any) -> None:
    """Take what a server asks for in a call."""
    for name, form in (("85-server-form", _FORM), ("86-server-address", _URL)):
        card = FormCard(gallery.theme, form, gallery.window)
        card.setGeometry(340, 120, 720, card.height_for(720))
        card.show()
        await pause(0.2)
        if form.fields:
            part(card, "sendForm").click()  # says what is missing
        card.resize(720, card.height_for(720))
        await gallery.take(name)
        card.deleteLater()


async def _show_sign_in(gallery: Any) -> None:
    """Take a server that wants a sign-in: before, meanwhile and after."""
    flow = gallery.window.servers
    address = "https://login.example/authorize?response_type=code&client_id=4f1c&scope=issues"
    moments = (
        (
            "87-sign-in",
            McpState(_PRIVATE, "sign_in", _SIGN_IN),
        ),
        ("88-signing-in", McpState(_PRIVATE, "starting", sign_in_url=f"{address}&state=9f2c51b7")),
        (
            "89-signed-in",
            McpState(_PRIVATE, "running", "", _TOOLS[:3], time.time() - 60, is_signed_in=True),
        ),
    )
    for name, state in moments:
        bridge_of(gallery.window).received.emit((McpChanged(flow.root, (state,)),))
        flow.open("issues")
        await gallery.take(name)


async def show_servers(gallery: Any, opened: Any) -> None:
    """Take the page in each state, and the sheets."""
    gallery.show(opened)
    flow = gallery.window.servers
    bridge_of(gallery.window).received.emit((McpChanged(flow.root, states()),))
    await _show_offers(gallery)
    await _show_forms(gallery)
    flow.open("tracker")
    part(gallery.window, "serversPage").detail.show_log(_LOG)
    await gallery.take("75-servers")
    log = LogWindow(gallery.theme, "tracker", gallery.window)
    log.show()
    log.show_lines(_LOG)
    await gallery.take("75-server-log", log)
    log.close()
    for name in ("serverPromptsFold", "serverResourcesFold"):
        part(gallery.window, name).click()
    await gallery.take("75-servers-unfolded")
    flow.open("docs-search")
    await gallery.take("76-server-waits")
    await _show_sign_in(gallery)
    bridge_of(gallery.window).received.emit((McpChanged(flow.root, ()),))
    await gallery.take("77-no-servers")
    sheet = ServerSheet(gallery.theme, gallery.window, server=_TRACKER)
    sheet.open()
    sheet.show_tested(states()[5])
    await gallery.take("78-server-sheet", sheet)
    sheet.reject()
    far = McpServer("issues", url="https://issues.example/mcp", client_id="desktop-7c1e")
    sheet = ServerSheet(gallery.theme, gallery.window, server=far)
    sheet.open()
    await gallery.take("78-server-sheet-client", sheet)
    sheet.reject()
    imported = ImportSheet(gallery.theme, gallery.window)
    imported.open()
    imported.add_servers("Cursor", [_TRACKER, McpServer("docs", url="https://docs.example/mcp")])
    imported.add_servers("", [McpServer("files", "uvx", ("mcp-files", "."))])
    await gallery.take("79-import", imported)
    imported.reject()
