"""Starting the app twice brings the open window to the front, with the folder asked for."""

import threading
from functools import partial

import pytest

from desktop_agent import paths
from desktop_agent.adapters.config import settings_file
from desktop_agent.app import _compose
from desktop_agent.gui.startup import single_instance
from desktop_agent.gui.startup.run import run_window
from desktop_agent.gui.startup.single_instance import Door, SecondStarts, be_first, hand_over
from tests.helpers.patience import HANG_S


@pytest.fixture(autouse=True)
def unhurried(monkeypatch):
    """Who asks and who answers share this machine with others: neither gives up."""
    monkeypatch.setattr(single_instance, "_TIMEOUT_S", None)


@pytest.fixture
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("s") / "w"


@pytest.fixture(params=[True, False], ids=["file", "port"])
def has_files(request):
    """Sockets that are files, or ports: what Windows has."""
    return request.param


def start_again(place, folder, results, has_files):
    results.append(hand_over(place, folder, has_files=has_files))


def first_start(place, has_files=True):
    door = be_first(place, "", has_files=has_files)
    assert door is not None
    return SecondStarts(door)


def test_a_second_start_hands_its_folder_over(qtbot, qapp, place, has_files):
    first = first_start(place, has_files)
    results = []
    with qtbot.waitSignal(first.asked) as asked:
        other = threading.Thread(target=start_again, args=(place, "/tmp/büro", results, has_files))
        other.start()
    other.join(HANG_S)
    assert asked.args == ["/tmp/büro"]
    assert results == [True]
    first.close()


def test_a_second_start_waits_for_a_window_that_is_only_being_made(qtbot, qapp, place, has_files):
    door = be_first(place, "", has_files=has_files)
    assert door is not None
    results = []
    other = threading.Thread(
        target=lambda: results.append(be_first(place, "/tmp/büro", has_files=has_files))
    )
    other.start()
    first = SecondStarts(door)  # as the window is painted
    qtbot.waitSignal(first.asked).wait()
    other.join(HANG_S)
    assert results == [None]
    first.close()


def test_a_second_start_leaves_damaged_settings_to_the_window_that_can_tell_of_them(
    qtbot, own_home
):
    settings = paths.config_dir() / "settings.json"
    settings.write_text("{")
    door = be_first(paths.config_dir() / "window.socket", "")
    assert door is not None
    first = SecondStarts(door)
    results = []

    def start_window():
        said = []
        load = partial(settings_file.load, settings, said.append)
        results.append(run_window(_compose, load, "", lambda: None, said))

    with qtbot.waitSignal(first.asked):
        other = threading.Thread(target=start_window)
        other.start()
    other.join(HANG_S)
    first.close()
    assert results == [0]
    assert settings.read_text() == "{"


def test_the_first_start_finds_nobody(place, has_files):
    assert hand_over(place, "/tmp", has_files=has_files) is False


@pytest.mark.parametrize("left", ["", "x", "70000 word", "1 word", "é"])
def test_a_damaged_note_of_the_port_is_nobody(place, left):
    place.write_text(left)
    assert hand_over(place, "/tmp", has_files=False) is False


def test_another_program_can_not_hand_a_folder_over_through_the_port(qtbot, qapp, place):
    first = first_start(place, has_files=False)
    port = place.read_text().split()[0]
    place.write_text(f"{port} guessed")
    results, asked = [], []
    first.asked.connect(asked.append)
    other = threading.Thread(target=start_again, args=(place, "/tmp", results, False))
    other.start()
    qtbot.waitUntil(lambda: bool(results))
    other.join(HANG_S)
    assert results == [False]
    assert asked == []
    first.close()


def test_a_window_that_was_killed_does_not_stop_the_next(qtbot, qapp, place, has_files):
    killed = Door(place, has_files=has_files)
    assert killed.line is not None
    killed.line.close()  # what is left of a killed process: the file alone
    assert hand_over(place, "", has_files=has_files) is False
    fresh = first_start(place, has_files)
    results = []
    with qtbot.waitSignal(fresh.asked):
        other = threading.Thread(target=start_again, args=(place, "", results, has_files))
        other.start()
    other.join(HANG_S)
    assert results == [True]
    fresh.close()
    assert hand_over(place, "", has_files=has_files) is False


def test_a_window_that_ends_late_leaves_the_next_one_where_it_is_found(qtbot, qapp, place):
    late = first_start(place)
    place.unlink()  # it did not answer in time
    first = first_start(place)
    late.close()
    results = []
    other = threading.Thread(target=start_again, args=(place, "", results, True))
    other.start()
    qtbot.waitSignal(first.asked).wait()
    other.join(HANG_S)
    assert results == [True]
    first.close()
    assert not place.exists()


def test_a_place_that_can_not_be_used_does_no_harm(qapp, tmp_path):
    place = tmp_path / "missing" / "folder" / "socket"
    first_start(place).close()
    assert hand_over(place, "") is False
