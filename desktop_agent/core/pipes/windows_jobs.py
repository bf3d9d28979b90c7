"""Windows: the job of each command, which holds all that comes out of it, orphans too.

The system ends what is in a job when the app is gone, whose handle was the only one.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from pathlib import PureWindowsPath

# winbase.h and winnt.h
SUSPENDED = 0x4 if sys.platform == "win32" else 0
_ALL_ACCESS, _PROCESS_IDS, _LIMITS, _END_ON_CLOSE = 0x1FFFFF, 3, 9, 0x2000
_SIZE_OF_LIMITS, _PLACE_OF_FLAGS = 144, 4
_MOST_IDS, _LONGEST_PATH, _ASK_LITTLE = 4096, 32_768, 0x1000
_END_S, _POLL_S = 1.5, 0.02
# The system starts it for each command, and ends it a moment after.
_CONSOLE = "conhost.exe"

_guard = threading.Lock()
_jobs: dict[str, ctypes.c_void_p] = {}  # by the marks of their commands


def adopt(mark: str, pid: int) -> None:
    """Put a process that was started `SUSPENDED` into a job of its own, and let it run."""
    assert sys.platform == "win32"
    kernel = ctypes.WinDLL("kernel32")
    kernel.CreateJobObjectW.restype = kernel.OpenProcess.restype = ctypes.c_void_p
    job = ctypes.c_void_p(kernel.CreateJobObjectW(None, None))
    process = ctypes.c_void_p(kernel.OpenProcess(_ALL_ACCESS, 0, pid))
    limits = (ctypes.c_uint32 * (_SIZE_OF_LIMITS // 4))()
    limits[_PLACE_OF_FLAGS] = _END_ON_CLOSE
    kernel.SetInformationJobObject(job, _LIMITS, limits, _SIZE_OF_LIMITS)
    if kernel.AssignProcessToJobObject(job, process):
        with _guard:
            _jobs[mark] = job
    else:
        kernel.CloseHandle(job)
    ctypes.WinDLL("ntdll").NtResumeProcess(process)
    kernel.CloseHandle(process)


def living(marks: str) -> tuple[int, ...]:
    """Return the processes of the commands whose marks begin so; lets go of what has none."""
    assert sys.platform == "win32"
    found: list[int] = []
    with _guard:
        for mark in [mark for mark in _jobs if mark.startswith(marks)]:
            if ids := _ids_in(_jobs[mark]):
                found += ids
            else:
                ctypes.WinDLL("kernel32").CloseHandle(_jobs.pop(mark))
    return tuple(found)


def end(marks: str) -> tuple[int, ...]:
    """End the processes of the commands whose marks begin so; return those still there."""
    assert sys.platform == "win32"
    with _guard:
        for mark, job in _jobs.items():
            if mark.startswith(marks):
                ctypes.WinDLL("kernel32").TerminateJobObject(job, 1)
    give_up_at = time.monotonic() + _END_S
    while (left := living(marks)) and time.monotonic() < give_up_at:
        time.sleep(_POLL_S)
    return left


def name_of(pid: int) -> str:
    """Return the name of a process's program; nothing when it is gone or may not be asked."""
    assert sys.platform == "win32"
    kernel = ctypes.WinDLL("kernel32")
    kernel.OpenProcess.restype = ctypes.c_void_p
    process = ctypes.c_void_p(kernel.OpenProcess(_ASK_LITTLE, 0, pid))
    text, room = ctypes.create_unicode_buffer(_LONGEST_PATH), ctypes.c_uint32(_LONGEST_PATH)
    kernel.QueryFullProcessImageNameW(process, 0, text, ctypes.byref(room))
    kernel.CloseHandle(process)
    return PureWindowsPath(text.value).name


def _ids_in(job: ctypes.c_void_p) -> list[int]:
    assert sys.platform == "win32"
    # Two counts of 32 bits, of those that there are and of those that are told; then their ids.
    told = (ctypes.c_size_t * (1 + _MOST_IDS))()
    size = ctypes.sizeof(told)
    ctypes.WinDLL("kernel32").QueryInformationJobObject(job, _PROCESS_IDS, told, size, None)
    ids = told[1 : 1 + (told[0] >> 32)]
    return [pid for pid in ids if name_of(pid).casefold() != _CONSOLE]
