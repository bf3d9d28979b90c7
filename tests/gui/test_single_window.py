"""Starting the app twice brings the open window to the front, with the folder asked for."""

import threading

import pytest

from desktop_agent.gui.single_window import SecondStarts, hand_over


@pytest.fixture
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("s") / "w"


def start_again(place, folder, results):
    results.append(hand_over(place, folder))


def test_a_second_start_hands_its_folder_over(qtbot, qapp, place):
    first = SecondStarts(place)
    results = []
    with qtbot.waitSignal(first.asked) as asked:
        other = threading.Thread(target=start_again, args=(place, "/tmp/büro", results))
        other.start()
    other.join(5)
    assert asked.args == ["/tmp/büro"]
    assert results == [True]
    first.close()


def test_the_first_start_finds_nobody(place):
    assert hand_over(place, "/tmp") is False


def test_a_window_that_was_killed_does_not_stop_the_next(qtbot, qapp, place):
    killed = SecondStarts(place)
    killed._line.close()  # what is left of a killed process: the file alone
    assert hand_over(place, "") is False
    fresh = SecondStarts(place)
    results = []
    with qtbot.waitSignal(fresh.asked):
        other = threading.Thread(target=start_again, args=(place, "", results))
        other.start()
    other.join(5)
    assert results == [True]
    fresh.close()
    assert hand_over(place, "") is False


def test_a_place_that_can_not_be_used_does_no_harm(qapp, tmp_path):
    place = tmp_path / "missing" / "folder" / "socket"
    SecondStarts(place).close()
    assert hand_over(place, "") is False
