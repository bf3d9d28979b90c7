"""A server behind OAuth and its authorization server, both on loopback, in the process of a test.

`trick` is what the authorization server does wrong. With a `client` (its id, its secret) it knows
that one alone and registers none; `method` is how it takes the secret.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

_TOOL = {
    "name": "whoami",
    "description": "Tell who is signed in.",
    "inputSchema": {"type": "object", "properties": {}},
}


class SigningServer:
    """`requests` are the method and path of each request, with the token it brought."""

    def __init__(
        self, trick: str = "", *, client: tuple[str, str] = ("", ""), method: str = "", **more: str
    ) -> None:
        self.trick = trick
        self.client = client
        self.method = method
        self.more = more
        self.requests: list[tuple[str, str, str]] = []
        self.codes: dict[str, dict[str, str]] = {}
        self.tokens: set[str] = set()
        self.refresh_tokens: set[str] = set()
        self.redirects: set[str] = set()
        self.expires_in = 3600
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.answer(self)

            do_POST = do_DELETE = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self._http.server_port}"
        self.url = f"{self.origin}/mcp"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)

    def __enter__(self) -> SigningServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def paths(self) -> list[str]:
        """Return the paths that were asked for, in order."""
        return [path for _, path, _ in self.requests]

    def forget_access(self) -> None:
        """End every access token; refresh tokens stay."""
        self.tokens.clear()

    # -- the requests --------------------------------------------------------------------------

    def answer(self, of: BaseHTTPRequestHandler) -> None:
        body = of.rfile.read(int(of.headers.get("Content-Length") or 0))
        address = urlsplit(of.path)
        token = (of.headers.get("Authorization") or "").removeprefix("Bearer ")
        self.requests.append((of.command, address.path, token))
        routes: dict[str, Callable[..., None]] = {
            "/mcp": self._mcp,
            "/.well-known/oauth-protected-resource/mcp": self._resource,
            "/.well-known/oauth-authorization-server": self._metadata,
            "/register": self._register,
            "/authorize": self._authorize,
            "/token": self._token,
        }
        if self.trick == "redirects" and address.path != "/mcp":
            routes.clear()
        routes.get(address.path, self._nothing)(of, body)

    def _nothing(self, of: BaseHTTPRequestHandler, _: bytes) -> None:
        if self.trick == "redirects":
            _send(of, 307, b"", Location=f"{self.origin}/{secrets.token_hex(4)}")
        else:
            _send(of, 404, b"{}")

    def _resource(self, of: BaseHTTPRequestHandler, _: bytes) -> None:
        authorization = self.more.get("authorization", self.origin)
        _json(of, {"resource": self.url, "authorization_servers": [authorization]})

    def _metadata(self, of: BaseHTTPRequestHandler, _: bytes) -> None:
        told: dict[str, Any] = {
            "issuer": self.more.get("issuer", self.origin),
            "authorization_endpoint": self.more.get("authorize", f"{self.origin}/authorize"),
            "token_endpoint": self.more.get("token", f"{self.origin}/token"),
            "registration_endpoint": self.more.get("register", f"{self.origin}/register"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }
        if self.client[0]:
            told.pop("registration_endpoint")
        if self.method:
            told["token_endpoint_auth_methods_supported"] = [self.method]
        if self.trick == "large":
            told["padding"] = "x" * 10_000_000
        _json(of, told)

    def _register(self, of: BaseHTTPRequestHandler, body: bytes) -> None:
        if self.client[0]:
            _json(of, {"error": "not_found"}, 404)
            return
        told = json.loads(body)
        self.redirects.update(told["redirect_uris"])
        _json(of, {**told, "client_id": "the-app", "token_endpoint_auth_method": "none"}, 201)

    def _authorize(self, of: BaseHTTPRequestHandler, _: bytes) -> None:
        given = {name: values[0] for name, values in parse_qs(urlsplit(of.path).query).items()}
        back = given["redirect_uri"]
        assert back in self.redirects or given["client_id"] == self.client[0]
        if self.trick == "denies":
            told = {"error": "access_denied", "state": given["state"]}
        else:
            code = secrets.token_urlsafe(16)
            self.codes[code] = given
            told = {"code": code, "state": given["state"]}
        _send(of, 302, b"", Location=f"{back}?{urlencode(told)}")

    def _token(self, of: BaseHTTPRequestHandler, body: bytes) -> None:
        given = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        if not self._proves_itself(of, given):
            _json(of, {"error": "invalid_client"}, 401)
            return
        if given["grant_type"] == "refresh_token":
            is_good = given["refresh_token"] in self.refresh_tokens
        else:
            asked = self.codes.pop(given["code"], {})
            digest = hashlib.sha256(given["code_verifier"].encode()).digest()
            proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            is_good = asked.get("code_challenge") == proof
        if not is_good:
            _json(of, {"error": "invalid_grant"}, 400)
            return
        access, refresh = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.tokens.add(access)
        self.refresh_tokens = {refresh}
        told = {"access_token": access, "token_type": "Bearer", "refresh_token": refresh}
        _json(of, {**told, "expires_in": self.expires_in})

    def _proves_itself(self, of: BaseHTTPRequestHandler, given: dict[str, str]) -> bool:
        """Whether a client that has a secret shows it, in the way that the server wants."""
        if not self.client[1]:
            return True
        if self.method == "client_secret_post":
            return (given.get("client_id"), given.get("client_secret")) == self.client
        kind, _, shown = (of.headers.get("Authorization") or "").partition(" ")
        return kind == "Basic" and base64.b64decode(shown).decode() == ":".join(self.client)

    def _mcp(self, of: BaseHTTPRequestHandler, body: bytes) -> None:
        token = (of.headers.get("Authorization") or "").removeprefix("Bearer ")
        if token not in self.tokens:
            meta = f"{self.origin}/.well-known/oauth-protected-resource/mcp"
            place = self.more.get("resource_metadata", meta)
            _send(of, 401, b"", **{"WWW-Authenticate": f'Bearer resource_metadata="{place}"'})
            return
        if of.command != "POST":
            _send(of, 405, b"")
            return
        asked = json.loads(body)
        if "id" not in asked:
            _send(of, 202, b"")
            return
        result = _RESULTS.get(asked["method"])
        if result is None:
            error = {"code": -32601, "message": "Method not found"}
            _json(of, {"jsonrpc": "2.0", "id": asked["id"], "error": error})
        else:
            _json(of, {"jsonrpc": "2.0", "id": asked["id"], "result": result})


_RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "serverInfo": {"name": "signing", "version": "1"},
        "capabilities": {"tools": {}},
    },
    "tools/list": {"tools": [_TOOL]},
    "tools/call": {"content": [{"type": "text", "text": "Ada"}]},
}


def _json(of: BaseHTTPRequestHandler, value: Any, status: int = 200) -> None:
    _send(of, status, json.dumps(value).encode(), **{"Content-Type": "application/json"})


def _send(of: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    of.send_response(status)
    for name, value in headers.items():
        of.send_header(name, value)
    of.send_header("Content-Length", str(len(body)))
    of.end_headers()
    try:
        of.wfile.write(body)
    except (BrokenPipeError, ConnectionResetError):
        of.close_connection = True
