"""Memory of processes, as the system counts it (Linux)."""

from __future__ import annotations

from pathlib import Path


def rss_mb(pid: int | str = "self") -> float:
    """Return the resident memory of one process."""
    return _status_mb(pid, "VmRSS:")


def pss_mb(pid: int | str = "self") -> float:
    """Return the resident memory, of what is shared with other processes its share alone."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def peak_rss_mb() -> float:
    """Return the most resident memory of this process since `forget_peak`."""
    return _status_mb("self", "VmHWM:")


def forget_peak() -> None:
    """Begin a new measurement of the peak."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _status_mb(pid: int | str, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return 0.0


def children(pid: int) -> list[int]:
    """Return the processes that `pid` started, and theirs."""
    direct: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if int(stat.rpartition(")")[2].split()[1]) == pid:
            direct.append(int(entry.name))
    return direct + [deeper for child in direct for deeper in children(child)]
