"""Copies of a folder by git, from a store of our own: the person's index, refs and files stay.

A snapshot holds what is not ignored, uncommitted work included. Git is never run with what a copy
says of itself: an agent worked there, and its `.git` may name programs to start.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from desktop_agent.core.changes import FarFile, FarState
from desktop_agent.core.pipes.no_window import NO_WINDOW
from desktop_agent.engine.permissions.file_rules import refuses
from desktop_agent.engine.workspace.programs import find_program

_SAFE = (
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false",
    "-c", "core.autocrlf=false", "-c", "gc.auto=0", "-c", "protocol.file.allow=always",
)  # fmt: skip
_ME = {
    "GIT_AUTHOR_NAME": "Desktop Agent", "GIT_AUTHOR_EMAIL": "",
    "GIT_COMMITTER_NAME": "Desktop Agent", "GIT_COMMITTER_EMAIL": "",
    # The same state of a folder is the same commit, whenever it is looked at.
    "GIT_AUTHOR_DATE": "1000000000 +0000", "GIT_COMMITTER_DATE": "1000000000 +0000",
}  # fmt: skip
_OWN = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT", "TEMP", "TMP")
_MOST_WORDS = 400
_LARGE = 50_000_000
# Of what was changed in a copy; a file that is larger than the first is not kept for an undo.
_LARGEST_SENT, _MOST_SENT = 16 << 20, 64 << 20
# Of a folder, packed: a frame of the stream takes little more.
MOST_PACKED = 240 << 20
MOST_PATCH = 160 << 20
_NO_OBJECT = b"0" * 40
_STAGED = ("ls-files", "--stage", "-z")
_PRIVATE = (
    ".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.keystore", "*.kdbx", "id_rsa*",
    "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
    "credentials", "credentials.json", "secrets.*", "service-account*.json",
)  # fmt: skip


class GitError(Exception):
    """Git can't do it; the text says what it says."""


class GitStore:
    """A bare repository that nobody else uses, with the snapshots of one folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Why a snapshot that was sent is not here, by commit.
        self._refused: dict[str, str] = {}

    def make(self, objects: Path | None = None) -> None:
        """Make it; objects that are in another repository already are not copied."""
        _run(("init", "--quiet", "--bare", str(self.path)), {}, self.path.parent)
        if objects is not None:
            (self.path / "objects/info/alternates").write_bytes(os.fsencode(objects) + b"\n")

    def snapshot(self, folder: Path, without: Iterable[str] = ()) -> str:
        """Keep the folder as it is now; return the commit. `without` are files in it, by `/`."""
        index = self.path / "index-of-folder"
        index.unlink(missing_ok=True)
        repository = repository_of(folder)
        if repository is not None and repository.is_top:
            # What is tracked is taken even if it is ignored; unchanged files need no reading.
            if repository.is_readable:
                repository.copy_index(index)
            else:
                self._take(_tracked_and_ignored(folder), folder, index)
        ignored = self._ignored_elsewhere(folder, index) if repository is not None else set[str]()
        tree = self._tree_of(folder, index, (*without, *ignored))
        commit = self._git("commit-tree", tree, "-m", "The folder as it was", own=_ME).strip()
        self._git("update-ref", _branch(commit), commit)
        return commit

    def copy(self, commit: str, folder: Path) -> None:
        """Lay a snapshot out as a repository of its own, which needs nothing of this one."""
        if commit in self._refused:
            raise GitError(f"the folder could not be taken there: {self._refused[commit]}")
        address, branch = self.path.resolve().as_uri(), _branch(commit).removeprefix("refs/heads/")
        clone = ("clone", "--quiet", "--no-tags", "--depth", "1", "--branch", branch, address)
        _run((*clone, str(folder)), {}, self.path.parent)
        _run(("remote", "remove", "origin"), {}, folder)

    def patch(self, commit: str, folder: Path) -> str:
        """Return what was changed in a copy since the snapshot, for `git apply`."""
        return self.between(commit, self.tree(commit, folder))

    def tree(self, commit: str, folder: Path) -> str:
        """Keep a copy as it is now, and what is as in the snapshot but once; return the tree."""
        if folder.is_symlink():
            raise GitError("the copy of the folder was replaced by a link")
        index = self.path / f"index-{folder.parent.name}-{folder.name}"
        self._git("read-tree", commit, own={"GIT_INDEX_FILE": str(index)})
        try:
            return self._tree_of(folder, index)
        finally:
            index.unlink(missing_ok=True)

    def checkpoint(self, base: str, before: str, folder: Path) -> str:
        """Keep a copy as it is now; return the commit, which follows `before`, or that itself.

        `base` is what it is a copy of.
        """
        if folder.is_symlink():
            raise GitError("the copy of the folder was replaced by a link")
        # Stays: what did not change since is not read again.
        index = self._steps_index(folder)
        index.with_name(f"{index.name}.lock").unlink(missing_ok=True)  # of a git that was killed
        if not index.exists():
            self._git("read-tree", base, own={"GIT_INDEX_FILE": str(index)})
        tree = self._tree_of(folder, index)
        if tree == self._git("rev-parse", f"{before}^{{tree}}").strip():
            return before
        made = ("commit-tree", tree, "-p", before, "-m", "The copy after a step")
        commit = self._git(*made, own=_ME).strip()
        self._git("update-ref", _branch(commit), commit)
        return commit

    def lay(self, base: str, commit: str, folder: Path) -> None:
        """Give a copy of one commit the files of another, as work that is not committed in it."""
        own = {"GIT_INDEX_FILE": str(self._steps_index(folder)), "GIT_WORK_TREE": str(folder)}
        self._git("read-tree", base, own=own)
        self._git("update-index", "-q", "--refresh", cwd=folder, own=own)
        self._git("read-tree", "-m", "-u", base, commit, cwd=folder, own=own)

    def forget(self, folder: Path) -> None:
        """Drop what was kept for checkpoints of a copy."""
        self._steps_index(folder).unlink(missing_ok=True)

    def between(self, commit: str, tree: str) -> str:
        """Return what turns a snapshot into a tree, for `git apply`."""
        shown = ("diff-tree", "-r", "-p", "--binary", "--full-index", "--no-ext-diff",
                 "--no-textconv", "--no-renames", commit, tree)  # fmt: skip
        everything = self.path / "as-bytes"
        everything.write_text("* -diff\n", encoding="ascii")
        # A name that is no text is quoted, and a text in another encoding stays as it is as bytes.
        quoted = ("-c", "core.quotePath=true")
        for more in ((), quoted, (*quoted, "-c", f"core.attributesFile={everything}")):
            found = self._run((*more, *shown))
            with contextlib.suppress(UnicodeDecodeError):
                return found.decode()
        return found.decode("utf-8", "replace")

    def files(self, commit: str, tree: str) -> tuple[FarFile, ...]:
        """Return each file that differs between a snapshot and a tree, with both its contents."""
        shown = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", commit, tree)
        said = self._run(shown).split(b"\0")
        changed = [
            (about[1:].split(), path) for about, path in zip(said[:-1:2], said[1::2], strict=True)
        ]
        # A repository in the folder is a commit, of which nothing is here.
        changed = [one for one in changed if b"160000" not in one[0][:2]]
        contents = self._contents({name for about, _ in changed for name in about[2:4]})
        return tuple(
            FarFile(path, _far(about[0], contents[about[2]]), _far(about[1], contents[about[3]]))
            for about, path in changed
        )

    def changed(
        self, commit: str, folder: Path
    ) -> tuple[str, tuple[FarFile, ...], tuple[str, ...]]:
        """Return what a copy changed in both forms, and the names of what is too much to be sent.

        Of those the patch has nothing: a frame of a stream takes no more.
        """
        tree = self.tree(commit, folder)
        files, patch = self.files(commit, tree), self.between(commit, tree)
        if len(patch) <= MOST_PATCH:
            return patch, files, ()
        large = [one.path for one in files if None in (one.before.content, one.after.content)]
        patch = self.between(commit, self._as_before(commit, tree, large))
        return patch, files, tuple(one.decode("utf-8", "replace") for one in large)

    def _as_before(self, commit: str, tree: str, paths: Iterable[bytes]) -> str:
        """Return a tree that has at these paths what a snapshot has."""
        index = {"GIT_INDEX_FILE": str(self.path / f"index-sent-{tree}")}
        entries = self._run(("ls-tree", "-r", "-z", commit)).split(b"\0")[:-1]
        before = {path: about for about, path in (one.split(b"\t", 1) for one in entries)}
        gone = b"0 " + _NO_OBJECT
        lines = [before.get(path, gone) + b"\t" + path + b"\0" for path in paths]
        try:
            self._git("read-tree", tree, own=index)
            self._run(("update-index", "-z", "--index-info"), index, given=b"".join(lines))
            return self._git("write-tree", own=index).strip()
        finally:
            Path(index["GIT_INDEX_FILE"]).unlink(missing_ok=True)

    def _contents(self, names: set[bytes]) -> dict[bytes, tuple[int, bytes | None]]:
        """Return sizes and bytes by object; without the bytes where it is too much."""
        found: dict[bytes, tuple[int, bytes | None]] = {_NO_OBJECT: (0, b"")}
        asked = sorted(names - {_NO_OBJECT})
        about = self._run(("cat-file", "--batch-check"), given=b"\n".join([*asked, b""]))
        wanted, left = list[bytes](), _MOST_SENT
        for name, _, size in (line.split() for line in about.splitlines()):
            is_sent = int(size) <= min(left, _LARGEST_SENT)
            left -= int(size) if is_sent else 0
            found[name] = int(size), None
            wanted += [name] if is_sent else []
        told = self._run(("cat-file", "--batch"), given=b"\n".join([*wanted, b""]))
        at = 0
        for name in wanted:
            size, at = found[name][0], told.index(b"\n", at) + 1
            found[name] = size, told[at : at + size]
            at += size + 1
        return found

    def bundle(self, commit: str, file: Path, after: str = "") -> None:
        """Write a snapshot into one file; with `after`, only what is not in that one.

        Raises GitError where it is more than a stream takes.
        """
        without = (f"^{after}",) if after else ()
        self._git("bundle", "create", "--quiet", str(file), _branch(commit), *without)
        if (size := file.stat().st_size) > MOST_PACKED:
            file.unlink()
            raise GitError(
                f"packed it is {size >> 20} MB, and {MOST_PACKED >> 20} MB at most are sent: "
                "have git ignore what is not needed there"
            )

    def take(self, commit: str, bundle: bytes) -> None:
        """Take a snapshot that was sent; what is in the way is said when it is to be copied."""
        file = self.path / "sent.bundle"
        try:
            file.write_bytes(bundle)
            self.unbundle(commit, file)
        except (GitError, OSError) as error:
            self._refused[commit] = str(error)
        finally:
            file.unlink(missing_ok=True)

    def unbundle(self, commit: str, file: Path) -> None:
        """Take a snapshot out of such a file; one that is damaged, or another's, is refused."""
        branch = _branch(commit)
        self._git("-c", "transfer.fsckObjects=true", "fetch", "--quiet", str(file),
                  f"{branch}:{branch}")  # fmt: skip
        if self._git("rev-parse", "--verify", branch).strip() != commit:
            raise GitError("the bundle holds another state of the folder")

    def has(self, commit: str) -> bool:
        """Whether a snapshot is here."""
        try:
            self._git("rev-parse", "--quiet", "--verify", f"{_branch(commit)}^{{commit}}")
        except GitError:
            return False
        return True

    def _take(self, names: Iterable[str], folder: Path, index: Path) -> None:
        own = {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(folder)}
        for name in names:
            if os.path.lexists(folder / name):
                self._git("add", "--force", "--", f":(top,literal){name}", cwd=folder, own=own)

    def _ignored_elsewhere(self, folder: Path, index: Path) -> set[str]:
        """Return what a person has git ignore by rules that are not in the folder."""
        # Of all the settings of a person, who may keep a file of such rules, only this is asked.
        by_all = {"GIT_CONFIG_GLOBAL": str(Path.home() / ".gitconfig")}
        by_its_own = {
            "GIT_DIR": str(self.path), "GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(folder)
        }  # fmt: skip
        return _ignored(folder, by_all) - _ignored(folder, by_its_own)

    def _steps_index(self, folder: Path) -> Path:
        return self.path / f"index-steps-{folder.parent.name}"

    def _tree_of(self, folder: Path, index: Path, without: Iterable[str] = ()) -> str:
        own = {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(folder)}
        excluded = [_all_but(name) for name in without]
        if excluded and index.exists():
            taken = [f":(top,literal){name}" for name in without]
            # By force: changed since it was staged, it is refused otherwise. The file stays.
            gone = ("rm", "-r", "-f", "--cached", "--quiet", "--ignore-unmatch", "--", *taken)
            self._git(*gone, cwd=folder, own=own)
        taken = ("add", "--all", "--", ".", *excluded)
        known = self._without_repositories(own)
        try:
            self._git(*taken, cwd=folder, own=own)
        except GitError:
            # One without a commit is refused; one with commits is taken as the name of the last.
            unborn = [_all_but(f"{name}/") for name in _repositories_in(folder)]
            if not unborn:
                raise
            self._git(*taken, *unborn, cwd=folder, own=own)
        self._with_repositories(known, folder, own)
        return self._git("write-tree", own=own).strip()

    def _without_repositories(self, own: Mapping[str, str]) -> dict[bytes, bytes]:
        """Take repositories in the folder out of an index; return what it said of each, by path.

        Of those it has git asks whether they are changed, by a git that goes by their settings;
        of new ones it only reads the last commit.
        """
        entries = (line.split(b"\t", 1) for line in self._run(_STAGED, own).split(b"\0")[:-1])
        known = {path: about for about, path in entries if about.startswith(b"160000 ")}
        gone = b"".join(b"0 " + _NO_OBJECT + b"\t" + path + b"\0" for path in known)
        if known:
            self._run(("update-index", "-z", "--index-info"), own, given=gone)
        return known

    def _with_repositories(
        self, known: Mapping[bytes, bytes], folder: Path, own: Mapping[str, str]
    ) -> None:
        """Put back those that were not taken anew: they are not checked out."""
        if not known:
            return
        taken = {line.split(b"\t", 1)[1] for line in self._run(_STAGED, own).split(b"\0")[:-1]}
        empty = [path for path in known if path not in taken and _is_folder(folder, path)]
        lines = b"".join(known[path] + b"\t" + path + b"\0" for path in empty)
        self._run(("update-index", "-z", "--index-info"), own, given=lines)

    def _git(
        self, *arguments: str, own: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> str:
        return self._run(arguments, own, cwd).decode("utf-8", "replace")

    def _run(
        self,
        arguments: Iterable[str],
        own: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        given: bytes = b"",
    ) -> bytes:
        where = {"GIT_DIR": str(self.path), **(own or {})}
        return _run(arguments, where, cwd or self.path.parent, given)


class Repository:
    """A person's repository, of which only what is asked here is read.

    `is_readable` is whether a store of ours can go by its index: not if it has other hashes, nor
    if it is a partial clone, where files that are not checked out have no objects.
    """

    def __init__(self, folder: Path, top: str, git_dir: str, objects: str, hashes: str) -> None:
        self.is_top = Path(top).resolve() == folder.resolve()
        self.index = Path(folder, git_dir, "index")
        found = Path(folder, objects).resolve()
        self.objects = None if hashes == "sha256" else found
        self.is_readable = self.objects is not None and not any(found.glob("pack/*.promisor"))

    def copy_index(self, to: Path) -> None:
        """Copy the index, if there is one, and what it shares with others.

        Its time is kept: git reads again what was changed in the second in which it was written.
        """
        if self.index.is_file():
            shutil.copy2(self.index, to)
            for shared in self.index.parent.glob("sharedindex.*"):
                shutil.copy2(shared, to.with_name(shared.name))


def repository_of(folder: Path) -> Repository | None:
    """Return the repository that a folder is in; None if it is in none."""
    asked = (
        "rev-parse",
        "--show-toplevel",
        "--git-dir",
        "--git-path",
        "objects",
        "--show-object-format",
    )
    try:
        found = _run(asked, {}, folder).decode("utf-8", "surrogateescape").splitlines()
    except GitError:
        return None
    return Repository(folder, *found) if len(found) == 4 else None


def _ignored(folder: Path, own: Mapping[str, str]) -> set[str]:
    """Return what git ignores in a folder; what is a folder itself ends with a slash."""
    asked = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
    found = _run(asked, own, folder).decode("utf-8", "surrogateescape").split("\0")
    # Where the whole folder is ignored by what is around it, nothing is said of what is in it.
    return set(found) - {"", "./"}


def _tracked_and_ignored(folder: Path) -> list[str]:
    asked = ("ls-files", "--cached", "--ignored", "--exclude-standard", "-z")
    return [name for name in os.fsdecode(_run(asked, {}, folder)).split("\0") if name]


def _all_but(name: str) -> str:
    """Return what has git take all but a file, or a folder if it ends with a slash.

    As a pattern: of a path that stands there as it is, and is ignored too, git complains.
    """
    escaped = re.sub(r"[*?\[\\]", r"\\\g<0>", name[1:])
    return f":(exclude,top,glob)\\{name[0]}{escaped}{'**' if name.endswith('/') else ''}"


def unsent(folder: Path, refused: Sequence[str] = ()) -> Iterator[Path]:
    """Yield the files that stay on this machine: those for keys, and large ones.

    And those that patterns of rules keep from being read; of them a link stays as well.
    """
    root = str(folder)
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = Path(place, name)
            is_private = any(fnmatch.fnmatch(name.casefold(), kind) for kind in _PRIVATE)
            if refused and not is_private:
                names_of = (str(path), os.path.realpath(path))
                is_private = any(refuses(pattern, names_of, root) for pattern in refused)
            with contextlib.suppress(OSError):
                if is_private or path.lstat().st_size > _LARGE:
                    yield path


def _repositories_in(folder: Path) -> Iterator[str]:
    """Yield the repositories below a folder, none within another."""
    for place, folders, names in os.walk(folder):
        if Path(place) != folder and ".git" in (*folders, *names):
            yield Path(place).relative_to(folder).as_posix()
            folders.clear()


def _is_folder(folder: Path, path: bytes) -> bool:
    place = folder / os.fsdecode(path)
    return place.is_dir() and not place.is_symlink()


def _branch(commit: str) -> str:
    return f"refs/heads/base-{commit}"


def _far(mode: bytes, content: tuple[int, bytes | None]) -> FarState:
    size, found = content
    if mode == b"000000":
        return FarState()
    kind = "link" if mode == b"120000" else "file"
    return FarState(kind, mode == b"100755", size, found)


def _run(arguments: Iterable[str], own: Mapping[str, str], cwd: Path, given: bytes = b"") -> bytes:
    if not cwd.is_dir():
        raise GitError(f"{cwd.name} is no folder any more")
    # Never what an agent has put in its place.
    if not (program := find_program("git")):
        raise GitError("git is not installed")
    kept = {name: os.environ[name] for name in _OWN if name in os.environ}
    quiet = {
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0", "GIT_LITERAL_PATHSPECS": "0", "LC_ALL": "C",
    }  # fmt: skip
    try:
        done = subprocess.run(
            [program, *_SAFE, *arguments],
            cwd=cwd,
            env={**kept, **quiet, **own},
            input=given,
            capture_output=True,
            check=False,
            creationflags=NO_WINDOW,
        )
    except FileNotFoundError:
        raise GitError("git is not installed") from None
    if done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise GitError(said[-_MOST_WORDS:] or f"git ended with {done.returncode}")
    return done.stdout
