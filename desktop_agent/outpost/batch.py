"""`desktop-agent batch`: many jobs, resumable, each in a copy of its folder."""

from __future__ import annotations

import asyncio
import hashlib
import platform
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from desktop_agent import paths
from desktop_agent.adapters.files.file_lock import FileLock, StoreLocked
from desktop_agent.adapters.files.log_file import start_logging
from desktop_agent.adapters.files.temporary_folder import temporary_folder
from desktop_agent.adapters.places.git_copy import GitError, GitStore, repository_of, unsent
from desktop_agent.compose import RUNS_FOLDER
from desktop_agent.core.prose.markdown import listed
from desktop_agent.core.usage import Usage
from desktop_agent.engine.base.places import PlaceLost
from desktop_agent.engine.base.ports import StoreError
from desktop_agent.engine.permissions.file_rules import unreadable_by
from desktop_agent.headless.arguments import UsageError
from desktop_agent.headless.command_line import (
    INTERRUPTED,
    Refused,
    carry_out,
    listen_for_signals,
)
from desktop_agent.headless.output import one_line
from desktop_agent.headless.run import NoSandbox
from desktop_agent.outpost import table
from desktop_agent.outpost.arguments import BatchOptions, parse
from desktop_agent.outpost.jobs import Job, Needs, read_jobs
from desktop_agent.outpost.link import FarPlace
from desktop_agent.outpost.places import Place, ThisComputer, refusals
from desktop_agent.outpost.results import CUT, Result, ResultsFile
from desktop_agent.outpost.runner import Ended

_NAMED = 5
_FOLDER = "desktop-agent-batch-"


class Ready(msgspec.Struct, frozen=True):
    """A job with what names its result, and the snapshot that it starts from."""

    key: str
    job: Job
    store: GitStore
    commit: str


def main(argv: Sequence[str]) -> int:
    """Do what the arguments behind `batch` say; return the exit code."""
    failures = (GitError, PlaceLost, StoreLocked, StoreError, OSError)
    return carry_out("batch", lambda: _work(argv), failures)


def _work(argv: Sequence[str]) -> int:
    options = parse(argv)
    jobs = read_jobs(options.jobs, options.defaults)
    if any(job.needs != Needs() for job in jobs) and not (options.on and options.on.has_ray):
        raise UsageError("“needs” are for a Ray cluster: --on ssh:HEAD+ray")
    start_logging(paths.log_dir(), name="desktop-agent-batch")
    return _locked(options, jobs)


def _locked(options: BatchOptions, jobs: Sequence[Job]) -> int:
    runs = paths.data_dir() / RUNS_FOLDER
    runs.mkdir(mode=0o700, exist_ok=True)
    try:
        lock = FileLock(runs / f"{_name_of(options.out)}.lock")
    except StoreLocked:
        raise Refused("another batch is adding to this file of results.") from None
    try:
        # Not before: half a line is cut, and another may be writing the rest of it.
        with ResultsFile(options.out) as results, temporary_folder(_FOLDER) as folder:
            ready = _snapshots(jobs, options, folder)
            with asyncio.Runner() as runner:
                code = runner.run(_Batch(options, results, ready).run(folder))
            ended = [results.known[one.key] for one in ready if one.key in results.known]
    finally:
        lock.release()
    _show(options, ended, len(ready))
    return code


def _name_of(out: Path) -> str:
    """Return what names the batch, here and at a place where others have theirs."""
    said = f"{platform.node()}\n{out}"
    return f"batch-{hashlib.sha256(said.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"


def _snapshots(jobs: Sequence[Job], options: BatchOptions, folder: Path) -> list[Ready]:
    """Keep each folder as it is now, once; a job that is there twice runs twice."""
    stores: dict[str, tuple[GitStore, str]] = {}
    seen: Counter[str] = Counter()
    ready: list[Ready] = []
    for job in jobs:
        if job.workspace not in stores:
            stores[job.workspace] = _snapshot(job, options, folder / f"store-{len(stores)}")
        store, commit = stores[job.workspace]
        key = job.key(commit)
        seen[key] += 1
        ready.append(Ready(job.key(commit, seen[key] - 1), job, store, commit))
    return ready


def _snapshot(job: Job, options: BatchOptions, path: Path) -> tuple[GitStore, str]:
    folder, store = Path(job.workspace), GitStore(path)
    repository = repository_of(folder)
    store.make(repository.objects if repository is not None else None)
    # What the batch itself writes is not a change of the folder.
    own = (options.jobs.resolve(), options.out, options.html)
    inside = [file for file in own if file is not None and file.is_relative_to(folder)]
    names = [file.relative_to(folder).as_posix() for file in inside]
    try:
        return store, store.snapshot(folder, [*names, *_leaves_out(options, folder)])
    except GitError as error:
        raise GitError(f"{folder} can't be copied: {error}") from None


def _leaves_out(options: BatchOptions, folder: Path) -> list[str]:
    """Return what of a folder never goes to another machine; say which files those are."""
    if options.on is None:
        return []
    refused = unreadable_by(refusals(str(folder), is_elsewhere=True))
    left = sorted(path.relative_to(folder).as_posix() for path in unsent(folder, refused))
    if left:
        shown = listed([one_line(name, 80) for name in left], _NAMED)
        print(f"Not sent, for rules, keys in them, or their size: {shown}.", file=sys.stderr)
    return left


class _Batch:
    """One go through the jobs that have no result yet."""

    def __init__(self, options: BatchOptions, results: ResultsFile, ready: list[Ready]) -> None:
        self._options = options
        self._results = results
        self._ready = ready
        self._mine = {one.key for one in ready}
        before = [one for key, one in results.known.items() if key.removesuffix(CUT) in self._mine]
        self._usage = sum((one.usage for one in before), Usage())
        self._lacks_cost = any(map(table.lacks_cost, before))
        self._running = 0
        self._is_interrupted = self._is_spent = False
        self._place: Place | None = None
        self._failure: Exception | None = None

    async def run(self, folder: Path) -> int:
        """Run them; return the exit code."""
        left = [one for one in self._ready if one.key not in self._results.known]
        # What an earlier go spent counts: a job without a cent would end by that, for good.
        self._is_spent = bool(left) and self._is_at_limit
        if left and not self._is_spent:
            self._place = place = self._new_place(folder, [one.job for one in left])
            listen_for_signals(self._interrupt)
            try:
                await self._work(place, left)
            finally:
                await place.close()
        self._tell(is_last=True)
        if self._failure is not None:
            raise self._failure
        if self._is_interrupted:
            return INTERRUPTED
        known = self._results.known
        return int(any(k not in known or known[k].reason != "finished" for k in self._mine))

    def _new_place(self, folder: Path, jobs: list[Job]) -> Place:
        on = self._options.on
        if on is None:
            return ThisComputer(folder, self._used)
        return FarPlace(on, _name_of(self._options.out), jobs, self._used)

    async def _work(self, place: Place, left: list[Ready]) -> None:
        waiting = iter(left)

        async def one_after_the_other() -> None:
            for ready in waiting:
                if self._is_over:
                    return
                try:
                    await self._one(place, ready)
                except (PlaceLost, NoSandbox, StoreLocked, StoreError, OSError) as error:
                    self._failure = self._failure or error
                    place.stop()

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._options.at_most, len(left))):
                group.create_task(one_after_the_other())

    @property
    def _is_over(self) -> bool:
        return self._is_interrupted or self._is_spent or self._failure is not None

    @property
    def _is_at_limit(self) -> bool:
        most = self._options.max_cost
        return most is not None and self._cost >= most

    @property
    def _cost(self) -> float:
        return self._usage.cost or 0.0

    async def _one(self, place: Place, ready: Ready) -> None:
        self._running += 1
        self._tell()
        most = self._options.max_cost
        left = None if most is None else max(0.0, most - self._cost)
        try:
            ended, patch = await place.run(ready.key, ready.job, ready.store, ready.commit, left)
        except GitError as error:
            ended, patch = Ended("error", "", Usage(), 0.0, str(error)), ""
        finally:
            self._running -= 1
        job, key, usage = ready.job, ready.key, ended.usage
        # What was cut by all of it runs again the next time; what it has spent is spent.
        is_cut = self._is_over and ended.reason in ("interrupted", "budget")
        if is_cut:
            key, patch = key + CUT, ""
            cut_before = self._results.known.get(key)
            usage += cut_before.usage if cut_before else Usage()
        if not is_cut or ended.usage != Usage():
            self._results.add(
                Result(key, ended.reason, ended.text, usage, ended.seconds, patch,
                       place.name, job.prompt, job.workspace, ended.error)
            )  # fmt: skip
        place.kept(ready.key)
        self._tell()

    def _used(self, usage: Usage) -> None:
        self._usage += usage
        self._lacks_cost |= usage.cost is None
        if self._is_at_limit and not self._is_spent:
            self._is_spent = True
            if self._place is not None:
                self._place.stop()

    def _interrupt(self) -> None:
        self._is_interrupted = True
        if self._place is not None:
            self._place.stop()

    def _tell(self, *, is_last: bool = False) -> None:
        """Show one line of how it stands, in place; in a file or pipe only the last."""
        if not (sys.stderr.isatty() or is_last):
            return
        ended = [self._results.known[key] for key in self._mine & self._results.known.keys()]
        failed = sum(one.reason != "finished" for one in ended)
        words = f"{len(ended)} of {len(self._ready)} done · {self._running} running"
        words += f" · {failed} failed" if failed else ""
        words += f" · {table.money([self._usage.cost], lacks=self._lacks_cost)}"
        if is_last and self._is_spent:
            words += " · stopped: the limit of cost is reached"
        begin, end = ("\r\x1b[K", "\n" if is_last else "") if sys.stderr.isatty() else ("", "\n")
        print(f"{begin}{words}", end=end, file=sys.stderr, flush=True)


def _show(options: BatchOptions, ended: Sequence[Result], wanted: int) -> None:
    if options.html is not None:
        made = options.html.with_name(f".{options.html.name}.new")
        made.write_text(table.page(ended), encoding="utf-8")
        made.replace(options.html)
    if options.is_json:
        usage = sum((one.usage for one in ended), Usage())
        reasons = Counter(one.reason for one in ended)
        told = {
            "jobs": wanted,
            "results": len(ended),
            "reasons": reasons,
            "usage": {name: getattr(usage, name) for name in Usage.__struct_fields__},
        }
        print(msgspec.json.encode(told).decode())
    elif ended:
        print(table.text(ended))
