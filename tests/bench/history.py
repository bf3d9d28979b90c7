"""1,000 sessions with 1 million messages: start, search, opening one, the file's size.

The file is made by the store itself and kept in the folder that HISTORY_FOLDER names, if any, so
that it is made once. Times are processor time of this thread: other work on the machine does not
count. Starts are told in wall time as well, with all of it and with nothing in turns.
"""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.compose import SESSIONS_FILE, compose
from desktop_agent.core.events import Event, MessageAdded, SessionOpened
from desktop_agent.core.ids import AgentId, SessionId, new_message_id
from desktop_agent.core.messages import Message, Role, TextPart
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from tests.bench.report import report

_SESSIONS = 1000
_MESSAGES = 1000
_LONG = 10_000
_STARTS = 11
_START = "from tests.bench.first_paint import main; main(tells_work=True)"
_VOCABULARY = 30_000
_WORDS = 45
_CHINESE = "数据库测试文件错误修复网络连接用户界面设计文档搜索历史会话模型服务器配置安全更新"
_SYLLABLES = [a + b for a in "bcdfghjklmnprstvwz" for b in "aeiou"]
# Of one to five syllables, the frequent ones short, as words are.
_WORD_LIST = [
    "".join(random.Random(number).choices(_SYLLABLES, k=1 + min(4, number.bit_length() // 3)))
    for number in range(_VOCABULARY)
]
# Words in every tenth message, in one of a thousand, in one message, of a prefix, a phrase,
# Chinese in the midst of a sentence, with an accent that was not typed, with signs, and nothing.
_QUERIES = {
    "common": _WORD_LIST[3],
    "rare": _WORD_LIST[29_000],
    "once": "needle",
    "prefix": "kal",
    "phrase": f"{_WORD_LIST[5]} {_WORD_LIST[9]}",
    "chinese": "修复网络",
    "chinese_two": "网络",
    "accent": "cafe",
    "signs": "c++",
    "nothing": "zzznothing",
    "nothing_chinese": "没有这个",
}


def _text(random_: random.Random, number: int) -> str:
    words = [_WORD_LIST[int(random_.paretovariate(0.35)) % _VOCABULARY] for _ in range(_WORDS)]
    if number % 50 == 0:
        start = random_.randrange(len(_CHINESE) - 8)
        words.append(_CHINESE[start : start + 8])
    if number % 1000 == 7:
        words.append("café in c++")
    return " ".join(words)


def _fill(store: SqliteStore) -> None:
    """Make the sessions, and a long one after them."""
    random_ = random.Random(7)
    for number in range(_SESSIONS + 1):
        main = AgentId(f"ag_{number:08x}")
        info = SessionInfo(
            SessionId(f"se_{number:08x}"), main, f"Session {number}", Workspace("/tmp"), "demo",
            created_at=float(number), updated_at=float(number + 1),
        )  # fmt: skip
        events: list[MessageAdded] = []
        for place in range(_MESSAGES if number < _SESSIONS else _LONG):
            text = _text(random_, place)
            if number == 500 and place == 500:
                text += " needle"
            role: Role = "assistant" if place % 2 else "user"
            events.append(MessageAdded(main, Message(new_message_id(), role, (TextPart(text),))))
        store.record(info.id, *events, info=info)


def _cpu_ms(action: Callable[[], object], count: int) -> float:
    taken: list[float] = []
    for _ in range(count):
        start = time.thread_time()
        action()
        taken.append(time.thread_time() - start)
    return statistics.median(taken) * 1000


def _open_and_list(path: Path) -> None:
    store = SqliteStore(path)
    store.sessions()
    store.close()


def _start(home: Path) -> list[float]:
    """Start the app; return time and work until its first paint, and until a session is open."""
    environment = {**os.environ, "DESKTOP_AGENT_HOME": tempfile.mkdtemp(dir=home.parent)}
    Path(environment["DESKTOP_AGENT_HOME"], "data").symlink_to(home / "data")
    command = [sys.executable, "-c", _START]
    begun = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        process.stdout.readline()
        told = [process.stdout.readline().split() for _ in range(2)]
        process.kill()
    taken = ((float(moment) - begun, float(work)) for moment, work in told)
    return [one * 1000 for pair in taken for one in pair]


def _measure_start(folder: Path) -> None:
    """Start with all of it and with nothing, in turns."""
    empty = folder / "empty" / "home"
    (empty / "data").mkdir(parents=True, exist_ok=True)
    _start(empty)
    pairs = [(_start(folder / "home"), _start(empty)) for _ in range(_STARTS)]
    for place, name in enumerate(("paint_wall", "paint", "opened_wall", "opened")):
        full, bare = (statistics.median(pair[of][place] for pair in pairs) for of in (0, 1))
        report(f"history_start_{name}", full, floor=bare)
        report(f"history_start_{name}_ratio", full / bare)


async def _open_long(home: Path) -> None:
    """Open the session of 10,000 messages in the engine."""
    heard: list[Event] = []
    backend = await compose(
        heard.append, data_dir=home / "data", config_dir=home / "config", is_warmed=False
    )
    session = SessionId(f"se_{_SESSIONS:08x}")
    started = time.thread_time()
    backend.engine.open_session(session)
    report("history_open_long", (time.thread_time() - started) * 1000)
    assert any(isinstance(one, SessionOpened) and one.info.id == session for one in heard)
    await backend.close()


def _measure(folder: Path) -> None:
    path = folder / "home" / "data" / SESSIONS_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        made = SqliteStore(path)
        started = time.thread_time()
        _fill(made)
        report("history_fill_s", time.thread_time() - started)
        made.close()
    report("history_file_mb", path.stat().st_size / 1e6)
    with closing(sqlite3.connect(path)) as raw:
        used = raw.execute("SELECT SUM(pgsize) FROM dbstat WHERE name LIKE 'words%'").fetchone()
        report("history_index_mb", used[0] / 1e6)
    report("history_open_list", _cpu_ms(lambda: _open_and_list(path), 5))
    report("history_open_list_empty", _cpu_ms(lambda: _open_and_list(folder / "empty.db"), 5))
    store = SqliteStore(path)
    for name, query in _QUERIES.items():
        report(f"history_search_{name}", _cpu_ms(lambda q=query: store.search(q, 100), 3))
    session = SessionId(f"se_{500:08x}")
    report("history_page", _cpu_ms(lambda: store.page(session, None, 400), 5))
    report("history_load_agents", _cpu_ms(lambda: store.load_agents(session), 3))
    store.close()
    asyncio.run(_open_long(folder / "home"))
    _measure_start(folder)


def main() -> None:
    kept = os.environ.get("HISTORY_FOLDER")
    if kept:
        _measure(Path(kept))
        return
    with tempfile.TemporaryDirectory() as folder:
        _measure(Path(folder))


if __name__ == "__main__":
    main()
