"""All that was said is found again, with the line it stands in, also in scripts without spaces."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from desktop_agent.adapters.store import indexing, schema
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import MessageAdded
from desktop_agent.core.ids import AgentId, SessionId, new_message_id
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.sessions import SearchHit, SessionInfo
from desktop_agent.core.workspace import Workspace
from tests.helpers.stores import connection_of, write_as_version

MAIN = AgentId("ag_main")
VERSION_BEFORE = schema.MIGRATIONS.index(indexing.TABLES)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "sessions.db")) as store:
        yield store


def say(store: SqliteStore, session: str, *texts: str, agent: AgentId = MAIN) -> None:
    info = SessionInfo(SessionId(session), MAIN, session, Workspace("/tmp"), "demo")
    for text in texts:
        message = Message(new_message_id(), "user", (TextPart(text),))
        store.record(info.id, MessageAdded(agent, message), info=info)


def marked(hit: SearchHit) -> list[str]:
    return [hit.line[first:last] for first, last in hit.marks]


def test_a_hit_is_the_line_with_its_words_marked(store: SqliteStore) -> None:
    say(store, "se_1", "First line\nThe Naïve café is by the sea, and the cafe is open\nlast line")
    [hit] = store.search("cafe", 10).hits
    assert hit.line == "The Naïve café is by the sea, and the cafe is open"
    assert marked(hit) == ["café", "cafe"]
    assert (hit.agent_id, hit.seq) == (MAIN, 1)


def test_a_word_far_along_a_long_line_is_in_the_piece_that_is_shown(store: SqliteStore) -> None:
    say(store, "se_1", "filler " * 500 + "needle" + " filler" * 500)
    [hit] = store.search("needle", 10).hits
    assert marked(hit) == ["needle"]
    assert len(hit.line) < 200


@pytest.mark.parametrize("text", ["sea \udcff", "\ud800", "se\udcffa"])
def test_what_is_no_text_is_not_found(store: SqliteStore, text: str) -> None:
    say(store, "se_1", "the sea")
    assert store.search(text, 10).hits == ()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("the login is in main.py", "main.py login"),
        ("the sea,\nthe harbour", "sea, harbour"),
        ("हिन्दी और संस्कृत भाषा", "भाषा हिन्दी"),
    ],
)
def test_words_with_signs_may_stand_in_any_order_as_others_may(
    store: SqliteStore, said: str, words: str
) -> None:
    say(store, "se_1", said, "the main entry, py, the sea")
    [hit] = store.search(words, 10).hits
    assert sorted(marked(hit)) == sorted(one for one in words.split() if one in hit.line)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("l’école est fermée", "l'école"),
        ("don't", "don’t"),
        ("an open\u2011source licence", "open-source"),
        ("so “this” it is", '"this"'),
    ],
)
def test_signs_are_found_in_either_way_of_writing_them(
    store: SqliteStore, said: str, words: str
) -> None:
    say(store, "se_1", said)
    [hit] = store.search(words, 10).hits
    [mark] = marked(hit)
    assert mark in said


@pytest.mark.parametrize(
    ("with_marks", "typed"),
    [
        ("Łódź", "lodz"),
        ("Powiedział", "powiedzial"),
        ("smørrebrød", "smorrebrod"),
        ("Đorđe", "dorde"),
        ("Straße", "strasse"),
        ("ırmak", "irmak"),
    ],
)
def test_letters_that_have_no_mark_to_take_off_are_found_as_they_are_typed_without(
    store: SqliteStore, with_marks: str, typed: str
) -> None:
    say(store, f"{with_marks} 1", f"the way to {with_marks} is long")
    say(store, f"{typed} 2", f"the way to {typed} is long")
    for words in (with_marks, typed, typed.upper(), typed[:-1]):
        found = store.search(words, 10)
        assert [marked(hit)[0][:3] for hit in found.hits] == [typed[:3], with_marks[:3]]
        assert len(found.titles) == 2
    assert store.search(f"{typed} way", 10).hits
    assert store.search(typed[1:], 10).titles


@pytest.mark.parametrize("name", ["résumé.pdf", "한국어", "tiếng việt"])
def test_accents_are_found_in_either_form_of_unicode(store: SqliteStore, name: str) -> None:
    apart = unicodedata.normalize("NFD", name)
    say(store, "se_whole", f"the file {name} is here")
    say(store, "se_apart", f"the file {apart} is here")
    for words in (name, apart):
        found = store.search(words, 10).hits
        assert [hit.session_id for hit in found] == ["se_apart", "se_whole"]
        assert all(" ".join(marked(hit)) == name for hit in found)


@pytest.mark.parametrize(("title", "words"), [("호구 조사", "한국"), ("かぎの話", "かき")])
def test_letters_that_only_begin_alike_are_not_the_same(
    store: SqliteStore, title: str, words: str
) -> None:
    say(store, title, "something else")
    assert store.search(words, 10).titles == ()
    assert store.search(title[:2], 10).titles == (title,)


def test_a_subagents_words_are_found_as_its_own(store: SqliteStore) -> None:
    say(store, "se_1", "the harbour", agent=AgentId("sa_1"))
    assert [hit.agent_id for hit in store.search("harbour", 10).hits] == ["sa_1"]


def test_the_newest_come_first_and_one_session_does_not_push_out_the_others(
    store: SqliteStore,
) -> None:
    say(store, "se_old", "harbour one")
    say(store, "se_new", *(f"harbour {number}" for number in range(50)))
    found = [(hit.session_id, hit.line) for hit in store.search("harbour", 10).hits]
    assert found == [
        ("se_new", "harbour 49"),
        ("se_new", "harbour 48"),
        ("se_new", "harbour 47"),
        ("se_old", "harbour one"),
    ]


def test_what_else_is_said_in_a_session_comes_after_the_few_of_each(store: SqliteStore) -> None:
    say(store, "se_old", "harbour one")
    say(store, "se_new", *(f"harbour {number}" for number in range(6)))
    for words in ("harbour", "harb", "arbour"):
        found = store.search(words, 10)
        assert [hit.line for hit in found.more] == ["harbour 2", "harbour 1", "harbour 0"]
        assert not {hit.seq for hit in found.hits if hit.session_id == "se_new"} & {
            hit.seq for hit in found.more
        }
    assert len(store.search("harbour", 4).more) == 3


@pytest.mark.parametrize("words", ["harbour", "harb", "c++"])
def test_more_in_one_session_than_is_shown_of_it_is_told(store: SqliteStore, words: str) -> None:
    say(store, "se_1", "harbour of c", *("harbour in c++" for _ in range(3)))
    found = store.search(words, 10)
    assert (len(found.hits), found.is_complete) == (3, words == "c++")


def test_hidden_sessions_are_found_neither_by_title_nor_by_words(store: SqliteStore) -> None:
    say(store, "se_harbour", "the harbour")
    found = store.search("harbour", 10, [SessionId("se_harbour")])
    assert (found.titles, found.hits) == ((), ())


@pytest.mark.parametrize("words", ["网络", "修复网络连接", "络", "ネット", "한국", "修复 bug"])
def test_any_part_of_a_text_without_spaces_is_found(store: SqliteStore, words: str) -> None:
    say(store, "se_1", "请修复网络连接的 bug。ネットワーク 한국어입니다")
    say(store, "se_2", "请修理电脑, 网上有络")
    hits = store.search(words, 10).hits
    assert "se_1" in {hit.session_id for hit in hits}
    if words == "网络":
        assert [marked(hit) for hit in hits] == [["网络"]]


def test_texts_of_before_are_found_after_a_few_steps_in_the_background(tmp_path: Path) -> None:
    now, path = tmp_path / "now.db", tmp_path / "sessions.db"
    with closing(SqliteStore(now)) as store:
        say(store, "se_1", *("请修复网络连接" for _ in range(3)), "plain words")
        connection_of(store).execute(
            "UPDATE words SET text = replace(text, ' ', '') WHERE rowid < 4"
        )
    write_as_version(VERSION_BEFORE, path, now, ("session", "event", "words"))
    with closing(SqliteStore(path)) as store:
        assert store.search("plain", 10).indexed == 0
        assert len(store.search("plain", 10).hits) == 1
        while store.index_more():
            pass
        assert store.search("plain", 10).indexed == 1
        assert len(store.search("网络", 10).hits) == 3


def test_the_background_work_goes_in_small_steps(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "_ROWS", 2)
    say(store, "se_1", *("网络" for _ in range(5)))
    connection = connection_of(store)
    connection.execute("UPDATE indexing SET until = 5")
    shares: list[float] = []
    while store.index_more():
        shares.append(store.search("网络", 1).indexed)
    assert shares == [0.4, 0.8, 1.0]


def test_erased_words_leave_the_file(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with closing(SqliteStore(path)) as store:
        for number in range(300):
            say(store, "se_kept", f"word{number} stays")
            say(store, "se_gone", f"word{number} xylophone{number}")
        store.delete_session(SessionId("se_gone"))
        while store.index_more():
            pass
    assert b"ylophone" not in path.read_bytes()
