"""What a command leaves running is found without looking at every process of the computer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.tools.shell.new_processes import Moment, may_be_newer, moment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone numbers so")

_LIMIT = 1000


def given_out(first: int, count: int) -> list[int]:
    """The ids that the kernel gives out after `first`, beginning again at 300."""
    ids, last = [], first
    for _ in range(count):
        last = last + 1 if last + 1 < _LIMIT else 300
        ids.append(last)
    return ids


@given(st.integers(300, _LIMIT - 1), st.integers(1, 2 * _LIMIT))
def test_no_process_of_a_command_is_overlooked_when_the_ids_begin_again(last: int, count: int):
    ids = given_out(last, count)
    since, now = Moment(last, 50, _LIMIT), Moment(ids[-1], 50 + count, _LIMIT)
    assert all(may_be_newer(pid, since, now) for pid in ids)


@given(st.integers(300, _LIMIT - 1), st.integers(1, 600))
def test_old_processes_are_not_looked_at(last: int, count: int):
    ids = set(given_out(last, count))
    since, now = Moment(last, 50, _LIMIT), Moment(given_out(last, count)[-1], 50 + count, _LIMIT)
    old = [pid for pid in range(300, _LIMIT) if pid not in ids]
    assert not any(may_be_newer(pid, since, now) for pid in old)


def test_a_process_that_was_just_started_is_newer_and_this_one_is_not() -> None:
    before = moment()
    with subprocess.Popen(["/bin/sleep", "60"]) as child:
        try:
            now = moment()
            assert before is not None
            assert may_be_newer(child.pid, before, now)
            assert not may_be_newer(os.getpid(), before, now)
        finally:
            child.kill()


def test_where_the_moment_is_unknown_every_process_is_looked_at() -> None:
    assert may_be_newer(1, None, moment())
    assert may_be_newer(1, moment(), None)
