"""Signing in to a server by address: by the user's press alone, and of use for it alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import httpx2
import msgspec
import pytest
from mcp.client.auth import OAuthFlowError

from desktop_agent.adapters.config.secrets import Secrets
from desktop_agent.adapters.mcp.hosted_servers import HostedServers
from desktop_agent.core.mcp import McpGrant, McpServer, McpState
from desktop_agent.engine.mcp.ports import Launch, Listener
from desktop_agent.mcp_host.oauth_bounds import Addresses
from desktop_agent.mcp_host.redirect_page import redirect_page
from tests.helpers.scripted import calls, says
from tests.mcp.rig import McpRig
from tests.mcp.servers.signing import SigningServer

NAME = "private"
CALL = (calls(("mcp__private__whoami", {})), says("Ada"))


@asynccontextmanager
async def rig_at(
    url: str, tmp_path: Path, *script: Any, client: tuple[str, str] = ("", "")
) -> AsyncGenerator[McpRig]:
    own = {"client_id": client[0], "client_secret": client[1]}
    rig = McpRig(tmp_path, *script, servers=[McpServer(NAME, url=url, **own)])
    try:
        rig.engine.watch_mcp(rig.root)
        yield rig
    finally:
        await rig.engine.close()


async def browse(address: str, host: str = "") -> tuple[int, str]:
    """Open an address as a browser does, redirects followed."""

    def fetch() -> tuple[int, str]:
        try:
            asked = Request(address, headers={"Host": host} if host else {})
            with urlopen(asked) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    return await asyncio.to_thread(fetch)


async def until_needed(rig: McpRig) -> McpState:
    return await rig.until_state(NAME, lambda state: state.phase == "sign_in")


async def press(rig: McpRig) -> McpState:
    """Press Sign in; return the state that holds the address."""
    await until_needed(rig)
    rig.engine.sign_in_mcp(rig.root, NAME)
    return await rig.until_state(NAME, lambda state: bool(state.sign_in_url))


async def sign_in(rig: McpRig) -> None:
    asked = await press(rig)
    status, _ = await browse(asked.sign_in_url)
    assert status == 200
    await rig.until_state(NAME, lambda state: state.phase == "running" and state.is_signed_in)


async def refused(servers: HostedServers, server: SigningServer) -> str:
    """Sign in, and return why that came to nothing."""
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    browsers: list[asyncio.Future[tuple[int, str]]] = []
    kept: list[McpGrant] = []
    listener = Listener(
        lambda _: ended.set_exception(AssertionError("it came to run")),
        lambda why, _: ended.set_result(why),
        lambda url: browsers.append(asyncio.ensure_future(browse(url))),
        kept.append,
    )
    launch = Launch(McpServer(NAME, url=server.url), "/", signs_in=True)
    connection = await servers.connect(launch, listener)
    try:
        return await ended
    finally:
        await asyncio.gather(*browsers)
        await connection.close()
        assert kept == []


async def test_nobody_but_the_server_is_asked_anything_before_the_user_wants_to_sign_in(
    tmp_path: Path,
) -> None:
    with SigningServer() as server:
        async with rig_at(server.url, tmp_path) as rig:
            state = await until_needed(rig)
            assert state.problem == "Its tools are there once you have signed in."
            assert set(server.paths()) == {"/mcp"}


async def test_who_has_signed_in_uses_the_tools_and_the_tokens_appear_nowhere(
    tmp_path: Path,
) -> None:
    with SigningServer() as server:
        async with rig_at(server.url, tmp_path, *CALL) as rig:
            asked = await press(rig)
            assert urlsplit(asked.sign_in_url).netloc == urlsplit(server.origin).netloc
            assert "/token" not in server.paths()
            await browse(asked.sign_in_url)
            await rig.until_running(NAME)
            rig.allow_all()
            await rig.run("who am I")
            assert rig.results[-1].text == "Ada"
            told = "".join(map(repr, rig.events))
            files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
            for secret in (*server.tokens, *server.refresh_tokens):
                assert secret not in told
                assert not any(secret.encode() in body for body in files)


async def test_a_token_that_ended_is_refreshed_without_the_user(tmp_path: Path) -> None:
    with SigningServer() as server:
        async with rig_at(server.url, tmp_path, *CALL) as rig:
            await sign_in(rig)
            server.forget_access()
            rig.engine.restart_mcp(rig.root, NAME)
            await rig.until_state(NAME, lambda state: state.phase == "starting")
            await rig.until_running(NAME)
            rig.allow_all()
            server.forget_access()
            await rig.run("who am I")
            assert rig.results[-1].text == "Ada"
            assert server.paths().count("/authorize") == 1
            assert server.paths().count("/token") == 3


@pytest.mark.parametrize(
    ("secret", "method"),
    [("", ""), ("my-very-secret-1", ""), ("my-very-secret-2", "client_secret_post")],
)
async def test_where_no_app_is_registered_the_user_signs_in_as_one_of_their_own(
    tmp_path: Path, secret: str, method: str
) -> None:
    client = ("my-app", secret)
    with SigningServer(client=client, method=method) as server:
        async with rig_at(server.url, tmp_path, *CALL, client=client) as rig:
            asked = await press(rig)
            assert parse_qs(urlsplit(asked.sign_in_url).query)["client_id"] == ["my-app"]
            await browse(asked.sign_in_url)
            await rig.until_running(NAME)
            server.forget_access()  # it is refreshed as the same app
            rig.allow_all()
            await rig.run("who am I")
            assert rig.results[-1].text == "Ada"
            assert "/register" not in server.paths()
            if secret:
                kept = (rig.config / "mcp.json").read_text()
                assert secret not in kept + "".join(map(repr, rig.events))
                assert "${keyring:" in kept


async def test_where_no_app_is_registered_the_user_is_told_what_is_missing() -> None:
    servers = HostedServers(lambda: {})
    try:
        with SigningServer(client=("another-app", "")) as server:
            assert "enter its client ID" in await refused(servers, server)
    finally:
        await servers.close()


async def test_who_signs_out_is_forgotten(tmp_path: Path) -> None:
    with SigningServer() as server:
        async with rig_at(server.url, tmp_path) as rig:
            await sign_in(rig)
            await rig.once(lambda: rig.file.grants.of(server.url) is not None)
            rig.engine.sign_out_mcp(rig.root, NAME)
            state = await until_needed(rig)
            assert not state.is_signed_in
            assert rig.file.grants.of(server.url) is None
            assert Secrets(rig.config, environment={}).keys() == ()
            assert server.requests[-1] == ("POST", "/mcp", "")


async def test_another_server_under_the_same_name_gets_nothing_of_the_first(
    tmp_path: Path,
) -> None:
    with SigningServer() as server, SigningServer() as other:
        async with rig_at(server.url, tmp_path) as rig:
            await sign_in(rig)
            await rig.once(lambda: rig.file.grants.of(server.url) is not None)
            rig.engine.save_mcp(rig.root, McpServer(NAME, url=other.url), NAME)
            await rig.until_state(NAME, lambda state: state.server.url == other.url)
            await until_needed(rig)
            assert {token for _, _, token in other.requests} == {""}
            assert rig.file.grants.of(server.url) is None


async def test_a_call_of_who_has_not_signed_in_says_so(tmp_path: Path) -> None:
    script = (calls(("mcp__private__whoami", {})), says("you have to"))
    with SigningServer() as server:
        async with rig_at(server.url, tmp_path, *script) as rig:
            await sign_in(rig)
            rig.allow_all()
            server.forget_access()
            server.refresh_tokens.clear()
            await rig.run("who am I")
            assert rig.results[-1].is_error
            assert "signed in" in rig.results[-1].text
            await until_needed(rig)


async def test_who_gives_up_signing_in_finds_the_button_again(tmp_path: Path) -> None:
    with SigningServer() as server:
        async with rig_at(server.url, tmp_path) as rig:
            await press(rig)
            rig.engine.restart_mcp(rig.root, NAME)
            state = await until_needed(rig)
            assert not state.sign_in_url
            await sign_in(rig)


# What an authorization server does, and what the user is told.
_ASTRAY = (
    ("", {"authorization": "http://sign-in.example/"}, "not secure: http://sign-in.example"),
    ("", {"resource_metadata": "http://meta.example/"}, "not secure: http://meta.example"),
    ("", {"register": "http://register.example/"}, "not secure: http://register.example"),
    ("", {"authorize": "http://authorize.example/"}, "not secure: http://authorize.example"),
    ("", {"authorize": "https://ada:x@authorize.example/"}, "holds a name or password"),
    ("", {"token": "http://token.example/"}, "not secure: http://token.example"),
    ("", {"issuer": "https://other.example"}, "mismatch"),
    ("large", {}, "too large"),
    ("redirects", {}, "redirects"),
    ("denies", {}, "access_denied"),
)


async def test_an_authorization_server_that_leads_astray_is_refused() -> None:
    servers = HostedServers(lambda: {})
    try:
        for trick, more, words in _ASTRAY:
            with SigningServer(trick, **more) as server:
                assert words in await refused(servers, server)
                assert len(server.requests) < 40
    finally:
        await servers.close()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("https://10.0.0.8/authorize", "private network"),
        ("https://127.0.0.1/token", "private network"),
        ("https://[fd00::1]/token", "private network"),
        ("https://169.254.169.254/latest", "private network"),
        ("http://93.184.216.35/token", "not secure"),
        ("http://127.0.0.1/token", "not secure"),
        ("ftp://93.184.216.35/token", "not secure"),
        (f"https://93.184.216.35/{'x' * 9000}", "too long"),
    ],
)
async def test_a_public_server_leads_to_no_private_address(address: str, words: str) -> None:
    with pytest.raises(OAuthFlowError, match=words):
        await Addresses("https://93.184.216.34/mcp").check(httpx2.URL(address))


async def test_a_public_server_may_let_another_public_one_do_it() -> None:
    await Addresses("https://93.184.216.34/mcp").check(httpx2.URL("https://93.184.216.35/token"))


async def test_the_page_takes_no_answer_that_it_does_not_expect() -> None:
    async with redirect_page() as page:
        early, _ = await browse(f"{page.uri}?code=evil&state=")
        page.expect("the-state")
        wrong, _ = await browse(f"{page.uri}?code=evil&state=another")
        renamed, _ = await browse(f"{page.uri}?code=evil&state=the-state", host="evil.example")
        elsewhere, _ = await browse(page.uri.replace("callback", "x") + "?code=e&state=the-state")
        many, _ = await browse(f"{page.uri}?state=the-state&code=e" + "&a=1" * 100)
        assert {early, wrong, renamed, elsewhere, many} == {404}
        good, words = await browse(f"{page.uri}?code=good&state=the-state&iss=https://a.example")
        assert good == 200
        assert "close this page" in words
        found = await page.answer()
        assert (found.code, found.state, found.iss) == ("good", "the-state", "https://a.example")


async def test_an_address_asks_for_a_proof_that_only_this_computer_has(tmp_path: Path) -> None:
    with SigningServer() as server:
        async with rig_at(server.url, tmp_path) as rig:
            asked = await press(rig)
            given = parse_qs(urlsplit(asked.sign_in_url).query)
            assert given["code_challenge_method"] == ["S256"]
            assert given["resource"] == [server.url]
            back = urlsplit(given["redirect_uri"][0])
            assert (back.scheme, back.hostname) == ("http", "127.0.0.1")
            assert back.port not in (None, 80)
            assert len(given["state"][0]) > 30
            assert "access_token" not in msgspec.json.encode(asked).decode()
