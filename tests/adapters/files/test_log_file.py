"""A log that can be sent to a stranger."""

from __future__ import annotations

import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from desktop_agent.adapters.files import log_file
from desktop_agent.adapters.files.log_file import redact, start_logging

KEYS = [
    "sk-proj-" + "a1B2c3D4" * 6,
    "sk-ant-api03-" + "x" * 40 + "-AA",
    "sk-or-v1-" + "0f" * 32,
    "gsk_" + "Q" * 48,
    "xai-" + "z" * 60,
    "AIza" + "Sy" + "k" * 33,
    "hf_" + "m" * 34,
    "nvapi-" + "n" * 40,
    "ghp_" + "g" * 36,
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijk",
]


@pytest.fixture(autouse=True)
def quiet_root() -> Iterator[None]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    for added in set(root.handlers) - set(before):
        root.removeHandler(added)
        added.close()
    root.setLevel(level)


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_hidden_wherever_it_stands(key: str) -> None:
    for text in (key, f"failed with '{key}'.", f'{{"k": "{key}"}}', f"url?x={key}&y=1"):
        assert key not in redact(text)
        assert "[hidden]" in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdefghijkl.mnop",
        "authorization: basic dXNlcjpwYXNzd29yZA==",
        "{'x-api-key': 'abcdef-ghijkl'}",
        '"api_key": "abcdefghijkl"',
        "API_KEY=abcdefghijkl",
        "https://user:abcdefghijkl@example.com/",
        "GET https://example.com/v1?key=abcdefghijkl HTTP/1.1",
        "password = abcdefghijkl",
    ],
)
def test_what_is_named_a_secret_is_hidden(text: str) -> None:
    hidden = redact(text)
    assert "abcdef" not in hidden
    assert "dXNlcjpw" not in hidden


@pytest.mark.parametrize(
    "text",
    [
        "the task list has 3 keys",
        "read prices.csv in 0.3 s",
        "risk-assessment-for-the-new-building.md",
        "step 14 of se_0123456789abcdef took 812 tokens",
        "https://example.com/a?page=2",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


def test_keys_in_tracebacks_and_arguments_do_not_reach_the_file(tmp_path: Path) -> None:
    path = start_logging(tmp_path)
    try:
        raise ValueError(f"wrong key {KEYS[0]}")
    except ValueError:
        logging.getLogger("somewhere").exception("request with %s failed", KEYS[1])
    text = path.read_text()
    assert "ValueError: wrong key [hidden]" in text
    assert "request with [hidden] failed" in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_log_does_not_grow_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "_MAX_BYTES", 10_000)
    start_logging(tmp_path)
    for number in range(1000):
        logging.getLogger("busy").warning("line %d %s", number, "x" * 100)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 4
    assert all(file.stat().st_size <= 10_000 for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert "line 999" in files[0].read_text()


def test_starting_twice_writes_each_line_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    start_logging(tmp_path / "a")
    path = start_logging(tmp_path)
    logging.getLogger("once").warning("only once \udc80")
    assert path.read_text().count("only once") == 1


def test_addresses_of_requests_are_not_logged(tmp_path: Path) -> None:
    path = start_logging(tmp_path)
    logging.getLogger("httpx").info("HTTP Request: GET https://example.com")
    logging.getLogger("ours").info("started")
    assert "example.com" not in path.read_text()
    assert "started" in path.read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_log_on_a_full_disk_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    output = log_file.PrivateRotatingFile("/dev/full")
    logging.getLogger().addHandler(output)
    logging.getLogger("a").warning("this line has no room")
    logging.getLogger().removeHandler(output)
    assert capfd.readouterr().err == ""
    with pytest.raises(OSError, match="No space"):
        output.close()


def test_a_log_that_can_not_be_written_keeps_nobody_from_work(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    in_the_way = tmp_path / "logs"
    in_the_way.write_text("another's")
    (tmp_path / "more" / "desktop-agent.log").mkdir(parents=True)
    for folder in (in_the_way, tmp_path / "more", tmp_path / "new"):
        path = start_logging(folder)
        logging.getLogger("a").warning("said to nobody")
    assert "said to nobody" in path.read_text()
    assert capfd.readouterr().err == ""
    assert in_the_way.read_text() == "another's"
