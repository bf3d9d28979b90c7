"""1,000 sessions with 1 million messages: start, search, opening one, the file's size.

The file is made by the store itself and kept in the folder that HISTORY_FOLDER names, if any, so
that it is made once. Times are processor time of this thread: other work on the machine does not
count.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import MessageAdded
from desktop_agent.core.ids import AgentId, SessionId, new_message_id
from desktop_agent.core.messages import Message, Role, TextPart
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from tests.bench.report import report

_SESSIONS = 1000
_MESSAGES = 1000
_VOCABULARY = 30_000
_WORDS = 45
_CHINESE = "数据库测试文件错误修复网络连接用户界面设计文档搜索历史会话模型服务器配置安全更新"
# Words in every tenth message, in one of a thousand, in one message, of a prefix, a phrase,
# Chinese in the midst of a sentence, with an accent that was not typed, with signs, and nothing.
_QUERIES = {
    "common": "word3",
    "rare": "word29000",
    "once": "needle",
    "prefix": "wo",
    "phrase": "word5 word9",
    "chinese": "修复网络",
    "accent": "cafe",
    "signs": "c++",
    "nothing": "zzznothing",
    "nothing_chinese": "没有这个",
}


def _text(random_: random.Random, number: int) -> str:
    words = [f"word{int(random_.paretovariate(0.35)) % _VOCABULARY}" for _ in range(_WORDS)]
    if number % 50 == 0:
        start = random_.randrange(len(_CHINESE) - 8)
        words.append(_CHINESE[start : start + 8])
    if number % 1000 == 7:
        words.append("café in c++")
    return " ".join(words)


def _fill(store: SqliteStore) -> None:
    random_ = random.Random(7)
    for number in range(_SESSIONS):
        main = AgentId(f"ag_{number:08x}")
        info = SessionInfo(
            SessionId(f"se_{number:08x}"), main, f"Session {number}", Workspace("/tmp"), "demo",
            created_at=float(number), updated_at=float(number + 1),
        )  # fmt: skip
        events: list[MessageAdded] = []
        for place in range(_MESSAGES):
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


def _measure(folder: Path) -> None:
    path = folder / "sessions.db"
    if not path.exists():
        made = SqliteStore(path)
        started = time.thread_time()
        _fill(made)
        report("history_fill_s", time.thread_time() - started)
        made.close()
    report("history_file_mb", path.stat().st_size / 1e6)
    report("history_open_list", _cpu_ms(lambda: _open_and_list(path), 5))
    report("history_open_list_empty", _cpu_ms(lambda: _open_and_list(folder / "empty.db"), 5))
    store = SqliteStore(path)
    for name, query in _QUERIES.items():
        report(f"history_search_{name}", _cpu_ms(lambda q=query: store.search(q, 50), 3))
    session = SessionId(f"se_{500:08x}")
    report("history_page", _cpu_ms(lambda: store.page(session, None, 400), 5))
    report("history_load_agents", _cpu_ms(lambda: store.load_agents(session), 3))
    store.close()


def main() -> None:
    kept = os.environ.get("HISTORY_FOLDER")
    if kept:
        _measure(Path(kept))
        return
    with tempfile.TemporaryDirectory() as folder:
        _measure(Path(folder))


if __name__ == "__main__":
    main()
