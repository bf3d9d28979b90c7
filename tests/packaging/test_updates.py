"""A newer version is asked for when the person wants it, and at no other time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import msgspec
import pytest
from PySide6.QtWidgets import QLabel, QWidget

from desktop_agent.adapters.config import settings_file, update_check
from desktop_agent.adapters.config.update_check import Source, UpdateCheck, find_source
from desktop_agent.compose import compose
from desktop_agent.core.settings import Settings
from desktop_agent.core.updates import UpdateAnswer, is_newer
from desktop_agent.gui.bridge.backend import Compose
from desktop_agent.gui.bridge.bridge import Bridge
from desktop_agent.gui.settings.dialog import SettingsDialog
from desktop_agent.gui.settings.rows import Switch
from desktop_agent.gui.startup.run import UpdateNotice
from desktop_agent.gui.window.app_windows import AppWindows
from desktop_agent.gui.window.main_window import MainWindow

PAGE = "https://example.invalid/releases"
WEEK = 7 * 24 * 3600


class Releases:
    """What announces versions: one answer, and who asked."""

    def __init__(self) -> None:
        self.status = 200
        self.body = b'{"tag_name": "v9.1.0", "name": "x", "html_url": "https://elsewhere.invalid"}'
        self.asked: list[dict[str, str]] = []
        self.address = ""


@pytest.fixture
def releases() -> Iterator[Releases]:
    with serving() as one:
        yield one


@contextmanager
def serving() -> Iterator[Releases]:
    one = Releases()

    class Request(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            one.asked.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(one.status)
            self.end_headers()
            self.wfile.write(one.body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Request)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    one.address = f"http://127.0.0.1:{server.server_port}/latest"
    try:
        yield one
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def check_of(place: Path, releases: Releases, **more) -> UpdateCheck:
    return UpdateCheck(place, Source(releases.address, PAGE), **more)


def test_a_newer_version_is_told_with_the_page_that_the_installer_was_built_with(
    tmp_path: Path, releases: Releases
) -> None:
    """Not the page that the answer names: who forges it must not choose where a person goes."""
    answer = asyncio.run(check_of(tmp_path, releases, version="0.1.0").check())
    assert answer == UpdateAnswer("9.1.0", PAGE)


@pytest.mark.parametrize("version", ["9.1.0", "9.2.0", "10.0.0"])
def test_the_newest_version_is_told_of_none(tmp_path: Path, releases: Releases, version) -> None:
    assert asyncio.run(check_of(tmp_path, releases, version=version).check()) == UpdateAnswer()


def test_nothing_about_the_person_is_told(tmp_path: Path, releases: Releases) -> None:
    asyncio.run(check_of(tmp_path, releases).check())
    (headers,) = releases.asked
    known = {"host", "accept", "accept-encoding", "connection", "user-agent"}
    assert set(headers) == known
    assert headers["user-agent"].startswith("desktop-agent/")


@pytest.mark.parametrize(
    ("status", "body"),
    [(500, b""), (302, b""), (200, b"<html>"), (200, b"{}"), (200, b"x" * 300_000)],
)
def test_a_strange_answer_is_one_sentence(tmp_path: Path, releases: Releases, status, body) -> None:
    releases.status, releases.body = status, body
    answer = asyncio.run(check_of(tmp_path, releases).check())
    assert answer.problem.endswith(".")
    assert not answer.newest


def test_where_nothing_answers_it_says_so(tmp_path: Path) -> None:
    with serving() as gone:
        address = gone.address
    answer = asyncio.run(UpdateCheck(tmp_path, Source(address)).check())
    assert "did not answer" in answer.problem


def test_a_proxy_that_can_not_be_used_is_no_answer_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    check = UpdateCheck(tmp_path, Source("https://releases.invalid/latest", PAGE))
    assert "did not answer" in asyncio.run(check.check()).problem


def test_once_a_week_is_once_a_week_over_restarts_and_a_clock_set_back(
    tmp_path: Path, releases: Releases
) -> None:
    def at(moment: float) -> UpdateAnswer:
        check = check_of(tmp_path, releases, version="0.1.0", now=lambda: moment)
        return asyncio.run(check.check_if_due())

    start = 1_800_000_000.0
    asked = [bool(at(start + after).newest) for after in (0, 60, WEEK - 1, WEEK, WEEK + 5, -WEEK)]
    assert asked == [True, False, False, True, False, True]


def test_a_checkout_knows_no_place_and_asks_nobody(tmp_path: Path) -> None:
    assert find_source(tmp_path / "releases.json") is None
    check = UpdateCheck(tmp_path, None)
    assert not asyncio.run(check.can_ask())
    assert asyncio.run(check.check()).problem
    assert asyncio.run(check.check_if_due()) == UpdateAnswer()


@pytest.mark.parametrize(
    ("address", "is_taken"),
    [
        ("https://example.invalid/latest", True),
        ("http://example.invalid/latest", False),
        ("file:///etc/passwd", False),
    ],
)
def test_only_an_address_that_nobody_can_listen_in_on_is_taken(
    tmp_path: Path, address, is_taken
) -> None:
    file = tmp_path / "releases.json"
    file.write_bytes(msgspec.json.encode({"address": address, "page": PAGE}))
    assert (find_source(file) is not None) is is_taken


def test_versions_are_compared_by_number() -> None:
    assert is_newer("0.10.0", "0.9.9")
    assert is_newer("v1.0", "0.9.9")
    assert not is_newer("0.9.9", "0.9.9")
    assert not is_newer("1.0rc1", "0.9.9")


def test_the_settings_offer_it_only_where_it_can_work_and_it_is_off_at_first(qtbot, theme) -> None:
    dialog = SettingsDialog(theme, Settings())
    qtbot.addWidget(dialog)
    dialog.open_page("about")
    button = dialog.findChild(QWidget, "checkUpdates")
    weekly = dialog.findChild(Switch, "weeklyUpdates")
    assert not button.isVisible()
    dialog.about.set_can_update(True)
    assert button.isVisible()
    assert not weekly.isChecked()
    with qtbot.waitSignal(dialog.settings_changed) as changed:
        weekly.click()
    assert changed.args[0].check_updates_weekly


@pytest.mark.parametrize(
    ("answer", "words", "has_page"),
    [
        (UpdateAnswer(), "You have the newest version.", False),
        (UpdateAnswer("9.1.0", PAGE), "Version 9.1.0 is there.", True),
        (UpdateAnswer(problem="It did not answer."), "It did not answer.", False),
    ],
)
def test_the_answer_stands_under_the_button(qtbot, theme, answer, words, has_page) -> None:
    dialog = SettingsDialog(theme, Settings())
    qtbot.addWidget(dialog)
    dialog.open_page("about")
    dialog.about.set_can_update(True)
    button = dialog.findChild(QWidget, "checkUpdates")
    with qtbot.waitSignal(dialog.about.update_check_requested):
        button.click()
    assert not button.isEnabled()
    dialog.about.set_update_answer(answer)
    assert button.isEnabled()
    assert dialog.findChild(QLabel, "updateAnswer").text() == words
    assert dialog.findChild(QWidget, "openUpdatePage").isVisible() is has_page


@pytest.mark.parametrize("is_allowed", [False, True])
def test_a_start_asks_only_when_the_person_has_allowed_it(
    qtbot, theme, run_on_window, tmp_path, monkeypatch, releases, is_allowed
) -> None:
    monkeypatch.setenv(update_check.VARIABLE, releases.address)
    settings = Settings(model="demo", check_updates_weekly=is_allowed)
    config = tmp_path / "config"
    config.mkdir()
    settings_file.save(config / "settings.json", settings)
    bridge = Bridge()
    windows = AppWindows(theme, bridge, settings, bridge)
    window = windows.open_first()
    qtbot.addWidget(window)
    UpdateNotice(windows, bridge)

    async def made(emit):
        return await compose(emit, data_dir=tmp_path, config_dir=config, is_warmed=False)

    try:
        run_on_window(_begin(window, bridge, made))
        words = window.findChild(QLabel, "noticeText").text()
        assert bool(releases.asked) is is_allowed
        assert ("9.1.0" in words) is is_allowed
    finally:
        run_on_window(window.queries.drain())
        bridge.close()


async def _begin(window: MainWindow, bridge: Bridge, made: Compose) -> None:
    started = asyncio.Event()
    bridge.started.connect(started.set)
    bridge.start(made)
    await started.wait()
    await asyncio.gather(*window.queries._jobs, return_exceptions=True)
