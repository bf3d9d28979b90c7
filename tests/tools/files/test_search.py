"""Finding files and text: bounded, inside the folder, and without what git ignores."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from desktop_agent.core.approvals import Rule
from desktop_agent.core.messages import FilesDisplay
from desktop_agent.core.tool import ToolError
from desktop_agent.core.workspace import OwnPlaces, Workspace
from desktop_agent.engine.workspace.containment import OutsideWorkspace
from desktop_agent.tools.files.reading import read
from desktop_agent.tools.files.search import glob, grep
from desktop_agent.tools.files.walk import Walk, glob_pattern
from tests.engine.workspace.test_programs import first_on_the_path, put
from tests.tools.conftest import Bench


@pytest.fixture(params=["ripgrep", "python"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Search with ripgrep, and as on a computer that has none."""
    if request.param == "python":
        monkeypatch.setenv("PATH", "/nonexistent")
    elif shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    return request.param


@pytest.fixture
def tree(bench: Bench) -> Bench:
    outside = bench.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("needle outside\n")
    bench.put("a.py", "one needle\ntwo\nNeedle three\n")
    bench.put("src/b.py", "needle\r\n")
    bench.put("src/deep/c.txt", "a needle\n")
    bench.put(".github/x.yml", "needle: 1\n")
    bench.put(".gitignore", "build/\n*.log\n!keep.log\n")
    bench.put("build/out.py", "needle\n")
    bench.put("a.log", "needle\n")
    bench.put("keep.log", "needle\n")
    bench.put("src/.gitignore", "gen_*\n")
    bench.put("src/gen_a.py", "needle\n")
    bench.put("gen_a.py", "needle\n")
    bench.put(".git/config", "needle\n")
    bench.put(".env", "needle=secret\n")
    bench.put("src/.env.local", "needle=secret\n")
    bench.put("bin.dat", b"needle\0\1\2\n")
    (bench.root / "link").symlink_to(outside)
    (bench.root / "link.py").symlink_to(outside / "secret.py")
    os.mkfifo(bench.root / "pipe.py")
    return bench


FOUND = [
    ".github/x.yml:1:needle: 1",
    "a.py:1:one needle",
    "gen_a.py:1:needle",
    "keep.log:1:needle",
    "src/b.py:1:needle",
    "src/deep/c.txt:1:a needle",
]


async def test_text_is_found_where_it_should_be_and_nowhere_else(tree: Bench, engine: str) -> None:
    result = await tree.run(grep, pattern="needle")
    assert sorted(result.text.splitlines()) == FOUND
    assert isinstance(result.display, FilesDisplay)
    assert result.display.summary == "6 matches"
    assert "src/b.py" in result.display.paths


async def test_one_file_found_is_not_called_files(tree: Bench) -> None:
    for pattern, said in (("src/b.py", "1 file"), ("*.py", "5 files")):
        result = await tree.run(glob, pattern=pattern)
        assert isinstance(result.display, FilesDisplay)
        assert result.display.summary == said


async def test_a_search_can_be_narrowed(tree: Bench, engine: str) -> None:
    assert (await tree.run(grep, pattern="^needle$", glob="*.py", path="src")).text == (
        "src/b.py:1:needle"
    )
    assert (await tree.run(grep, pattern="NEEDLE T", ignore_case=True)).text == (
        "a.py:3:Needle three"
    )
    files = await tree.run(grep, pattern="needle", files_only=True, path="src")
    assert sorted(files.text.splitlines()) == ["src/b.py", "src/deep/c.txt"]
    assert (await tree.run(grep, pattern="needle", path="a.py")).text == "a.py:1:one needle"
    assert (await tree.run(grep, pattern="nowhere")).text == "No match."


async def test_documents_that_a_search_passes_over_are_named(tree: Bench, engine: str) -> None:
    for name in ("letters/one.docx", "letters/two.PDF", "picture.bin"):
        tree.put(name, b"PK\0 needle")
    said = "[Not searched: {} documents, such as letters/one.docx; `read` opens them.]".format
    assert (await tree.run(grep, pattern="nowhere")).text == f"No match.\n{said(2)}"
    assert (await tree.run(grep, pattern="one needle")).text == f"a.py:1:one needle\n{said(2)}"
    assert (await tree.run(grep, pattern="nowhere", glob="*.docx")).text.endswith(said(1))
    assert (await tree.run(grep, pattern="nowhere", glob="*.py")).text == "No match."
    for name, kind in (("letters/one.docx", "a document"), ("picture.bin", "a binary file")):
        with pytest.raises(ToolError, match=f"{name} is {kind}, which can't be searched"):
            await tree.run(grep, pattern="needle", path=name)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file that opens and can't be read")
async def test_a_file_that_fails_while_it_is_read_costs_only_itself(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")  # ripgrep goes on by itself
    here = Path(f"/proc/{os.getpid()}/task/{os.getpid()}")
    bench.bound(folders=Workspace(str(bench.root), (str(here),)))
    found = await bench.run(grep, pattern="^(Name:|x)", path=str(here), glob="{mem,status}")
    assert found.text.startswith(f"{here}/status:1:Name:")
    with pytest.raises(ToolError, match="mem can't be read"):
        await bench.run(grep, pattern="x", path=str(here / "mem"))
    with pytest.raises(ToolError, match="mem can't be read"):
        await bench.run(read, path=str(here / "mem"))


async def test_many_results_say_how_to_go_on(bench: Bench, engine: str) -> None:
    bench.put("a.txt", "".join(f"needle {n}\n" for n in range(450)))
    first = await bench.run(grep, pattern="needle")
    assert first.text.count("\n") == 200
    assert "go on with offset=200" in first.text
    last = await bench.run(grep, pattern="needle", offset=400)
    assert last.text.splitlines()[0] == "a.txt:401:needle 400"
    assert "go on" not in last.text


async def test_a_pattern_is_never_taken_for_an_option(bench: Bench, engine: str) -> None:
    bench.put("a.txt", "--pre=x\n-e\n")
    assert (await bench.run(grep, pattern="--pre=x")).text == "a.txt:1:--pre=x"
    assert (await bench.run(grep, pattern="-e")).text == "a.txt:2:-e"


async def test_a_wrong_pattern_is_an_error_in_words(bench: Bench, engine: str) -> None:
    bench.put("a.txt", "x")
    with pytest.raises(ToolError):
        await bench.run(grep, pattern="(")


async def test_a_long_line_does_not_fill_the_result(bench: Bench, engine: str) -> None:
    bench.put("a.txt", "needle " + "x" * 100_000 + "\n")
    assert len((await bench.run(grep, pattern="needle")).text) < 1000


@pytest.mark.parametrize(
    ("content", "pattern", "found"),
    [
        (b"x" * 600 + b" needle\n", "needle$", ["1"]),
        (b"x" * 499 + b"yz\n", "y$", []),
        ("\ufeffneedle\n".encode(), "^needle", ["1"]),
        ("\ufeffone\r\nneedle é\r\n".encode("utf-16-le"), "needle é$", ["2"]),
        ((b"a" * 199 + b"\n") * 110_000 + b"needle\n", "needle", ["110001"]),
        (b"needle\n", "^$", []),
        (b"\nneedle\n\n", "^$", ["1", "3"]),
    ],
    ids=["far", "cut", "mark", "wide", "large", "end", "empty"],
)
async def test_a_line_is_found_where_it_stands_however_the_file_is_written(
    bench: Bench, engine: str, content: bytes, pattern: str, found: list[str]
) -> None:
    bench.put("a.txt", content)
    for path in (".", "a.txt"):
        text = (await bench.run(grep, pattern=pattern, path=path)).text
        assert [line.split(":")[1] for line in text.splitlines() if ":" in line] == found


async def test_a_search_for_more_than_a_line_is_an_error_and_not_no_match(
    bench: Bench, engine: str
) -> None:
    bench.put("a.txt", "one\ntwo\n")
    for pattern in ("one\ntwo", r"one\ntwo"):
        with pytest.raises(ToolError, match="line"):
            await bench.run(grep, pattern=pattern)
    assert (await bench.run(grep, pattern=r"o[^\n]e")).text == "a.txt:1:one"


async def test_what_is_searched_at_its_start_alone_is_said(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    bench.put("a.txt", "needle " + "a" * 200_000 + "\nneedle\n")
    text = (await bench.run(grep, pattern=r"a+ ?=|needle$")).text
    assert text.startswith("a.txt:2:needle\n[Of 1 long line only the start was searched")


async def test_a_search_configuration_of_the_folder_is_not_used(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put("a.txt", "needle\n")
    config = bench.put("rc", "--pre\n./evil\n")
    evil = bench.put("evil", "#!/bin/sh\ntouch ran\n")
    evil.chmod(0o755)
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))
    await bench.run(grep, pattern="needle")
    assert not (bench.root / "ran").exists()


@pytest.mark.parametrize("path", ["..", "/etc", "link", "link/..", "~", "link.py"])
async def test_no_search_reaches_outside(tree: Bench, engine: str, path: str) -> None:
    for act in (tree.run, tree.preview):
        with pytest.raises(OutsideWorkspace):
            await act(grep, pattern="needle", path=path)
    with pytest.raises(OutsideWorkspace):
        await tree.run(glob, pattern="*", path=path)


async def test_searching_a_secret_file_by_name_is_asked_about(tree: Bench) -> None:
    assert (await tree.preview(grep, pattern="x", path=".env")).protected == (".env",)
    assert (await tree.preview(grep, pattern="x", path="src")).protected == ()


async def test_searching_a_pipe_or_a_device_is_an_error_and_neither_a_wait_nor_no_match(
    tree: Bench, engine: str
) -> None:
    with pytest.raises(ToolError, match="not a regular file"):
        await tree.run(grep, pattern="needle", path="pipe.py")
    assert "pipe.py" not in (await tree.run(grep, pattern="needle")).text
    with pytest.raises(OutsideWorkspace):
        await tree.run(grep, pattern="needle", path="/dev/zero")


async def test_a_path_that_is_not_there_is_an_error_in_words(tree: Bench) -> None:
    for tool in (glob, grep):
        with pytest.raises(ToolError, match="doesn't exist"):
            await tree.run(tool, pattern="x", path="missing")
    with pytest.raises(ToolError, match="use `read`"):
        await tree.run(glob, pattern="x", path="a.py")


async def test_files_are_found_by_name(tree: Bench) -> None:
    result = await tree.run(glob, pattern="**/*")
    assert result.text.splitlines() == [
        ".env", ".gitignore", "a.py", "bin.dat", "gen_a.py", "keep.log", "link.py",
        "pipe.py", ".github/x.yml", "src/.env.local", "src/.gitignore", "src/b.py",
        "src/deep/c.txt",
    ]  # fmt: skip
    assert (await tree.run(glob, pattern="*.txt")).text == "src/deep/c.txt"
    assert (await tree.run(glob, pattern="src/*.py")).text == "src/b.py"
    assert (await tree.run(glob, pattern="*.py", path="src")).text == "src/b.py"
    assert (await tree.run(glob, pattern="*.nothing")).text == "No file matches."


async def test_many_files_say_how_to_go_on(bench: Bench) -> None:
    for number in range(620):
        bench.put(f"d{number % 7}/f{number:04}.txt")
    first = await bench.run(glob, pattern="**/*.txt")
    assert "go on with offset=500" in first.text
    rest = await bench.run(glob, pattern="**/*.txt", offset=500)
    names = {*first.text.splitlines()[:500], *rest.text.splitlines()}
    assert len(names) == 620


async def test_what_git_ignores_is_what_git_says(bench: Bench) -> None:
    ignore = "*.o\n/top\nsub/*\n!sub/keep\n**/cache/\nd*/x\n\\#odd\ntrail \n# comment\n"
    bench.put(".gitignore", ignore)
    bench.put("in/.gitignore", "*.txt\n!yes.txt\n!*.o\n")
    bench.put("marked/.gitignore", "\ufeffno.txt\r\na\x0cyes.txt\n")
    bench.put("marked/no.txt")
    bench.put("marked/yes.txt")
    names = ["a.o", "in/a.o", "top", "in/top", "sub/a", "sub/keep", "x/cache/a", "cache/b", "d1/x"]
    names += ["d1/y", "#odd", "in/no.txt", "in/yes.txt", "no.txt", "trail", "sub/deep/x"]
    for name in names:
        bench.put(name)
    subprocess.run(["git", "init", "-q", str(bench.root)], check=True)
    listed = subprocess.run(
        ["git", "-C", str(bench.root), "ls-files", "-co", "--exclude-standard"],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    ours = (await bench.run(glob, pattern="**")).text.splitlines()
    assert sorted(ours) == sorted(listed)


@pytest.mark.parametrize("is_repository", [False, True])
async def test_what_ignores_files_above_the_folder_of_work_hides_nothing_in_it(
    bench: Bench, engine: str, is_repository: bool
) -> None:
    (bench.root.parent / ".gitignore").write_text("*\n")
    if is_repository:  # as when a home folder is one
        (bench.root.parent / ".git").mkdir()
    for name in ("a.py", "src/b.py", "build/c.py", "src/build/d.py"):
        bench.put(name, "needle\n")
    bench.put(".gitignore", "build/\n")
    for path, found in ((".", ["a.py", "src/b.py"]), ("src", ["src/b.py"])):
        texts = [
            (await bench.run(glob, pattern="*.py", path=path)).text,
            (await bench.run(grep, pattern="needle", path=path, files_only=True)).text,
        ]
        assert [text.splitlines() for text in texts] == [found, found]


async def test_a_folder_below_is_searched_as_from_the_top_unless_it_is_named_though_ignored(
    bench: Bench, engine: str
) -> None:
    bench.put(".gitignore", "/src/gen/\n*.log\nlibs\n")
    bench.put("src/.gitignore", "!keep.log\n")
    for name in (
        "src/gen/a",
        "src/b.log",
        "src/keep.log",
        "src/in/b.log",
        "src/in/a",
        "libs/x.log",
    ):
        bench.put(name, "needle\n")
    for path, found in (("src", ["src/in/a", "src/keep.log"]), ("libs", ["libs/x.log"])):
        listed = (await bench.run(glob, pattern="**", path=path)).text.splitlines()
        assert sorted(name for name in listed if ".git" not in name) == found
        text = (await bench.run(grep, pattern="needle", path=path, files_only=True)).text
        assert sorted(text.splitlines()) == found


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True), ("*.py", "x/a.py", True), ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True), ("src/*.py", "src/x/a.py", False),
        ("src/**/*.py", "src/a.py", True), ("src/**/*.py", "src/x/y/a.py", True),
        ("**", "a/b", True), ("**/*", "a", True), ("./a.py", "a.py", True), ("/a.py", "a.py", True),
        ("src/", "src/a/b", True), ("src/**", "src/a/b", True), ("a?.py", "ab.py", True),
        ("*.{ts,tsx}", "x/a.tsx", True), ("*.{ts,tsx}", "a.js", False), ("[ab].py", "b.py", True),
        ("[!ab].py", "b.py", False), ("[!ab].py", "c.py", True), ("a[", "a[", True),
        ("a{b", "a{b", True), ("a.b", "axb", False), ("(x)", "(x)", True), ("[z-a]", "[z-a]", True),
        ("{a,{b,c}}.py", "c.py", True),
    ],
)  # fmt: skip
def test_names_are_matched_as_people_expect(pattern: str, path: str, matches: bool) -> None:
    assert glob_pattern(pattern).fullmatch(path) is matches


@pytest.mark.parametrize("pattern", ["src\\*.py", "**\\a.py", ".\\src\\a.py", "src\\", "*.py"])
def test_names_are_matched_by_patterns_with_the_separator_of_windows(pattern: str) -> None:
    assert glob_pattern(pattern, is_windows=True).fullmatch("src/a.py")


async def test_a_pattern_without_end_is_given_up_and_the_model_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    bench.put("a.txt", "a" * 400 + "b")
    with pytest.raises(ToolError, match="takes too long"):
        await bench.run(grep, pattern="(a|a)*$")


@pytest.mark.parametrize("engine", ["ripgrep", "python"], indirect=True)
async def test_a_glob_of_many_stars_does_not_hang_the_app(bench: Bench, engine: str) -> None:
    bench.put("a" * 200 + "cb", "needle")
    stars = "*a" * 30 + "c"
    assert (await bench.run(glob, pattern=stars)).text == "No file matches."
    assert (await bench.run(grep, pattern="needle", glob=stars)).text == "No match."
    with pytest.raises(ToolError, match="longer than"):
        await bench.run(glob, pattern="{a,aa}" * 100)


async def test_an_ignore_file_of_many_stars_does_not_hang_the_app(bench: Bench) -> None:
    bench.put("a" * 200 + "cb", "")
    bench.put(".gitignore", "*a" * 30 + "c\n")
    bench.put("deep/.gitignore", "\\\n!\n*.log\n")
    bench.put("deep/x.log", "")
    assert (await bench.run(glob, pattern="**")).text.splitlines() == [
        ".gitignore", "a" * 200 + "cb", "deep/.gitignore",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "pattern",
    [
        "one needle",
        r"^one \w+",
        "a|b|needle",
        r"^\s*one .*le.*$",
        r"e{2}",
        "(foo)?needle",
        "NEEDLE",
    ],
)
async def test_everyday_patterns_are_found_without_ripgrep_too(
    tree: Bench, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    found = await tree.run(grep, pattern=pattern, path="a.py", ignore_case=True)
    assert "a.py:1:one needle" in found.text.splitlines()


FLIPPER = """
import os, sys
root, outside = sys.argv[1:]
os.chdir(root)
while True:
    os.rename("dir", "away")
    os.symlink(outside, "dir")
    os.unlink("dir")
    os.rename("away", "dir")
"""


async def test_no_search_escapes_a_race(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    outside = bench.root.parent / "outside"
    outside.mkdir()
    (outside / "x.txt").write_text("secret\n")
    (outside / "outside-name.txt").write_text("secret\n")
    bench.put("dir/x.txt", "inside\n")
    process = subprocess.Popen([sys.executable, "-c", FLIPPER, str(bench.root), str(outside)])
    try:
        for _ in range(400):
            for tool, pattern in ((grep, "secret|inside"), (glob, "**")):
                for path in (".", "dir"):
                    try:
                        text = (await bench.run(tool, pattern=pattern, path=path)).text
                    except ToolError:
                        continue
                    assert "secret" not in text
                    assert "outside-name" not in text
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_what_they_do_is_said_in_words() -> None:
    said = [tool.describe({"pattern": "x"}) for tool in (glob, grep) if tool.describe]
    assert said == ["finding x", "searching for “x”"]
    assert glob.describe is not None
    assert glob.describe({"pattern": "**/*"}) == "listing files"


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux")
async def test_a_name_that_is_no_text_breaks_nothing(bench: Bench, engine: str) -> None:
    raw = os.fsencode(bench.root) + b"/bad\xff\nname.txt"
    with open(raw, "w") as file:  # noqa: PTH123 - a name in bytes
        file.write("needle\n")
    for tool in (glob, grep):
        result = await bench.run(tool, pattern="needle" if tool is grep else "**")
        result.text.encode()
        assert isinstance(result.display, FilesDisplay)
        "".join(result.display.paths).encode()


async def test_a_search_from_above_the_apps_own_folders_does_not_give_out_keys(
    bench: Bench, engine: str
) -> None:
    bench.put("home [1]/keys.json", "needle")
    bench.put("home [1]/keys.json.old", "needle")
    bench.put("home [1]/sessions.db-wal", "needle")
    bench.put("home [1]/skills/a.md", "needle")
    home = bench.root / "home [1]"
    own = OwnPlaces(private=(str(home / "keys.json"), str(home / "sessions.db")))
    bench.bound(own=own)
    found = await bench.run(grep, pattern="needle", files_only=True)
    assert found.text == "home [1]/skills/a.md"
    assert (await bench.preview(grep, pattern="x", path="home [1]/keys.json")).protected


@pytest.mark.skipif(os.name == "nt", reason="the program is made as a shell script")
async def test_a_search_does_not_run_what_an_agent_has_named_like_the_program_for_it(
    tree: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An activated environment of the project is on the path of the app."""
    mark = tmp_path / "mark"
    first_on_the_path(monkeypatch, put(tree.root / "bin" / "rg", mark).parent)
    assert "a.py:1:one needle" in (await tree.run(grep, pattern="needle")).text
    assert not mark.exists()


@pytest.mark.parametrize("pattern", ["src/*", "SRC/*", "*.py", "way/*"])
async def test_a_search_shows_nothing_of_what_a_rule_refuses_to_read(
    tree: Bench, engine: str, pattern: str
) -> None:
    (tree.root / "way").symlink_to("src")
    rule = Rule("read", pattern, "everywhere", is_deny=True)
    assert "src/b.py" in (await tree.run(grep, pattern="needle")).text
    tree.bound(refusals=(rule,))
    shown = (await tree.run(grep, pattern="needle")).text
    assert "src/b.py" not in shown
    assert "needle" in shown
    with pytest.raises(ToolError, match="rule of the person's"):
        await tree.run(grep, pattern="needle", path="src/b.py")


@pytest.mark.skipif(sys.platform != "linux", reason="a folder of /proc")
def test_a_folder_that_opens_and_cannot_be_listed_is_passed_over() -> None:
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # its `net` is such a folder
        root = Path(f"/proc/{ended.pid}")
        found = set(Walk(Workspace(str(root)), root).files())
    assert {"comm", f"task/{ended.pid}/comm"} <= found
