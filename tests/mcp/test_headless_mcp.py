"""`desktop-agent mcp`: a script sets up servers, and finds out whether one works."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import keyring
import pytest
from keyring.backends import fail

from desktop_agent import app, paths
from desktop_agent.adapters.config import settings_file
from desktop_agent.adapters.config.secrets import Secrets
from desktop_agent.compose import SESSIONS_FILE
from desktop_agent.core.settings import Settings
from tests.mcp.rig import SERVERS

PLAIN = ("--", sys.executable, str(SERVERS / "plain.py"))


class Run:
    """A command with what it printed."""

    def __init__(self, capfd: pytest.CaptureFixture[str], *arguments: str) -> None:
        self.code = app.main(["mcp", *arguments])
        self.out, self.err = capfd.readouterr()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DESKTOP_AGENT_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return [one["name"] for one in json.loads(Run(capfd, "list", "--json").out)]


def test_a_server_is_added_listed_and_removed(capfd: pytest.CaptureFixture[str]) -> None:
    assert Run(capfd, "add", "files", "--", "npx", "-y", "a-server", "--json", "--url").code == 0
    added = Run(capfd, "add", "far", "--url", "https://mcp.example/mcp", "--json")
    assert json.loads(added.out)["added"][0]["url"] == "https://mcp.example/mcp"
    assert names(capfd) == ["files", "far"]
    assert "npx -y a-server --json --url" in Run(capfd, "list").out
    kept = json.loads((paths.config_dir() / "mcp.json").read_text())
    assert kept["mcpServers"]["files"]["args"] == ["-y", "a-server", "--json", "--url"]
    assert Run(capfd, "remove", "files").code == 0
    assert names(capfd) == ["far"]


def test_a_file_of_servers_that_is_kept_elsewhere_stays_a_link(
    capfd: pytest.CaptureFixture[str], home: Path
) -> None:
    own, file = home / "own.json", paths.config_dir() / "mcp.json"
    own.write_text('{"mcpServers": {"near": {"command": "npx"}}}')
    file.parent.mkdir(parents=True, exist_ok=True)
    file.symlink_to(own)
    assert Run(capfd, "add", "far", "--url", "https://mcp.example/mcp").code == 0
    assert file.is_symlink()
    assert list(json.loads(own.read_text())["mcpServers"]) == ["near", "far"]


def test_servers_of_another_app_are_imported_and_none_is_replaced_or_shown_its_secrets(
    capfd: pytest.CaptureFixture[str], home: Path
) -> None:
    Run(capfd, "add", "far", "--url", "https://mcp.example/mcp")
    one = {"command": "npx", "args": ["x"], "env": {"MODE": "very-private"}}
    servers = {"one": one, "far": {"url": "https://other.example/mcp"}}
    (home / "theirs.json").write_text(json.dumps({"mcpServers": servers}))
    taken = Run(capfd, "import", "theirs.json")
    assert (taken.code, taken.out.split()[:2]) == (0, ["added", "one"])
    assert "kept far" in taken.out
    listed = Run(capfd, "list", "--json").out
    assert "very-private" not in listed
    assert "https://mcp.example/mcp" in listed


def test_a_server_whose_secrets_would_be_anothers_is_not_added(
    capfd: pytest.CaptureFixture[str], home: Path
) -> None:
    settings_file.save(paths.config_dir() / "settings.json", Settings(keep_keys_in_file=True))
    for name, key in (("github", "of-the-first-42"), ("GitHub", "of-another-43")):
        server = {"command": "npx", "env": {"API_KEY": key}}
        (home / "theirs.json").write_text(json.dumps({"mcpServers": {name: server}}))
        assert Run(capfd, "import", "theirs.json").code == 0
    assert Run(capfd, "add", "GITHUB", "--url", "https://mcp.example/mcp").code != 0
    assert names(capfd) == ["github"]
    kept = Secrets(paths.config_dir(), environment={})
    assert kept.key_for("mcp.github.api_key") == "of-the-first-42"


@pytest.mark.parametrize("keeps_in_file", [False, True])
def test_a_secret_outlives_the_import_or_its_server_is_not_added(
    capfd: pytest.CaptureFixture[str],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    keeps_in_file: bool,
) -> None:
    monkeypatch.setattr(keyring, "get_keyring", fail.Keyring)
    settings_file.save(
        paths.config_dir() / "settings.json", Settings(keep_keys_in_file=keeps_in_file)
    )
    one = {"command": "npx", "env": {"API_KEY": "sk-very-private-1234"}}
    servers = {"one": one, "two": {"command": "npx"}}
    (home / "theirs.json").write_text(json.dumps({"mcpServers": servers}))
    taken = Run(capfd, "import", "theirs.json")
    if keeps_in_file:
        assert (taken.code, names(capfd)) == (0, ["one", "two"])
        kept = Secrets(paths.config_dir(), environment={})
        assert kept.key_for("mcp.one.api_key") == "sk-very-private-1234"
    else:
        assert (taken.code, names(capfd)) == (1, ["two"])
        assert "one was not added: this computer has no keyring" in taken.err


def test_a_server_that_works_tells_its_tools_and_one_that_does_not_why(
    capfd: pytest.CaptureFixture[str],
) -> None:
    file = paths.config_dir() / "mcp.json"
    Run(capfd, "add", "plain", *PLAIN)
    Run(capfd, "add", "gone", "--", "no-such-program-at-all")
    # What holds no sandbox has to be allowed, as in the window.
    whole = json.loads(file.read_text())
    for server in whole["mcpServers"].values():
        server["outsideSandbox"] = True
    file.write_text(json.dumps(whole))
    worked = Run(capfd, "test", "plain", "--json")
    assert (worked.code, json.loads(worked.out)["tools"]) == (0, ["echo"])
    failed = Run(capfd, "test", "gone")
    assert (failed.code, failed.out) == (1, "")
    assert "no-such-program-at-all" in failed.err
    assert not (paths.data_dir() / SESSIONS_FILE).exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["remove", "nobody"], 1, "there is no server nobody"),
        (["test", "nobody"], 1, "there is no server nobody"),
        (["import", "nothing.json"], 1, "nothing.json"),
        (["add", "a"], 2, "either --url"),
        (["add", "a", "--url", "https://a.example", "--", "npx"], 2, "either --url"),
        (["add", "a b", "--", "npx"], 2, "letters"),
        (["add", "a", "--url", "ftp://a.example"], 2, "address"),
        (["list", "--", "npx"], 2, "only `add`"),
        (["dance"], 2, "dance"),
        ([], 2, "COMMAND"),
    ],
)
def test_what_is_not_possible_is_one_sentence_and_no_traceback(
    capfd: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    run = Run(capfd, *arguments)
    assert run.code == code
    assert said in run.err
    assert len(run.err.splitlines()) == 1
    assert run.out == ""
