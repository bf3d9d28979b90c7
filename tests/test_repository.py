"""What the repository promises: budgets, layers, a clean lock, links that lead somewhere."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.check_dependencies import hook_findings, lock_findings

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "desktop_agent").rglob("*.py"))
# A bound that only goes down; those of other libraries' objects, about 20, will stay.
PRIVATE_READS = 55
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)|(?:src|href)=\"([^\"#]+)\"")


def test_the_engine_and_the_headless_command_load_without_qt_or_litellm() -> None:
    program = (
        "import importlib, sys\n"
        "for name in ('PySide6', 'qasync', 'litellm'): sys.modules[name] = None\n"
        f"for name in {_without_window()!r}: importlib.import_module(name)\n"
    )
    loaded = _python(program)
    assert loaded.returncode == 0, loaded.stderr


def test_all_but_the_window_loads_where_the_system_has_less() -> None:
    """A flag of Linux that a module asks for as it is loaded ends the app's start on the others."""
    program = (
        "import importlib, os, signal, socket, sys\n"
        f"names = {_without_window()!r}\n"
        "for name in names: importlib.import_module(name)\n"
        "for name in names: del sys.modules[name]\n"
        "everywhere = 'O_RDONLY O_WRONLY O_RDWR O_CREAT O_EXCL O_TRUNC O_APPEND'.split()\n"
        "calls = 'fchmod fchown fork fwalk geteuid getuid killpg memfd_create set_blocking'\n"
        "flags = [name for name in vars(os) if name[:2] == 'O_' and name not in everywhere]\n"
        "for name in [*flags, *calls.split()]: delattr(os, name)\n"
        "for name in 'SIGCHLD SIGCONT SIGHUP SIGKILL SIGSTOP'.split(): delattr(signal, name)\n"
        "for name in 'AF_UNIX recv_fds send_fds'.split(): delattr(socket, name)\n"
        "for name in ('grp', 'pwd', 'resource', 'termios'): sys.modules[name] = None\n"
        "for name in names: importlib.import_module(name)\n"
    )
    loaded = _python(program)
    assert loaded.returncode == 0, loaded.stderr


def test_on_windows_no_program_that_the_app_starts_shows_a_console() -> None:
    """The app has none, so each command, search and merge would have one flash up."""
    of_linux = {ROOT / "desktop_agent/adapters" / name for name in ("sandbox", "network")}
    starts = {"run", "Popen", "create_subprocess_exec"}
    showing = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SOURCES
        if path.parent not in of_linux
        and "outpost" not in path.parts
        and "subprocess" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in {"subprocess", "asyncio"}
        and node.func.attr in starts
        and not {"creationflags", None} & {keyword.arg for keyword in node.keywords}
        and (node.func.value.id, node.func.attr) != ("asyncio", "run")
    ]
    assert showing == []


def test_the_window_opens_where_the_capital_letter_of_i_is_another() -> None:
    """Of `QTimer(interval=5)` Qt's bindings look for `setInterval`, by the C library's letters.

    In Turkish, and in others of its family, they find none, and raise an AttributeError.
    """
    named = re.compile(r"\bQ[A-Z]\w*\([^()]*\bi\w*=")
    window = [path for path in SOURCES if path.is_relative_to(ROOT / "desktop_agent" / "gui")]
    assert window
    assert [str(path) for path in window if named.search(path.read_text(encoding="utf-8"))] == []


def test_nothing_but_the_command_line_prints() -> None:
    """A print in the window's process would go nowhere, or into somebody's terminal."""
    printing = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SOURCES
        if path.relative_to(ROOT).parts[1] not in {"headless", "outpost", "app.py"}
        and "print(" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert printing == []


def test_ray_is_known_to_one_file_and_is_no_part_of_the_app() -> None:
    """Its driver ends with the cluster's head: a window must not be one."""
    named = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "desktop_agent").rglob("*.py"))
        if re.search(r"""import ray\b|from ray\b|["']ray["'.]""", path.read_text("utf-8"))
    ]
    assert named == ["desktop_agent/outpost/ray_cluster.py"]
    assert not re.search(r"^ray==", (ROOT / "requirements.lock").read_text("utf-8"), re.MULTILINE)


def test_the_lock_names_no_host_and_has_a_hash_for_everything() -> None:
    assert list(lock_findings((ROOT / "requirements.lock").read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("--index-url https://registry.example/simple", "host"),
        ("litellm==1.82.7 \\\n    --hash=sha256:00", "compromised"),
        ("litellm==1.82.8 \\\n    --hash=sha256:00", "compromised"),
        ("qasync==0.28.0", "no hash"),
        ("-e .", "neither"),
    ],
)
def test_a_spoilt_lock_is_told(line: str, word: str) -> None:
    assert any(word in finding for finding in lock_findings(line + "\n"))


def test_a_start_up_hook_that_nobody_vetted_is_told(tmp_path: Path) -> None:
    (tmp_path / "desktop_agent.pth").write_text("somewhere", encoding="utf-8")
    assert list(hook_findings(tmp_path)) == []
    (tmp_path / "stolen_init.pth").write_text("import os", encoding="utf-8")
    assert len(list(hook_findings(tmp_path))) == 1


@pytest.mark.parametrize("name", ["README.md", "desktop_agent/ARCHITECTURE.md", "CHANGELOG.md"])
def test_a_link_in_the_documents_leads_somewhere(name: str) -> None:
    document = ROOT / name
    targets = [a or b for a, b in LINK.findall(document.read_text(encoding="utf-8"))]
    local = [target for target in targets if not re.match(r"[a-z]+:", target)]
    gone = [target for target in local if not (document.parent / target).exists()]
    assert gone == []


def test_the_readme_names_only_scripts_that_exist() -> None:
    named = set(re.findall(r"scripts/(\w+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert {"run", "test"} <= named
    assert {name for name in named if not (ROOT / "scripts" / name).is_file()} == set()


def test_the_architecture_fits_on_a_few_pages() -> None:
    lines = (ROOT / "desktop_agent/ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 215


def test_the_architecture_names_only_files_that_exist() -> None:
    text = (ROOT / "desktop_agent/ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", text))
    places = (ROOT, ROOT / "desktop_agent")
    gone = {name for name in named if not any((place / name).is_file() for place in places)}
    assert gone == set()
    assert named


def test_each_line_of_what_shows_the_security_names_tests_that_exist() -> None:
    text = (ROOT / ".github/SECURITY.md").read_text(encoding="utf-8")
    _, _, shown = text.partition("## What shows it")
    rows = [line for line in shown.splitlines() if line.startswith("| ")]
    named = [re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row) for row in rows]
    # Two tables, each with a line above.
    assert [row for row, tests in zip(rows, named, strict=True) if not tests] == [
        "| promise | tests |", "| attack | what holds it | tests |",
    ]  # fmt: skip
    for path, name in itertools.chain(*named):
        found = re.findall(rf"def {name}\(", (ROOT / path).read_text(encoding="utf-8"))
        assert len(found) == 1, (path, name)


def private_reads(path: Path) -> list[str]:
    """Return the places where a file reads what an object of another class keeps to itself."""
    own, text = {"self", "cls"}, path.read_text(encoding="utf-8")
    if not re.search(r"(?<!self)(?<!cls)\._[^_]", text):
        return []
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and re.match(r"_[^_]", node.attr)
        and not (isinstance(node.value, ast.Name) and node.value.id in own)
        and ast.unparse(node) != "os._exit"
        and not (isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()")
    ]


def test_tests_go_through_what_is_public() -> None:
    """A test that reads private attributes breaks when the inside of a class moves."""
    found = [place for path in (ROOT / "tests").rglob("*.py") for place in private_reads(path)]
    assert len(found) <= PRIVATE_READS, "\n".join(found)


def test_pictures_in_the_repository_stay_small() -> None:
    heavy = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "resources" / "screenshots").glob("*.png")
        if path.stat().st_size > 300_000
    ]
    assert heavy == []
    recording = ROOT / "resources" / "screenshots" / "demo.webp"
    assert recording.stat().st_size < 3_000_000


def test_every_rule_that_the_code_names_stands_in_the_repository() -> None:
    """Who follows a reference such as RULES S2 must find the rule."""
    written = (ROOT / "desktop_agent" / "RULES.md").read_text(encoding="utf-8")
    rules = set(re.findall(r"^\| ([A-Z]\d+) \|", written, re.MULTILINE))
    rules |= {f"S{number}" for number in range(1, 9)}
    named: set[str] = set()
    for path in [*SOURCES, *(ROOT / "tests").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\bSPEC" r" [A-Z]\d", text), path
        for reference in re.findall(r"RULES ([A-Z]\d+(?:(?:-|, | and )[A-Z]\d+)*)", text):
            named |= set(re.findall(r"[A-Z]\d+", reference))
    assert named
    assert named <= rules


def _without_window() -> list[str]:
    return sorted(
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in SOURCES
        if path.parent.name != "desktop_agent"
        and path.relative_to(ROOT).parts[1] in {"core", "engine", "tools", "adapters", "headless"}
    )


def _python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
