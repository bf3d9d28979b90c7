"""Servers' tools as the engine's: asked about, bounded, their words marked as their own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

import msgspec

from desktop_agent.core.approvals import Rule
from desktop_agent.core.mcp import McpAnswer, McpError, McpTool
from desktop_agent.core.parts.forms import FormAnswer, ServerForm
from desktop_agent.core.tool import Access, Preview, Tool, ToolContext, ToolError, ToolOutput
from desktop_agent.engine.mcp.ports import AskForm
from desktop_agent.engine.skills.rules import visible

SEARCH, CALL = "mcp_search", "mcp_call"
# More tools than this are found by a search: their descriptions would fill the context.
MOST_LISTED = 40
_TIME_S = 600.0
# A server that asks on and on gets no answer any more.
_MOST_FORMS = 20
_LONGEST_TEXT = 40_000
_MOST_FOUND = 8
_LARGEST_FOUND = 20_000
_TEXT = {"type": "string"}
_CHANGED = "The server describes this tool otherwise than when you last allowed it."


class Offered(msgspec.Struct, frozen=True):
    """A server's tool under the name that models use; `where` is the folder that brings it.

    `is_local` tells that its server is a command, which may change files of the folder.
    """

    name: str
    server: str
    tool: McpTool
    where: str = ""
    is_local: bool = False
    is_changed: bool = False


CallTool = Callable[[Offered, ToolContext, Mapping[str, Any], AskForm], Awaitable[McpAnswer]]


def tool_of(offered: Offered, call: CallTool) -> Tool:
    """Return it as a Tool; `call` is given who calls."""
    tool = offered.tool

    async def run(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        try:
            async with asyncio.timeout(_TIME_S) as limit:
                asking = _Asking(offered.server, ctx.ask_form, limit)
                answer = await call(offered, ctx, args, asking.ask)
        except McpError as error:
            raise ToolError(f"the server “{offered.server}” did not do it: {error}") from None
        text = _bounded(answer.text, ctx)
        if answer.is_error:
            raise ToolError(text or "the server says no more than that it failed.")
        nothing = "(The tool gave no text.)" if answer.images else "(The tool gave nothing.)"
        return ToolOutput(text or nothing, images=answer.images)

    async def preview(_: Mapping[str, Any], ctx: ToolContext) -> Preview:
        return Preview(
            title=f"Use {_one_line(tool.name)} of the server {offered.server}?",
            stakes=(_stake(tool),),
            paths=(ctx.workspace.root,) if offered.is_local else (),
            rules=(Rule(offered.name, ""),),
            asked=_CHANGED if offered.is_changed else "",
            fingerprint=tool.digest,
        )

    return Tool(
        name=offered.name,
        description=_description(offered),
        schema=tool.schema,
        access=Access.SERVER,
        parse=_checked,
        run=run,
        preview=preview,
        describe=lambda _: f"{offered.server}: {_one_line(tool.name)}",
        where=offered.where,
    )


class _Asking:
    """Asks the user what a server wants to know, one thing at a time; that takes no time away."""

    def __init__(self, server: str, ask: AskForm | None, limit: asyncio.Timeout) -> None:
        self._server = server
        self._ask = ask
        self._limit = limit
        self._turn = asyncio.Lock()
        self._asked = 0

    async def ask(self, form: ServerForm) -> FormAnswer:
        self._asked += 1
        if self._ask is None or self._asked > _MOST_FORMS or self._limit.expired():
            return FormAnswer("cancel")
        async with self._turn:
            self._limit.reschedule(None)
            try:
                return await self._ask(msgspec.structs.replace(form, server=self._server))
            finally:
                self._limit.reschedule(asyncio.get_running_loop().time() + _TIME_S)


def search_tools(known: Callable[[str], Sequence[Tool]]) -> tuple[Tool, Tool]:
    """Return the tool that finds tools, and the one that calls what was found.

    `known` returns the tools of servers that may be used in a folder.
    """

    async def search(args: Mapping[str, Any], ctx: ToolContext) -> ToolOutput:
        words = str(args.get("query", "")).lower().split()[:20]
        found = _best(words, known(ctx.workspace.root))
        if not found:
            return ToolOutput("No tool of a server fits. Try other words.")
        return ToolOutput("\n\n".join(map(_shown, found))[:_LARGEST_FOUND])

    finder = Tool(
        name=SEARCH,
        description=(
            "Find tools of the connected MCP servers: there are too many to list. Returns names, "
            f"descriptions and schemas of the best {_MOST_FOUND}; call one with {CALL}."
        ),
        schema={"type": "object", "properties": {"query": _TEXT}, "required": ["query"]},
        access=Access.INTERNAL,
        parse=_checked,
        run=search,
        describe=lambda args: f"looking for tools: {str(args.get('query', ''))[:80]}",
    )
    return finder, _caller()


def _caller() -> Tool:
    async def never(args: Any, ctx: ToolContext) -> ToolOutput:
        raise ToolError("this call has to name a tool")

    return Tool(
        name=CALL,
        description=f"Call a tool that {SEARCH} found, with the arguments that its schema names.",
        schema={
            "type": "object",
            "properties": {"tool": _TEXT, "arguments": {"type": "object"}},
            "required": ["tool"],
        },
        access=Access.SERVER,
        parse=_checked,
        run=never,
        forward=_forwarded,
    )


def _forwarded(arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    inner = arguments.get("arguments")
    if isinstance(inner, str):
        try:
            inner = msgspec.json.decode(inner)
        except msgspec.DecodeError:
            raise ToolError("arguments has to be an object.") from None
    if not isinstance(inner or {}, dict):
        raise ToolError("arguments has to be an object.")
    name = arguments.get("tool")
    if not isinstance(name, str) or not name.startswith("mcp__"):
        raise ToolError(f"tool has to be a name that {SEARCH} returned.")
    return name, cast("dict[str, Any]", inner or {})


def _best(words: Sequence[str], tools: Sequence[Tool]) -> list[Tool]:
    def score(tool: Tool) -> int:
        name, text = tool.name.lower(), tool.description.lower()
        return sum(3 * (word in name) + (word in text) for word in words)

    ranked = sorted(tools, key=score, reverse=True)
    return [tool for tool in ranked[:_MOST_FOUND] if score(tool) or not words]


def _shown(tool: Tool) -> str:
    schema = msgspec.json.encode(tool.schema).decode()
    return f"{tool.name}\n{tool.description}\narguments: {schema}"


def _checked(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        msgspec.json.encode(raw)
    except (UnicodeEncodeError, TypeError, RecursionError):
        raise ToolError("the arguments can't be sent as JSON.") from None
    return raw


def _bounded(text: str, ctx: ToolContext) -> str:
    """Return what the model reads of a result; the whole of it is kept in a file."""
    if len(text) <= _LONGEST_TEXT:
        return text
    file = ctx.outputs.create()
    kept = ""
    if file is not None:
        try:
            file.write(text.encode("utf-8", "replace"))
        finally:
            file.close()
        kept = f" `read` opens all that was kept of it: {file.path}"
    half = _LONGEST_TEXT // 2
    left = len(text) - 2 * half
    return f"{text[:half]}\n\n[… {left:,} characters left out.{kept}]\n\n{text[-half:]}"


def _description(offered: Offered) -> str:
    said = visible(offered.tool.description).strip()
    lead = f"A tool of the MCP server “{offered.server}”"
    return f"{lead}, which says of it (not the person): {said}" if said else f"{lead}."


def _stake(tool: McpTool) -> str:
    return {
        "reads": "says it only reads",
        "changes": "changes something",
        "unknown": "may change anything it reaches",
    }[tool.mark]


def _one_line(text: str) -> str:
    return " ".join(visible(text).split())[:80]
