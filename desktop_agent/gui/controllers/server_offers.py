"""Prompts and resources of MCP servers in the message box."""

from __future__ import annotations

from msgspec.structs import replace

from desktop_agent.core.events import Event, McpChanged
from desktop_agent.core.mcp import McpError
from desktop_agent.gui.composer.attachments import Attachment, AttachmentList, resource_attachment
from desktop_agent.gui.composer.server_offers import (
    ServerPrompt,
    ServerSource,
    prompts_in,
    sources_in,
)
from desktop_agent.gui.controllers.controller import Controller, WindowParts
from desktop_agent.gui.state.session_state import Facet


class ServerOffersController(Controller):
    """Tells the box what servers offer, and fetches what of it is wanted."""

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts)
        self._session.followed.connect(self._on_followed)
        self._session.shown.connect(self._show)
        self._session.workspace_changed.connect(self._show)
        box = self._frame.composer.box
        box.offers_wanted.connect(self._start)
        box.prompt_wanted.connect(self._fetch_prompt)
        box.resource_wanted.connect(self._fetch_resource)

    def _on_followed(self, events: tuple[Event, ...], _: Facet) -> None:
        if any(isinstance(event, McpChanged) and event.root == self.root for event in events):
            self._show()

    def _show(self) -> None:
        root = self.root
        states = self._known.servers_of(root)
        box = self._frame.composer.box
        box.set_offers(prompts_in(root, states), sources_in(root, states))

    def _start(self) -> None:
        """Start the servers that wait for the first message: the list may want theirs."""
        root = self.root
        if any(state.phase == "idle" for state in self._known.servers_of(root)):
            self._engine.watch_mcp(root)

    def _fetch_prompt(self, asked: ServerPrompt, arguments: dict[str, str]) -> None:
        self._queries.run(self._prompt(asked, arguments), "a prompt of a server")

    async def _prompt(self, asked: ServerPrompt, arguments: dict[str, str]) -> None:
        box, name = self._frame.composer.box, asked.prompt.name
        try:
            answer = await self._queries.engine.mcp_prompt(
                asked.root, asked.server, name, arguments
            )
        except McpError as error:
            box.refuse_prompt(asked, str(error))
            return
        if answer.text.strip():
            box.put_prompt(asked, answer.text)
        else:
            box.refuse_prompt(asked, self.tr("The server gave no text for it."))

    def _fetch_resource(
        self, attachments: AttachmentList, number: int, source: ServerSource
    ) -> None:
        self._queries.run(self._resource(attachments, number, source), "a resource of a server")

    async def _resource(
        self, attachments: AttachmentList, number: int, source: ServerSource
    ) -> None:
        uri = source.resource.uri
        # When the window is closed meanwhile another may send it, and reads it then.
        found = Attachment(source.title, detail=uri, source=source)
        try:
            answer = await self._queries.engine.mcp_resource(source.root, source.server, uri)
            found = resource_attachment(source, answer)
        except McpError as error:
            found = replace(found, reason=str(error))
        finally:
            attachments.settle(number, found)
