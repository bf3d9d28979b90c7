"""91 commands of everyday development, in the order in which one folder can run them all."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

# What becomes of a command that does not simply work: `network` needs a host that nobody has
# allowed, `git` needs more of git's own files than the sandbox opens, `deletes` and `loses` are
# asked about, as what they take may not come back.
Kind = Literal["works", "network", "git", "deletes", "loses"]


@dataclass(frozen=True, slots=True)
class Everyday:
    """A command, its kind, and the programs that have to be there, with blanks between them."""

    command: str
    kind: Kind = "works"
    programs: str = ""


def _rows(programs: str, *commands: str) -> list[Everyday]:
    return [Everyday(command, programs=programs) for command in commands]


def _marked(rows: Iterable[Everyday], kinds: Mapping[str, Kind]) -> tuple[Everyday, ...]:
    return tuple(replace(row, kind=kinds.get(row.command, "works")) for row in rows)


_GIT = (
    "git status", "git status --short", "git log --oneline -5", "git diff", "git show HEAD",
    "git diff --stat HEAD", "git blame app.py", "git branch", "git branch feature",
    "git switch feature", "git checkout -b topic", "git commit --allow-empty -m 'Begin'",
    "echo '# changed' >> app.py", "git stash", "git stash pop", "git add app.py",
    "git restore app.py", "git add -A && git commit -m 'Change'", "git revert --no-edit HEAD",
    "git merge feature", "git rebase main", "git tag v0.2", "git mv notes.txt notes.md",
    "git switch -c other", "git fetch origin", "git pull", "git push origin main",
    "git reset --hard HEAD",
)  # fmt: skip
_PYTHON = (
    "python3 --version", "python3 app.py", "python3 -c 'import app; print(app.add(1, 2))'",
    "python3 -m pytest -q", "pytest -q tests/test_app.py -k add", "python3 -m unittest -q",
    "python3 -m venv --without-pip env", "env/bin/python -c 'import sys; print(sys.prefix)'",
    "python3 -m compileall -q app.py", "python3 -m json.tool package.json",
)  # fmt: skip
_PIP = ("python3 -m pip --version", "python3 -m pip list", "pip install -r requirements.txt")
_RUFF = ("ruff check .", "ruff format .")
_NODE = (
    "node --version", "node index.js", "npm --version", "npm test", "npm run build", "npm ls",
    "npm install", "npm install left-pad",
)  # fmt: skip
_MAKE = ("make", "make -j2 test", "make clean")
_C = ("cc -Wall -o hello c/hello.c && ./hello", "cc -c c/hello.c -o hello.o")
_CARGO = (
    "cargo --version", "cargo build", "cargo check", "cargo test", "cargo run", "cargo add serde",
)  # fmt: skip
_GO = ("go version", "go build ./...", "go test ./...", "go vet ./...", "go fmt ./...")
_FILES = (
    "ls -la", "pwd", "cat app.py", "head -20 app.py", "tail -5 app.py", "wc -l app.py", "du -sh .",
    "mkdir -p out/lib", "touch out/x", "cp app.py out/app.py", "mv out/app.py out/b.py",
    "chmod +x run.sh", "./run.sh", "ln -s app.py link.py", "tar czf out/a.tar.gz app.py",
    "rm out/b.py", "rm -rf out",
)  # fmt: skip
_SEARCH = ("grep -rn def app.py", "rg def", "find . -name '*.py' | xargs wc -l")
_EDITS = (
    "sed -n 1,5p app.py", "sed -i 's/one/two/' words.txt",
    "sort words.txt | uniq -c > counted.txt",
)  # fmt: skip

COMMANDS = _marked(
    [
        *_rows("git", *_GIT),
        *_rows("", *_PYTHON),
        *_rows("pip", *_PIP),
        *_rows("ruff", *_RUFF),
        *_rows("npm", *_NODE),
        *_rows("make cc", *_MAKE),
        *_rows("cc", *_C),
        *_rows("cargo", *_CARGO),
        *_rows("go", *_GO),
        *_rows("", *_FILES),
        *_rows("rg", *_SEARCH),
        *_rows("", *_EDITS),
        *_rows("git", "git clone -q . copy"),
    ],
    {
        "git fetch origin": "git",
        "git pull": "git",
        "git push origin main": "loses",
        "git reset --hard HEAD": "loses",
        "pip install -r requirements.txt": "network",
        "npm install left-pad": "network",
        "cargo add serde": "network",
        "rm out/b.py": "deletes",
        "rm -rf out": "deletes",
    },
)

_PROJECT = {
    "app.py": "def add(one, two):\n    return one + two\n",
    "tests/test_app.py": (
        "import os\nimport sys\n\nsys.path.insert(0, os.getcwd())\n\nimport app\n\n\n"
        "def test_add():\n    assert app.add(1, 2) == 3\n"
    ),
    "test_unit.py": (
        "import unittest\n\n\nclass Adding(unittest.TestCase):\n    def test_sum(self):\n"
        "        self.assertEqual(sum((1, 2)), 3)\n"
    ),
    "requirements.txt": "a-package-that-nobody-has==1.0\n",
    "index.js": "console.log(1 + 1);\n",
    "package.json": (
        '{"name": "x", "version": "1.0.0", "scripts": {"test": "node index.js", '
        '"build": "node index.js > built.txt"}}\n'
    ),
    "Makefile": (
        "hello: c/hello.c\n\tcc -o hello c/hello.c\ntest: hello\n\t./hello\nclean:\n\trm -f hello\n"
    ),
    # A package of Go takes no C beside it.
    "c/hello.c": '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n',
    "Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/main.rs": (
        'fn main() { println!("hello"); }\n\n#[test]\nfn adds() { assert_eq!(1 + 1, 2); }\n'
    ),
    "go.mod": "module example.org/x\n\ngo 1.20\n",
    "main.go": 'package main\n\nfunc main() { println("hello") }\n',
    "run.sh": "#!/bin/sh\necho ran\n",
    "notes.txt": "a note\n",
    "words.txt": "one\ntwo\none\n",
    ".gitignore": "hello\nhello.o\n/target\nenv\ncopy\n__pycache__\nnode_modules\n",
}
_GIT_IDENTITY = (
    "[user]\n\tname = Per Son\n\temail = p@example.com\n[init]\n\tdefaultBranch = main\n"
)


def make_project(folder: Path, home: Path) -> None:
    """Make a repository with one commit and a remote that is nowhere; set who commits."""
    (home / ".gitconfig").write_text(_GIT_IDENTITY)
    for name, text in _PROJECT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for words in (
        ("init", "-q"),
        ("remote", "add", "origin", "https://git.invalid/x.git"),
        ("add", "-A"),
        ("commit", "-qm", "one"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)


def surroundings() -> dict[str, str]:
    """Return what commands get: this Python first, and this machine's Rust and patience."""
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    cargo = shutil.which("cargo")
    more = {"PIP_RETRIES": "1", "npm_config_fetch_retries": "0", "CARGO_NET_RETRY": "0"}
    if cargo is not None:
        more["RUSTUP_HOME"] = str(Path(cargo).parent.parent.with_name(".rustup"))
        path = f"{path}:{Path(cargo).parent}"
    return {**more, "PATH": path}
