"""A provider of one dialect on this computer: it asks for one tool call, then answers."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from desktop_agent.self_check import dialects
from desktop_agent.self_check.dialects import Dialect

_LONGEST_BODY = 8 * 1024 * 1024


class LoopbackProvider:
    """Serves on 127.0.0.1 while it is entered.

    The first request is answered with a call of `tool`. The run succeeded if a
    later request holds `word`, which only the tool's result can contain.
    """

    def __init__(self, dialect: Dialect, tool: str, arguments: dict[str, Any], word: str) -> None:
        self._dialect = dialect
        self._call = dialects.call(dialect.name, tool, arguments)
        self._answer = dialects.say(dialect.name, f"The note says {word}.")
        self._word = word.encode()
        self.other_paths: list[str] = []
        self.arrived = 0
        owner = self

        class Request(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                owner._take(self)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: the terminal is for the checks."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def model(self) -> str:
        """The model's name for litellm."""
        return f"{self._dialect.prefix}check"

    @property
    def api_base(self) -> str:
        """The address to give to litellm."""
        return f"http://127.0.0.1:{self._server.server_port}{self._dialect.base}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _take(self, request: BaseHTTPRequestHandler) -> None:
        length = min(int(request.headers.get("content-length", 0)), _LONGEST_BODY)
        body = request.rfile.read(length)
        self.arrived += 1
        if self._dialect.path not in request.path:
            self.other_paths.append(request.path)
            _reply(request, 404, "application/json", b"{}")
            return
        answer = self._answer if self._word in body else self._call
        _reply(request, 200, self._dialect.content_type, answer)


def _reply(request: BaseHTTPRequestHandler, status: int, kind: str, body: bytes) -> None:
    request.send_response(status)
    request.send_header("content-type", kind)
    request.send_header("content-length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)
