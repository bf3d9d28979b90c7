"""A whole job with nobody there, in mode free: clone, find the mistake, mend it, test, commit."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from desktop_agent.core.events import ApprovalRequested, Event, ToolEnded
from desktop_agent.headless.output import RunEnded
from tests.e2e import job
from tests.helpers.providers import Calls, LoopbackProvider, Received, Say, Step
from tests.test_headless import COMMAND

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")

REQUEST = "Fix the failing test"
LINE = msgspec.json.Decoder(Event | RunEnded)
_GIT = ("git", "-c", "user.name=Per", "-c", "user.email=per@example.com")


def shell(command: str, **more: object) -> Calls:
    return Calls(("shell", {"command": command, **more}))


def script(clones: bool) -> list[Step]:
    """Return the model's side; each step looks at what the one before it gave."""
    where = {"directory": "shop"} if clones else {}
    path = "shop/prices.py" if clones else "prices.py"

    def follows(words: str, step: Step) -> Step:
        def check(request: Received) -> Step:
            assert words in request.results[-1], request.results
            return step

        return check

    change = {"path": path, "old_string": job.WRONG, "new_string": job.RIGHT}
    commit = "git add -A && git commit -qm 'Add the tax' && git log --oneline"
    steps = [
        shell(job.COMMAND, changes=False, **where),
        follows("1 failed", Calls(("read", {"path": path}))),
        follows("return net", Calls(("edit", change))),
        follows("(+1 -1 lines)", shell(job.COMMAND, **where)),
        follows("1 passed", shell(commit, **where)),
        follows("Add the tax", Say(job.ANSWER)),
    ]
    return [shell("git clone -q origin.git shop"), *steps] if clones else steps


@pytest.fixture
def work(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a repository to clone, in whose only commit a test fails."""
    for name, value in job.surroundings().items():
        monkeypatch.setenv(name, value)
    (own_home / ".gitconfig").write_text("[user]\n\tname = Per\n\temail = per@example.com\n")
    work = tmp_path / "work"
    shop = job.make_folder(tmp_path)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Sell things")):
        subprocess.run([*_GIT, *words], cwd=shop, check=True)
    work.mkdir()
    origin = work / "origin.git"
    subprocess.run([*_GIT, "clone", "-q", "--bare", str(shop), str(origin)], check=True)
    return work


def everything(*folders: Path) -> dict[str, bytes | str]:
    """Return what lies in folders, by path; not what the app keeps for itself."""
    found: dict[str, bytes | str] = {}
    for folder in folders:
        for path in folder.rglob("*"):
            if "app" not in path.relative_to(folder).parts and not path.is_dir():
                found[str(path)] = str(path.readlink()) if path.is_symlink() else path.read_bytes()
    return found


def run(provider: LoopbackProvider, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    model = ("--model", provider.model, "--api-base", provider.api_base, "--mode", "free")
    words = [*COMMAND, REQUEST, "--workspace", str(folder), *model, *more]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def commits(folder: Path) -> int:
    counted = subprocess.run(
        [*_GIT, "rev-list", "--count", "HEAD"], cwd=folder, check=True, capture_output=True
    )
    return int(counted.stdout)


def need_sandbox(ended: subprocess.CompletedProcess[str]) -> None:
    if ended.returncode == 2:
        pytest.skip(ended.stderr)


def test_a_job_is_done_from_the_clone_to_the_commit_and_nobody_is_asked(
    work: Path, own_home: Path
) -> None:
    before = everything(own_home, work.parent / "shop", work / "origin.git")
    with LoopbackProvider("openai", script(clones=True)) as provider:
        ended = run(provider, work, "--sandbox", "on", "--output", "jsonl")
        calls = len(provider.requests)
    need_sandbox(ended)
    events = [LINE.decode(line) for line in ended.stdout.splitlines()]
    assert (ended.returncode, ended.stderr) == (0, "")
    assert events[-1].text == job.ANSWER
    # No host is asked about either: nothing was reached, or tried to be.
    assert not [event for event in events if isinstance(event, ApprovalRequested)]
    assert [e.outcome for e in events if isinstance(e, ToolEnded)] == ["ok"] * 6
    assert calls == 7
    assert job.is_fixed(work / "shop")
    assert (commits(work / "shop"), commits(work.parent / "shop")) == (2, 1)
    assert everything(own_home, work.parent / "shop", work / "origin.git") == before


def test_a_person_asks_for_the_failing_test_in_words_and_it_passes(work: Path) -> None:
    shop = work.parent / "shop"
    with LoopbackProvider("openai", script(clones=False)) as provider:
        ended = run(provider, shop, "--sandbox", "on")
    need_sandbox(ended)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.rstrip().endswith(job.ANSWER)
    assert (job.is_fixed(shop), commits(shop)) == (True, 2)
