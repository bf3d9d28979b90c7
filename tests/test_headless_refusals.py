"""`run` and the sandbox: what rules and the mode refuse, commands can't do either."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

from desktop_agent import paths
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE
from desktop_agent.core.approvals import Rule
from tests.helpers.providers import LoopbackProvider, Say
from tests.test_headless import folder, run_lines
from tests.test_headless_sandbox import asked, need_sandbox, options, pytestmark, results, shell

__all__ = ["folder", "pytestmark"]


def test_a_rule_that_refuses_files_holds_for_the_commands_of_a_run(folder: Path) -> None:
    (folder / "prod").mkdir()
    (folder / "secret.txt").write_text("hunter2")
    data = paths.data_dir()
    data.mkdir(parents=True, exist_ok=True)
    with closing(SqliteStore(data / SESSIONS_FILE)) as store:
        deny = (("write", "prod/*"), ("read", "secret.txt"))
        store.save_rules([Rule(*one, "everywhere", is_deny=True) for one in deny])
    script = [shell("cat secret.txt; echo x > made; echo x > prod/made"), Say("Over.")]
    with LoopbackProvider("openai", script) as provider:
        code, lines, _ = run_lines(*options(provider, folder, "--mode", "free"))
    need_sandbox(lines)
    assert (code, asked(lines)) == (0, [])
    assert "hunter2" not in results(lines)[0]
    assert (folder / "made").exists()
    assert not (folder / "prod" / "made").exists()


def test_a_run_that_only_looks_has_no_way_to_the_network(folder: Path) -> None:
    ask = "import socket; socket.create_connection(('127.0.0.1', 3128)); print('open' + 'ed')"
    command = f'{sys.executable} -c "{ask}"'
    with LoopbackProvider("openai", [shell(command, changes=False), Say("Over.")]) as provider:
        code, lines, _ = run_lines(*options(provider, folder, "--mode", "look"))
    need_sandbox(lines)
    assert code == 0
    assert "Connection refused" in results(lines)[0]
    assert "opened" not in results(lines)[0]
