"""Configurations of other apps are read as they are, and nothing in them is resolved or run."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import msgspec
import pytest

from desktop_agent.adapters.config.secrets import Secrets
from desktop_agent.adapters.mcp import servers_file
from desktop_agent.adapters.mcp.command import script_line
from desktop_agent.adapters.mcp.formats import entry_of, read_config
from desktop_agent.adapters.mcp.other_apps import found
from desktop_agent.adapters.mcp.servers_file import McpFile
from desktop_agent.core.keys.known_keys import KEYS
from desktop_agent.core.mcp import McpError, McpServer


def test_claude_cursor_and_gemini_are_read() -> None:
    text = """{"mcpServers": {
        "files": {"command": "npx", "args": ["-y", "files", 8], "env": {"KEY": "${KEY}"}},
        "old": {"url": "https://old.example/sse"},
        "web": {"httpUrl": "https://web.example/mcp", "headers": {"X-Key": "${input:key}"}},
        "off/one": {"command": "x", "disabled": true},
        "nothing": {}, "wrong": {"url": "file:///etc/passwd"}}}"""
    found = {one.name: one for one in read_config(text, "mine")}
    assert list(found) == ["files", "old", "web", "off-one"]
    assert found["files"].args == ("-y", "files", "8")
    assert found["files"].env == {"KEY": "${KEY}"}
    assert found["old"].is_sse
    assert not found["web"].is_sse
    assert found["web"].headers == {"X-Key": "${input:key}"}
    assert not found["off-one"].is_on


def test_vs_code_has_comments_and_commas_at_the_end() -> None:
    text = '{ // mine\n "servers": {"a": {"type": "http", "url": "https://a.example//x",},}, /* */}'
    (server,) = read_config(text, "mine")
    assert server.url == "https://a.example//x"


def test_goose_names_variables_that_are_its_own() -> None:
    text = "extensions:\n  git:\n    cmd: uvx\n    args: [mcp-git]\n    env_keys: [TOKEN]\n"
    (server,) = read_config(text, "mine")
    assert (server.command, server.env) == ("uvx", {"TOKEN": "${TOKEN}"})


@pytest.mark.parametrize("text", ["", "[]", "{}", "{" * 10_000, '{"mcpServers": 3}', "a: &a [*a]"])
def test_what_is_no_configuration_is_refused_in_words(text: str) -> None:
    with pytest.raises(McpError):
        read_config(text, "mine")


def test_a_folder_cannot_say_that_its_server_runs_outside() -> None:
    text = '{"mcpServers": {"a": {"command": "x", "outsideSandbox": true}}}'
    assert not read_config(text, "folder")[0].is_outside
    assert read_config(text, "mine")[0].is_outside


def test_a_file_that_is_taken_over_cannot_say_that_its_server_runs_outside(tmp_path: Path) -> None:
    theirs = {"near": {"command": "npx", "args": ["x"], "outsideSandbox": True}}
    text = json.dumps({"mcpServers": theirs})
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text(text)
    file = McpFile(tmp_path, lambda: Secrets(tmp_path, environment={}))
    ((_, in_cursor),) = found(tmp_path)
    for servers in (file.read(text), in_cursor):
        assert [(one.args, one.is_outside) for one in servers] == [(("x",), False)]


def test_what_others_wrote_into_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    entry = {"command": "old", "timeout": 5}
    path.write_text(json.dumps({"other": 1, "mcpServers": {"a": entry}}))
    secrets = Secrets(tmp_path, environment={})
    file = McpFile(tmp_path, lambda: secrets, environment={})
    file.save(McpServer("a", "new", env={"MY_TOKEN": "hush-hush-hush"}))
    kept = json.loads(path.read_text())
    assert kept["other"] == 1
    assert kept["mcpServers"]["a"]["timeout"] == 5
    assert kept["mcpServers"]["a"]["command"] == "new"
    assert kept["mcpServers"]["a"]["env"] == {"MY_TOKEN": "${keyring:MY_TOKEN}"}
    (server,) = file.servers()
    assert file.resolved(server, "/x").env == {"MY_TOKEN": "hush-hush-hush"}
    file.remove("a")
    with pytest.raises(McpError, match="MY_TOKEN is not known any more"):
        file.resolved(server, "/x")


def test_a_folders_server_gets_no_secret_of_the_users(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path, environment={})
    file = McpFile(tmp_path, lambda: secrets, environment={})
    file.save(McpServer("GitHub", "run", env={"MY_TOKEN": "hush-hush-hush"}))
    env = {"A": "${keyring:MY_TOKEN}"}
    text = json.dumps({"mcpServers": {"github": {"command": "evil", "env": env}}})
    (server,) = file.folder_servers("/x", text)
    with pytest.raises(McpError, match="gets no secret"):
        file.resolved(server, "/x")


def test_a_switch_of_a_folders_server_is_of_that_folder_alone(tmp_path: Path) -> None:
    file = McpFile(tmp_path, lambda: Secrets(tmp_path, environment={}))
    text = json.dumps({"mcpServers": {"db": {"command": "run"}}})
    (server,) = file.folder_servers("/here", text)
    file.switch(msgspec.structs.replace(server, is_on=False, tools_off=("drop",)), "/here")
    assert [(one.is_on, one.tools_off) for one in file.folder_servers("/here", text)] == [
        (False, ("drop",))
    ]
    assert file.folder_servers("/elsewhere", text) == (server,)


@pytest.mark.parametrize("form", ["mcpServers", "servers"])
def test_servers_that_somebody_wrote_into_the_file_are_changed_and_removed(
    tmp_path: Path, form: str
) -> None:
    entries = {"my server": {"command": "run", "timeout": 5}, "other": {"command": "go"}}
    (tmp_path / "mcp.json").write_text(json.dumps({form: entries}))
    secrets = Secrets(tmp_path, environment={})
    file = McpFile(tmp_path, lambda: secrets, environment={})
    mine, other = file.servers()
    file.switch(msgspec.structs.replace(mine, is_on=False), "")
    file.save(McpServer("third", "new"))
    assert [(one.name, one.is_on) for one in file.servers()] == [
        ("my-server", False),
        ("other", True),
        ("third", True),
    ]
    file.save(msgspec.structs.replace(mine, command="walk"), mine.name)
    kept = json.loads((tmp_path / "mcp.json").read_text())[form]
    assert (kept["my-server"]["command"], kept["my-server"]["timeout"]) == ("walk", 5)
    file.remove("my-server")
    assert [one.name for one in file.servers()] == [other.name, "third"]


def test_a_file_that_is_no_text_is_kept_aside_when_a_server_is_added(tmp_path: Path) -> None:
    content = '{"mcpServers": {}}'.encode("utf-16")
    (tmp_path / "mcp.json").write_bytes(content)
    file = McpFile(tmp_path, lambda: Secrets(tmp_path, environment={}))
    file.save(McpServer("a", "run"))
    assert [one.name for one in file.servers()] == ["a"]
    (aside,) = tmp_path.glob("mcp.damaged*")
    assert aside.read_bytes() == content


@pytest.mark.parametrize(
    "secret",
    ["correct horse battery staple", "pässwörd", "-----BEGIN KEY-----\nabc\n", "base64-of:x"],
)
def test_a_secret_of_any_kind_is_kept_whole_and_out_of_the_file(
    tmp_path: Path, secret: str
) -> None:
    secrets = Secrets(tmp_path, environment={})
    file = McpFile(tmp_path, lambda: secrets, environment={})
    headers = {"Authorization": "Bearer my-own-token", "X-Api-Key": "another-key"}
    file.save(McpServer("db", "run", env={"DB_PASSWORD": secret}, headers=headers))
    (server,) = file.servers()
    assert server.env == {"DB_PASSWORD": "${keyring:DB_PASSWORD}"}
    assert server.headers["Authorization"] == "Bearer ${keyring:Authorization}"
    resolved = file.resolved(server, "/x")
    assert resolved.env == {"DB_PASSWORD": secret}
    assert resolved.headers == headers
    assert file.secret(server, "DB_PASSWORD") == secret


def test_a_secret_that_is_not_kept_here_is_hidden_too_once_its_server_has_it(
    tmp_path: Path,
) -> None:
    by_hand = {
        "command": "run",
        "env": {"DB_PASSWORD": "hush-hush7", "API_TOKEN": "${MINE}", "MODE": "by-hand-5"},
        "headers": {"Authorization": "Bearer my0wn-token"},
    }
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"db": by_hand}}))
    environment = {"MINE": "of-the-shell-42"}
    file = McpFile(tmp_path, lambda: Secrets(tmp_path, environment={}), environment=environment)
    file.resolved(file.servers()[0], "/x")
    said = "hush-hush7 of-the-shell-42 my0wn-token by-hand-5 Bearer"
    assert KEYS.hide(said) == "[hidden] [hidden] [hidden] by-hand-5 Bearer"


def test_two_copies_of_the_app_forget_nothing_that_the_other_was_told_of_tools(
    tmp_path: Path,
) -> None:
    one, other = (McpFile(tmp_path, lambda: Secrets(tmp_path, environment={})) for _ in range(2))
    assert one.known_digests("a") == other.known_digests("a") == {}
    one.accept("a", {"add": "1"})
    other.accept("a", {"look": "2"})
    other.accept("b", {"do": "3"})
    one.accept("c", {"go": "4"})
    later = McpFile(tmp_path, lambda: Secrets(tmp_path, environment={}))
    assert later.known_digests("a") == {"add": "1", "look": "2"}
    assert later.known_digests("b") == {"do": "3"}


def test_what_was_told_of_the_tools_of_a_server_is_known_when_another_takes_its_name(
    tmp_path: Path,
) -> None:
    def new_file() -> McpFile:
        return McpFile(tmp_path, lambda: Secrets(tmp_path, environment={}))

    file = new_file()
    file.save(McpServer("github", "run"))
    file.accept("github", {"add": "1"})
    file.remove("github")
    file.save(McpServer("github", "another"))
    for now in (file, new_file()):
        assert now.known_digests("github") == {"add": "1"}, "a rule for its tools is there still"


def test_a_server_that_the_disk_lets_nobody_remove_keeps_its_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = Secrets(tmp_path, environment={}, without_ring=lambda: "file")
    file = McpFile(tmp_path, lambda: secrets, environment={})
    file.save(McpServer("one", command="c", env={"API_TOKEN": "a-secret"}))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(servers_file, "write_through", full)
    with pytest.raises(OSError, match="No space"):
        file.remove("one")
    (server,) = file.servers()
    assert file.resolved(server, "").env == {"API_TOKEN": "a-secret"}


def test_a_server_that_is_renamed_keeps_its_secrets_and_none_stays_behind(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path, environment={})
    file = McpFile(tmp_path, lambda: secrets, environment={})
    env = {"MY_TOKEN": "hush-hush-hush", "OLD_TOKEN": "long-forgotten"}
    first = file.save(McpServer("github", "run", env=env))
    kept = {"MY_TOKEN": first.env["MY_TOKEN"]}
    file.save(msgspec.structs.replace(first, name="gh", env=kept), "github")
    (renamed,) = file.servers()
    assert renamed.name == "gh"
    assert file.resolved(renamed, "/x").env == {"MY_TOKEN": "hush-hush-hush"}
    for variable in env:
        with pytest.raises(McpError, match=f"{variable} is not known any more"):
            file.secret(first, variable)


@pytest.mark.parametrize(
    "entry",
    [
        {"oauth": {"clientId": "my-app", "clientSecret": "${SECRET}"}},
        {"auth": {"CLIENT_ID": "my-app", "CLIENT_SECRET": "${SECRET}"}},
    ],
)
def test_an_app_to_sign_in_as_is_taken_over_and_written_as_others_read_it(
    entry: dict[str, object],
) -> None:
    whole = {"mcpServers": {"far": {"url": "https://mcp.example/mcp", **entry}}}
    (server,) = read_config(json.dumps(whole), "mine")
    assert (server.client_id, server.client_secret) == ("my-app", "${SECRET}")
    assert entry_of(server)["oauth"] == {"clientId": "my-app", "clientSecret": "${SECRET}"}
    again = {"mcpServers": {"far": entry_of(server)}}
    assert read_config(json.dumps(again), "mine") == (server,)


def test_what_another_app_wrote_about_signing_in_stays(tmp_path: Path) -> None:
    oauth = {"clientId": "old", "clientSecret": "${OLD}", "scopes": ["read"]}
    far = {"url": "https://mcp.example/mcp", "oauth": oauth}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"far": far}}))
    file = McpFile(tmp_path, lambda: Secrets(tmp_path, environment={}))
    (server,) = file.servers()
    file.save(msgspec.structs.replace(server, client_id="new", client_secret=""), "far")
    kept = json.loads((tmp_path / "mcp.json").read_text())
    assert kept["mcpServers"]["far"]["oauth"] == {"scopes": ["read"], "clientId": "new"}


def test_what_joins_commands_for_cmd_is_quoted() -> None:
    words = (r"C:\Program Files\nodejs\npx.cmd", "-y", "far", "https://x.example/?a=1&b=2", "a|\\")
    program = r'"C:\Program Files\nodejs\npx.cmd"'
    expected = rf'/d /s /c "{program} -y far "https://x.example/?a=1&b=2" "a|\\""'
    assert script_line(words).endswith(expected)
