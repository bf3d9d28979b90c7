# ruff: noqa: E501 - a task is a line
"""What people do every day, in the sandbox: each of it works, or fails in the way it should."""

from __future__ import annotations

import shutil
import stat
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.sandbox.bench import Bench, has, make_repository
from tests.helpers.patience import tries

_PORT_LINE = b"port "
_SERVER = """
import http.server, os
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
print("port", server.server_address[1], flush=True)
server.serve_forever()
"""
_TESTS = """
import multiprocessing, os, socket, subprocess, tempfile

def double(number):
    return 2 * number

def test_tcp():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()

def test_unix():
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{folder}/s")
        server.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"{folder}/s")

def test_pool():
    with multiprocessing.Pool(2) as pool:
        assert pool.map(double, range(4)) == [0, 2, 4, 6]

def test_pair_and_pty():
    socket.socketpair()[0].close()
    os.openpty()

def test_program():
    assert subprocess.check_output(["echo", "hi"]) == b"hi\\n"
"""
_FILES = {
    "test_it.py": _TESTS,
    "Makefile": "hello: hello.c\n\tcc -g -o hello hello.c\n",
    "hello.c": '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n',
    "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"test": "node test.js"}}\n',
    "test.js": 'require("assert").strictEqual(1 + 1, 2); console.log("passed");\n',
    "Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/main.rs": 'fn main() { println!("hello"); }\n',
    ".gitignore": "hello\n/target\n.venv\n__pycache__\n",
}


@dataclass(frozen=True, slots=True)
class Task:
    """A command, what it needs, and what it says when it works."""

    name: str
    script: str
    says: str = ""
    needs: tuple[str, ...] = ()
    git: bool = False
    changes: bool = True
    fails: bool = False


_PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider test_it.py"
TASKS = (
    Task("git looks", "git status --short && git log --oneline && git diff && git blame tracked", "one"),
    Task("git can't commit by default", "git commit -qam two", "Read-only file system", fails=True),
    Task("git commits", "echo two >> tracked && git commit -qam two && git log --oneline", "two", git=True),
    Task("git branches", "git switch -qc side && git switch -q main && git branch", "side", git=True),
    Task("git stashes", "echo x >> tracked && git stash -q && git stash pop -q && git checkout -q .", git=True),
    Task("git rebases", "git switch -q side && git commit -q --allow-empty -m s && git rebase -q main && git tag t && git switch -q main", git=True),
    Task("git tidies up", "git gc -q && git fsck", git=True),
    Task("git refuses settings", "git config x.y z", "could not write config", git=True, fails=True),
    Task("git clones beside", "git clone -q . copy && git -C copy log --oneline && rm -rf copy", "one", git=True),
    Task("a virtual environment", ".venv/bin/python -c 'import sys; print(sys.prefix)'", ".venv"),
    Task("tests", _PYTEST, "5 passed"),
    Task("compiling", "make && ./hello", "hello", ("make", "cc")),
    Task("debugging", "gdb -batch -ex 'break main' -ex run -ex bt ./hello", "main", ("gdb", "make", "cc")),
    Task("tracing", "strace -f -e trace=write ./hello", "hello", ("strace", "make", "cc")),
    Task("cargo", "cargo build --offline -q && target/debug/x", "hello", ("cargo",)),
    Task("npm", "npm test", "passed", ("npm", "node")),
    Task("a terminal", "script -qec 'tty && echo fine' /dev/null", "fine", ("script",)),
    Task("temporary files stay", "echo kept > /tmp/kept"),
    Task("temporary files are there", "cat /tmp/kept /var/tmp/kept", "kept\nkept"),
    Task("caches stay", "mkdir -p ~/.cache/x && echo cached > ~/.cache/x/y"),
    Task("caches are there", "cat ~/.cache/x/y", "cached"),
    Task("shared memory", f"{sys.executable} -c 'from multiprocessing import shared_memory as s; "
         "m = s.SharedMemory(create=True, size=9); m.close(); m.unlink(); print(\"fine\")'", "fine"),
    Task("looking: git", "git log --oneline", "one", changes=False),
    Task("looking: tests", _PYTEST, "5 passed", changes=False),
    Task("looking: npm", "npm test", "passed", ("npm", "node"), changes=False),
    Task("looking: nothing changes", "echo x > new", "Read-only file system", changes=False, fails=True),
    Task("looking: temporary files", "echo x > /tmp/x && cat /tmp/x", "x", changes=False),
)  # fmt: skip


async def work(folder: Path) -> dict[str, Any]:
    """Do each task; return what went wrong, and what could not be tried."""
    bench = Bench(folder)
    for name, text in _FILES.items():
        (bench.work / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.work / name).write_text(text)
    make_repository(bench.work)
    bench.free([sys.executable, "-m", "venv", "--without-pip", ".venv"])
    assert pytest.__file__ is not None
    more = {
        "PYTHONPATH": str(Path(pytest.__file__).parents[1]),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    more |= _rust()
    (folder / "home" / ".gitconfig").write_text(
        '[user]\n\tname = Per "P" Son\n\temail = p@example.com\n[alias]\n\tx = !true\n'
    )
    wrong: dict[str, str] = {}
    missing: list[str] = []
    for task in TASKS:
        if not has(*task.needs):
            missing.append(task.name)
            continue
        done = await bench.run(task.script, git=task.git, changes=task.changes, more=more)
        if (done.code != 0) is not task.fails or task.says not in done.output or done.lines:
            wrong[task.name] = f"{done.code}: {done.output[-600:]} {done.lines}"
    wrong |= await _servers(bench)
    identity = await bench.run("git config --global --list")
    await bench.close()
    return {"wrong": wrong, "missing": missing, "identity": identity.output}


def _rust() -> dict[str, str]:
    """Return where this machine's Rust is: the home is another one here."""
    cargo = Path(shutil.which("cargo") or "/nonexistent/bin/cargo")
    home = cargo.parent.parent.with_name(".rustup")
    return {"RUSTUP_HOME": str(home)} if home.is_dir() else {}


async def _servers(bench: Bench) -> dict[str, str]:
    """Start a server with one command, ask it with others; from outside it isn't there."""
    process, _ = await bench.start([sys.executable, "-c", _SERVER])
    assert process.stdout is not None
    line = process.stdout.readline()
    wrong: dict[str, str] = {}
    if not line.startswith(_PORT_LINE):
        return {"server": line.decode()}
    port = int(line.removeprefix(_PORT_LINE))
    address = f"http://127.0.0.1:{port}/tracked"
    ask = f"import urllib.request as u; print(u.urlopen('{address}').read())"
    for name, words in (
        ("python", [sys.executable, "-c", ask]),
        ("curl", ["curl", "-sS", "--noproxy", "*", address]),
    ):
        for number in range(tries(1, 50) if has(words[0]) else 0):
            done = await bench.run(words)
            if "one" not in done.output:
                wrong[f"server, {name}, {number}"] = done.output
    try:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address).close()
        wrong["server, outside"] = "it is reached from outside"
    except OSError:
        pass
    process.kill()
    process.communicate()
    return wrong


_SECRETS = (
    ".ssh/id_ed25519", ".ssh/config", ".gnupg/private-keys-v1.d/k.key", ".aws/credentials",
    ".azure/tokens.json", ".kube/config", ".docker/config.json", ".config/gh/hosts.yml",
    ".config/gcloud/credentials.db", ".netrc", ".pypirc", ".git-credentials",
    ".cargo/credentials.toml", ".local/share/keyrings/login.keyring", ".mozilla/firefox/key4.db",
    ".config/google-chrome/Default/Cookies", ".password-store/mail.gpg", ".bash_history",
    "Documents/diary.txt", "other/.env", ".local/share/desktop-agent/sessions.db", ".pgpass",
)  # fmt: skip
_TOOLCHAINS = (
    ".pyenv/shims", ".nvm/versions/node/v1/bin", ".rustup/toolchains/t/bin", ".cargo/bin",
    ".local/bin", ".local/share/uv/tools/t/bin", ".sdkman/candidates/c/bin", ".deno/bin",
    ".bun/bin", "go/bin", "miniconda3/bin", ".volta/bin",
)  # fmt: skip


async def homes(folder: Path) -> dict[str, Any]:
    """Plant secrets and toolchains in a home; return what was read of these, and what ran."""
    bench, home = Bench(folder), folder / "home"
    for name in _SECRETS:
        _put(home / name, f"SECRET {name}\n")
    for name in _TOOLCHAINS:
        _put(home / name / "tool", f"#!/bin/sh\necho RAN {name}\n", is_program=True)
    _put(home / ".npmrc", "fund=false\n//registry.example/:_authToken=SECRET npmrc\n")
    _put(home / ".config/pip/pip.conf", "[global]\nindex-url = https://u:SECRET@pip.example/\n")
    _put(home / ".gitconfig", "[user]\n\tname = P\n[credential]\n\thelper = store # SECRET git\n")
    places = " ".join(f'"$HOME/{name}"' for name in (*_SECRETS, ".npmrc", ".config/pip/pip.conf"))
    read = await bench.run(
        f"cat {places} ~/.gitconfig; grep -r SECRET ~ /proc/*/environ 2>/dev/null"
    )
    tools = "; ".join(f'"$HOME/{name}/tool"' for name in _TOOLCHAINS)
    ran = await bench.run(tools)
    free = bench.free(f"cat {places}")
    await bench.close()
    return {
        "read": read.output.count("SECRET"),
        "read outside": free.output.count("SECRET"),
        "secrets": len(_SECRETS) + 2,
        "kept": "fund=false" in read.output and "name = " in read.output,
        "not run": [name for name in _TOOLCHAINS if f"RAN {name}" not in ran.output],
    }


def _put(path: Path, text: str, *, is_program: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if is_program:
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
