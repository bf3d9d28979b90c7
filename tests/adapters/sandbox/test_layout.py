"""What a command sees of folders that are related to the one it works in."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pypdf
import pytest

from desktop_agent import paths
from desktop_agent.adapters.child_process import script_python
from desktop_agent.adapters.sandbox.made_files import MadeFiles
from desktop_agent.adapters.sandbox.sandbox import Programs
from desktop_agent.core.workspace import OwnPlaces
from tests.adapters.sandbox.bench import (
    SHELL,
    Bench,
    command_environment,
    interpreter,
    make_repository,
)
from tests.adapters.sandbox.conftest import need_sandbox
from tests.engine.workspace.test_programs import first_on_the_path, put

AUTHOR = {
    f"GIT_{who}_{what}": "p@example.com"
    for who in ("AUTHOR", "COMMITTER")
    for what in ("NAME", "EMAIL")
}


@pytest.fixture
async def bench(tmp_path: Path, own_home: Path) -> AsyncIterator[Bench]:
    need_sandbox({})
    made = Bench(own_home)
    yield made
    await made.close()


def free(script: str, folder: Path) -> None:
    subprocess.run([*SHELL, script], cwd=folder, env=command_environment(), check=True)


async def test_git_finds_the_repository_around_the_folder_and_changes_nothing_there(
    bench: Bench,
) -> None:
    top = bench.folder / "project"
    make_repository(top)
    bench.work = top / "inner" / "most"
    bench.work.mkdir(parents=True)
    done = await bench.run("git log --oneline; cat ../../tracked; echo x > ../../tracked")
    assert "one" in done.output
    assert "Read-only file system" in done.output
    refused = await bench.run("echo x > f; git add f", git=True)
    assert "Read-only file system" in refused.output


async def test_a_home_that_is_a_repository_is_not_shown_for_that(bench: Bench) -> None:
    make_repository(bench.folder)
    done = await bench.run("git log; cat ../tracked")
    assert "not a git repository" in done.output
    assert "No such file" in done.output


async def test_a_linked_work_tree_commits_into_its_repository_and_not_into_its_settings(
    bench: Bench,
) -> None:
    main = bench.folder / "main"
    make_repository(main)
    bench.work = bench.folder / "tree"
    free("git worktree add -q ../tree", main)
    looked = await bench.run("git log --oneline; echo x >> tracked; git commit -qam two")
    assert "one" in looked.output
    assert "Read-only file system" in looked.output
    done = await bench.run("git commit -qam two && git log --oneline", git=True)
    assert "two" in done.output
    assert done.lines == ()
    refused = await bench.run(
        f"git config x.y z; echo x > {main}/.git/hooks/h; echo x > {main}/tracked;"
        f" echo x > {main}/.git/worktrees/tree/commondir",
        git=True,
    )
    assert refused.output.count("main/.git/") == 3  # what it writes beside is not the person's
    assert (main / "tracked").read_text() == "one\n"


async def test_a_pointer_that_its_repository_does_not_confirm_opens_nothing(bench: Bench) -> None:
    other = bench.folder / "other"
    make_repository(other)
    (bench.work / ".git").write_text(f"gitdir: {other}/.git\n")
    done = await bench.run(f"ls {other}; git log", git=True)
    assert "one" not in done.output
    (bench.work / ".git").unlink()
    (bench.work / ".git").symlink_to(other / ".git")
    done = await bench.run(f"ls {other}; git log", git=True)
    assert "one" not in done.output


async def test_a_hostile_environment_file_shows_no_other_folder(bench: Bench) -> None:
    secret = bench.folder / "secret"
    (secret / "bin").mkdir(parents=True)
    (secret / "bin" / "python3").write_text("SECRET")
    (bench.work / ".venv").mkdir()
    (bench.work / ".venv" / "pyvenv.cfg").write_text(f"home = {secret}/bin\n")
    assert "SECRET" not in (await bench.run(f"cat {secret}/bin/python3")).output


async def test_settings_that_name_a_hidden_folder_do_not_show_it(bench: Bench) -> None:
    secret = bench.folder / ".ssh"
    secret.mkdir()
    (secret / "key").write_text("SECRET")
    make_repository(bench.work)
    free(f"git config core.hooksPath {secret}; ln -s {secret} hooks", bench.work)
    done = await bench.run(f"cat {secret}/key hooks/key", git=True)
    assert "SECRET" not in done.output
    free("git config core.hooksPath hooks; git config include.path ../../.ssh/key", bench.work)
    assert "SECRET" not in (await bench.run(f"cat {secret}/key hooks/key", git=True)).output
    free("git config core.hooksPath .; git config --unset include.path", bench.work)
    assert (await bench.run("echo x > still-writable")).code == 0


async def test_a_home_that_is_worked_in_keeps_its_secrets(bench: Bench) -> None:
    (bench.folder / ".ssh").mkdir()
    (bench.folder / ".ssh" / "key").write_text("SECRET")
    (bench.folder / ".netrc").write_text("SECRET")
    (bench.folder / ".bashrc").write_text("")
    work, bench.work = bench.work, bench.folder
    done = await bench.run("cat .ssh/key .netrc; echo x > .bashrc; echo x > mine && echo made")
    assert "SECRET" not in done.output
    assert "Read-only file system" in done.output
    assert "made" in done.output
    assert not (bench.folder / ".cache").exists()
    bench.work = work


async def test_the_folder_may_lie_in_a_place_that_is_hidden(bench: Bench) -> None:
    bench.work = bench.folder / "deep" / "er"
    bench.work.mkdir(parents=True)
    (bench.folder / "deep" / "secret").write_text("SECRET")
    done = await bench.run("ls -a ..; echo x > made && cat made")
    assert "secret" not in done.output
    assert (bench.work / "made").read_text() == "x\n"


async def test_a_link_left_in_the_temporary_folder_leads_no_mount_elsewhere(bench: Bench) -> None:
    victim = bench.folder / "victim"
    victim.mkdir()
    place = Path(bench.sandbox.temporary_folder(bench.session))
    await bench.run("true")
    top = bench.work.parts[2] if bench.work.parts[1] == "tmp" else ""
    if not top:
        pytest.skip("the tests' folder is not in /tmp")
    subprocess.run(["rm", "-rf", str(place / top)], check=True)
    (place / top).symlink_to(victim)
    done = await bench.run("true")
    assert not done.has_started
    assert list(victim.iterdir()) == []


async def test_protected_files_of_what_was_installed_are_not_in_its_way(bench: Bench) -> None:
    package = bench.work / "node_modules" / "a" / ".vscode"
    package.mkdir(parents=True)
    (bench.work / "AGENTS.md").write_text("")
    done = await bench.run("rm -rf node_modules; rm AGENTS.md")
    assert not (bench.work / "node_modules").exists()
    assert "AGENTS.md" in done.output


async def test_a_repository_made_or_moved_meanwhile_is_seen_by_the_next_command(
    bench: Bench,
) -> None:
    await bench.run("true")
    make_repository(bench.work / "a" / "b")
    refused = await bench.run("echo x > a/b/.git/config")
    assert "Read-only file system" in refused.output
    (bench.work / "a").rename(bench.work / "c")
    refused = await bench.run("echo x > c/b/.git/config")
    assert "Read-only file system" in refused.output


async def test_a_folder_is_moved_with_what_would_run_in_it_and_made_anew_without(
    bench: Bench,
) -> None:
    for name in ("a/.envrc", "a/.vscode/tasks.json"):
        (bench.work / name).parent.mkdir(parents=True, exist_ok=True)
        (bench.work / name).write_text("good")
    script = (
        "mv a b; mkdir -p a/.vscode; for f in .envrc .vscode/tasks.json; do echo bad > a/$f; done"
    )
    lines = (await bench.run(script)).lines
    assert len(lines) == 2
    for name in (".envrc", ".vscode/tasks.json"):
        assert not (bench.work / "a" / name).exists()
        assert (bench.work / "b" / name).read_text() == "good"


@pytest.mark.parametrize("git", [False, True])
async def test_a_repository_is_moved_with_its_settings_and_hooks(
    bench: Bench, *, git: bool
) -> None:
    make_repository(bench.work / "a" / "own")
    settings = bench.work / "a" / "own" / ".git" / "config"
    settings.write_text(settings.read_text() + "[alias]\n\tst = status\n")
    assert (await bench.run("mv a b", git=git)).lines == ()
    assert bench.free("git st --short", directory=bench.work / "b" / "own").output == ""
    assert (bench.work / "b" / "own" / ".git" / "hooks" / "post-commit").exists()
    added = (await bench.run("mv b c; echo x > c/own/.git/config.worktree", git=git)).lines
    assert len(added) == git
    assert not (bench.work / "c" / "own" / ".git" / "config.worktree").exists()


@pytest.mark.parametrize("is_renamed", [False, True])
async def test_a_socket_is_not_reached_by_a_name_that_the_system_does_not_list(
    bench: Bench, *, is_renamed: bool
) -> None:
    bound = f"{bench.work}/bound" if is_renamed else "other"
    lines = (
        "import os, socket, sys; server = socket.socket(socket.AF_UNIX)",
        f"server.bind({bound!r}); os.rename({bound!r}, 'other'); server.listen()",
        "print('ready', flush=True); sys.stdin.read()",
    )
    connect = "import socket; socket.socket(socket.AF_UNIX).connect('other'); print('connected')"
    with subprocess.Popen(
        [*interpreter(), "-c", "\n".join(lines)],
        cwd=bench.work,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        tried = await bench.run([*interpreter(), "-c", connect])
        control = bench.free([*interpreter(), "-c", connect])
        server.communicate()
    assert "ConnectionRefusedError" in tried.output
    assert control.output == "connected\n"


async def test_a_flood_of_files_does_not_leave_a_protected_one_open(bench: Bench) -> None:
    (bench.work / ".vscode").mkdir()
    (bench.work / ".vscode" / "tasks.json").write_text("{}")
    await bench.run("for i in $(seq 300); do : > a$i.pem; : > .$i.env; done")
    done = await bench.run("echo x > .vscode/tasks.json")
    assert "Read-only file system" in done.output


async def test_a_flood_of_folders_does_not_leave_a_repository_open(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desktop_agent.adapters.sandbox.folder_walk._MOST_FOLDERS", 50)
    make_repository(bench.work / "a" / "b" / "c")
    await bench.run("true")
    flood = await bench.run("mkdir $(seq 100)")
    assert "not all were searched" in " ".join(flood.lines)
    done = await bench.run("echo x > a/b/c/.git/config")
    assert "Read-only file system" in done.output


async def test_of_many_repositories_the_one_worked_in_is_opened(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("desktop_agent.adapters.sandbox.layout._MOST_OPENED", 1)
    for name in ("one", "two"):
        make_repository(bench.work / name)
    script = "for r in one two; do git -C ../$r commit -q --allow-empty -m x; done"
    done = await bench.run(script, git=True, directory=bench.work / "one")
    assert done.output.count("Read-only file system") == 1


async def test_programs_of_a_path_that_is_hidden_are_found(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tool = bench.folder / ".nvm" / "v1" / "bin" / "tool"
    tool.parent.mkdir(parents=True)
    (tool.parent.parent / "lib").write_text("library")
    tool.write_text('#!/bin/sh\ncat "${0%/bin/tool}/lib"\n')
    tool.chmod(0o755)
    link = tmp_path_factory.mktemp("multishell") / "current"
    link.symlink_to(tool.parent.parent)
    done = await bench.run("tool", more={"PATH": f"{link}/bin:/usr/bin:/bin"})
    assert done.output == "library"


async def test_a_folder_that_looks_like_a_repository_opens_nothing_in_it(bench: Bench) -> None:
    (bench.work / ".envrc").write_text("")
    make_repository(bench.work / "nested")
    await bench.run("mkdir objects refs; echo 'ref: refs/heads/main' > HEAD")
    done = await bench.run("echo x > .envrc; echo x > nested/.git/config", git=True)
    assert done.output.count("Read-only file system") == 2


async def test_a_clone_with_its_submodules_is_left_as_it_is(bench: Bench) -> None:
    allow = "git -c protocol.file.allow=always"
    make_repository(bench.work / "part")
    make_repository(bench.work / "whole")
    free(f"{allow} submodule --quiet add ../part inner; git commit -qm x", bench.work / "whole")
    clone = (
        f"{allow} clone -q --recurse-submodules whole copy; git -C whole worktree add -q ../tree"
    )
    done = await bench.run(clone, git=True)
    assert done.lines == ()
    assert (bench.work / "copy" / "inner" / "tracked").exists()
    assert (bench.work / "tree" / "tracked").exists()
    free("git status", bench.work / "copy" / "inner")


async def test_a_submodule_that_is_added_is_left_as_it_is_but_for_its_hooks(bench: Bench) -> None:
    make_repository(bench.work / "part")
    make_repository(bench.work / "whole")
    script = (
        "cd whole; git -c protocol.file.allow=always submodule --quiet add ../part inner;"
        " touch .git/modules/inner/hooks/pre-push; echo"
    )
    (line,) = (await bench.run(script, git=True)).lines
    assert "whole/.git/modules/inner/hooks/pre-push could" in line
    free("git status && git -C inner log", bench.work / "whole")


async def test_a_work_tree_of_a_bare_repository_is_left_as_it_is(bench: Bench) -> None:
    make_repository(bench.folder / "source")
    free(f"git clone -q --bare {bench.folder}/source .bare", bench.work)
    script = "git -C .bare worktree add -q ../tree; git -C tree commit -q --allow-empty -m two"
    done = await bench.run(f"{script}; git -C tree log --format=%s", git=True, more=AUTHOR)
    assert (done.output, done.lines) == ("two\none\n", ())
    assert "two" in bench.free("git log --format=%s", directory=bench.work / "tree").output


async def test_what_a_command_left_is_renamed_and_not_deleted(bench: Bench) -> None:
    make_repository(bench.work / "new")
    script = "git clone -q new two; echo '#!/bin/sh' > two/.git/hooks/pre-push"
    (line,) = (await bench.run(script, git=True)).lines
    kept = bench.work / "two" / ".git" / "hooks" / "pre-push.set-aside"
    assert kept.read_text() == "#!/bin/sh\n"
    assert "two/.git/hooks/pre-push" in line
    assert not kept.with_name("pre-push").exists()


async def test_pipes_and_floods_in_place_of_settings_hold_nothing_up(bench: Bench) -> None:
    for name in (".git/config", "nested/.git/config", ".venv/pyvenv.cfg", "linked/.git"):
        (bench.work / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(bench.work / name)
    assert (await bench.run("echo made", git=True)).output == "made\n"
    make_repository(bench.work / "other")
    script = (
        "mkdir -p new/.git; yes '# x' | head -c 9000000 > new/.git/config; mkfifo new/.git/hooks"
    )
    (line,) = (await bench.run(script)).lines
    assert "new/.git/config" in line


@pytest.mark.parametrize(
    "written",
    ["[core] hooksPath = mine", "[core]\nhooksPath = mine # ours", '[core]\nhooksPath="mine";'],
)
async def test_hooks_that_settings_name_are_kept_however_that_is_written(
    bench: Bench, written: str
) -> None:
    make_repository(bench.work)
    with (bench.work / ".git" / "config").open("a") as settings:
        settings.write(f"{written}\n")
    (line,) = (await bench.run("mkdir mine; echo x > mine/pre-push")).lines
    assert "mine could make git run a program" in line
    (bench.work / "mine").mkdir()
    refused = await bench.run("echo x > mine/pre-push")
    assert "Read-only file system" in refused.output


async def test_zero_bytes_in_settings_stop_no_command_and_hide_nothing_that_it_left(
    bench: Bench,
) -> None:
    make_repository(bench.work)
    settings = {
        ".venv/pyvenv.cfg": "home = /a\0b/bin\n",
        ".git/config": "[core]\n\thooksPath = a\0b\n",
        "tree/.git": "gitdir: ../shared\n",
        "shared/config": "[core]\n\tworktree = a\0b\n",
    }
    for name, text in settings.items():
        (bench.work / name).parent.mkdir(exist_ok=True)
        (bench.work / name).write_text(text)
    script = (
        "mkdir a b; printf 'gitdir: x\\0y\\n' > a/.git; git init -q b;"
        " printf 'x\\0y\\n' > b/.git/commondir; echo made"
    )
    done = await bench.run(script)
    assert done.output == "made\n"
    assert {line.split(" could ")[0] for line in done.lines} == {
        f"{bench.work}/{name}" for name in ("a/.git", "b/.git/commondir")
    }
    assert (await bench.run("echo fine")).output == "fine\n"


async def test_what_is_put_in_the_place_of_a_file_while_a_command_is_prepared_is_not_shown(
    bench: Bench,
) -> None:
    """Something in the background may wait for just that moment."""
    need_open_mounts()
    (bench.folder / "notes").write_text("SECRET")
    protected = bench.work / ".envrc"
    protected.write_text("")

    def replace() -> None:
        protected.unlink()
        protected.symlink_to("../notes")

    assert "SECRET" not in (await bench.run("cat .envrc ~/notes", meanwhile=replace)).output
    protected.unlink()
    protected.write_text("shown")
    assert (await bench.run("cat .envrc")).output == "shown"


async def test_a_folder_that_is_replaced_while_a_command_is_prepared_is_not_written_to(
    bench: Bench,
) -> None:
    need_open_mounts()
    beside = bench.folder / "other" / "b"
    beside.mkdir(parents=True)
    bench.work = bench.folder / "a" / "b"
    bench.work.mkdir(parents=True)

    def replace() -> None:
        bench.work.parent.rename(bench.folder / "away")
        bench.work.parent.symlink_to("other")

    await bench.run(f"echo new > {bench.work}/made", directory=Path("/"), meanwhile=replace)
    assert not list(beside.iterdir())


async def test_what_is_held_open_for_a_command_is_not_open_in_it(bench: Bench) -> None:
    (bench.work / ".envrc").write_text("")
    shown = await bench.run("readlink /proc/self/fd/* /proc/$$/fd/* /proc/1/fd/*")
    assert "/dev/null" in shown.output
    assert not [path for path in (str(bench.work), *bench.readable) if path in shown.output]


async def test_the_sandbox_is_not_made_with_programs_that_an_agent_has_put_in_the_way(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would run outside of it: an activated environment of the project is on the path."""
    mark = tmp_path / "mark"
    (bench.folder / ".gitconfig").write_text("[user]\n\tname = P\n")
    for name in ("cat", "git", "bwrap", "nsenter", "python3"):
        put(bench.work / ".venv" / "bin" / name, mark, then=f'exec /usr/bin/{name} "$@"')
    first_on_the_path(monkeypatch, bench.work / ".venv" / "bin")
    done = await bench.run("/usr/bin/git config user.name", more={"PATH": "/usr/bin:/bin"})
    assert done.output == "P\n"
    assert not mark.exists(), mark.read_text()


def test_settings_that_a_busy_machine_did_not_give_in_time_are_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else no command of the session could commit in the person's name."""
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = P\n")
    made, home = MadeFiles(tmp_path / "made"), str(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("desktop_agent.adapters.sandbox.made_files._GIT_S", -1.0)
        assert made.of(home, home) == {}
    (file,) = made.of(home, home).values()
    assert "P" in Path(file).read_text()


async def test_commands_do_not_change_the_app_where_it_is_installed_in_the_folder(
    bench: Bench,
) -> None:
    """In the environment of a project, that is: the change would run at the app's next start."""
    code = bench.work / ".venv" / "lib" / "code.py"
    code.parent.mkdir(parents=True)
    code.write_text("old")
    bench.own = OwnPlaces(program=(str(bench.work / ".venv"),))
    await bench.run("echo new > .venv/lib/code.py; touch .venv/lib/made; mv .venv v; echo x > made")
    assert [path.name for path in code.parent.iterdir()] == ["code.py"]
    assert code.read_text() == "old"
    assert (bench.work / "made").exists()


async def test_scripts_of_skills_run_with_the_apps_own_python_where_the_app_lies_in_a_home(
    bench: Bench,
) -> None:
    """As an app that a newcomer unpacked there: nothing else of the home is shown for that."""
    script = paths.builtin_skills() / "pdf" / "scripts" / "pdf.py"
    bench.readable = (str(script.parent),)
    home = Path(sys.prefix).parent
    pages = pypdf.PdfWriter()
    pages.add_blank_page(200, 200)
    pages.write(bench.work / "one.pdf")
    command = f"{shlex.join(script_python())} {script} info one.pdf; ls {home}"
    done = await bench.run(command, more={"HOME": str(home)})
    assert "pages: 1\n" in done.output
    assert "pyproject.toml" not in done.output


def need_open_mounts() -> None:
    if "--ro-bind-fd" not in Programs.find().options():
        pytest.skip("this bubblewrap mounts by path alone")
