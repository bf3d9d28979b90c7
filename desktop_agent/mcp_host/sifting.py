"""Lists of a server without the entries that are wrong: the SDK would refuse the whole list."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self, cast

import mcp_types
from mcp.shared._stream_protocols import ReadStream
from mcp.shared.message import SessionMessage
from mcp_types.methods import parse_server_result

from desktop_agent.mcp_host.bounds import cut

_Read = SessionMessage | Exception
_LONGEST_NAME, _MOST_NAMES = 100, 20
_LISTS = {"tools": "tools/list", "prompts": "prompts/list", "resources": "resources/list"}


class SiftedStream:
    """What the SDK reads of a server. Set the `version` that both speak; it is not known before."""

    def __init__(self, stream: ReadStream[_Read]) -> None:
        self._stream = stream
        self.version = ""
        self._refused: list[str] = []

    def take_refused(self) -> tuple[str, ...]:
        """Return the names of tools that were left out since the last call."""
        refused, self._refused = tuple(self._refused[:_MOST_NAMES]), []
        return refused

    @property
    def last_context(self) -> Any:
        """What the SDK looks for at a stream."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> _Read:
        """Return the next message."""
        return self._sifted(await self._stream.receive())

    async def aclose(self) -> None:
        """Close the stream itself."""
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Read:
        return self._sifted(await anext(self._stream))

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return await self._stream.__aexit__(exc_type, exc_val, exc_tb)

    def _sifted(self, read: _Read) -> _Read:
        answer = read.message if isinstance(read, SessionMessage) else None
        if isinstance(answer, mcp_types.JSONRPCResponse):
            for kind in _LISTS.keys() & answer.result.keys():
                self._sift(kind, answer.result)
        return read

    def _sift(self, kind: str, result: dict[str, Any]) -> None:
        listed = result[kind]
        if not isinstance(listed, list) or self._is_taken(kind, result):
            return
        if not self._is_taken(kind, {**result, kind: []}):
            return  # what is wrong with it is no entry's
        result[kind] = []
        for one in cast("list[Any]", listed):
            if self._is_taken(kind, {**result, kind: [one]}):
                result[kind].append(one)
            elif kind == "tools":
                self._refused.append(_name_of(one))

    def _is_taken(self, kind: str, result: dict[str, Any]) -> bool:
        try:
            parse_server_result(_LISTS[kind], self.version, result)
        except KeyError:
            return True  # a list that this version has not
        except ValueError:
            return False
        return True


def _name_of(entry: Any) -> str:
    name: object = cast("dict[str, Any]", entry).get("name") if isinstance(entry, dict) else None
    return cut(name, _LONGEST_NAME) if isinstance(name, str) and name else "?"
