"""Pictures that a tool read or gave, or that the person attached, are seen, and open large."""

import os
import threading

import pytest
from PySide6.QtCore import QPoint, QPointF, QSize, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QGraphicsView, QLabel, QPushButton

from desktop_agent.core.events import MessageAdded, ToolEnded
from desktop_agent.core.messages import FilesDisplay, Message, TextPart, ToolResult
from desktop_agent.gui.kit.pictures import decoded, picture_size
from desktop_agent.gui.transcript.cards import pictures_card
from desktop_agent.gui.transcript.cards.pictures_card import PictureTile
from desktop_agent.gui.transcript.view.picture_viewer import PictureViewer, file_name
from tests.gui.changes.samples import CHILD, file, made, told, undo
from tests.gui.transcript.story import AGENT, begins, call, ends, opened, reads, runs, says
from tests.helpers import events as made_up
from tests.helpers.panels import open_page
from tests.helpers.pictures import SVG, bomb, encoded, moving_gif, picture

# Said of pictures that are damaged on purpose.
pytestmark = pytest.mark.qt_log_ignore(
    "JPEG", "libpng", "Rejecting image", "QGIFHandler", extend=True
)


def looks_at(number, *pictures, name="read"):
    one = call(number, name, path=pictures[0].name)
    shown = FilesDisplay((pictures[0].name,), "image, 1 kB")
    result = ToolResult(one.id, "an image", display=shown, images=pictures)
    return [says(f"p{number}", "", one), runs(one), ToolEnded(AGENT, result, "ok", 0.5)]


def attaches(*parts, text="What is this?"):
    said = (TextPart(text),) if text else ()
    return MessageAdded(AGENT, Message("me_u1", "user", (*said, *parts), sender="user"))


def tiles(view):
    return view.findChildren(PictureTile)


def spoken(view):
    return [tile.accessibleName() for tile in tiles(view)]


def see_all(view, qtbot):
    qtbot.waitUntil(lambda: tiles(view) and all(tile.is_loaded for tile in tiles(view)))


def open_large(view, qtbot, which=0):
    """Open a picture by its key, and wait for it."""
    tile = tiles(view)[which]
    tile.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(tile, Qt.Key.Key_Return)
    viewer = view.findChild(PictureViewer)
    qtbot.waitUntil(lambda: scale_of(viewer) != "")
    return viewer


def scale_of(viewer):
    return viewer.findChild(QLabel, "pictureScale").text()


def state_of(viewer):
    return viewer.findChild(QLabel, "pictureState").text()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_picture_that_a_tool_read_stands_below_its_line(view, qtbot, kind):
    open_page(view, opened(begins(), *looks_at(1, picture(kind)), ends()))
    see_all(view, qtbot)
    (name,) = spoken(view)
    assert name.startswith(f"chart.{kind.lower()}, 60 × 40 · ")
    kinds = [type(shown.row).__name__ for shown in view.page.rows]
    assert kinds == ["ActivityRow", "PicturesRow"]
    seen = tiles(view)[0].grab().toImage().pixelColor(20, 20)
    assert seen.red() > 240
    assert seen.green() < 20


def test_pictures_of_calls_in_a_row_stand_side_by_side(view, qtbot):
    page = [*looks_at(1, picture(name="a.png")), *reads(2), *looks_at(3, picture(name="b.png"))]
    open_page(view, opened(begins(), *page))
    see_all(view, qtbot)
    assert [name.split(",")[0] for name in spoken(view)] == ["a.png", "b.png"]
    first = tiles(view)[0]
    view.apply(looks_at(4, picture(name="c.png")))
    see_all(view, qtbot)
    assert [name.split(",")[0] for name in spoken(view)] == ["a.png", "b.png", "c.png"]
    assert tiles(view)[0] is first, "what is there already must not flicker"
    assert len({tile.y() for tile in tiles(view)}) == 1


def test_a_picture_of_any_other_tool_is_shown_too(view, qtbot):
    unnamed = picture(name="x")
    unnamed = type(unnamed)(unnamed.media_type, unnamed.data)
    open_page(view, opened(begins(), *looks_at(1, unnamed, name="camera_shot")))
    see_all(view, qtbot)
    assert spoken(view)[0].startswith("Picture 1, 60 × 40")


def test_an_attached_picture_stands_under_its_message_and_is_named_once(view, qtbot):
    open_page(view, opened(attaches(picture("JPEG", name="cat.jpeg"))))
    see_all(view, qtbot)
    assert spoken(view)[0].startswith("cat.jpeg, ")
    assert "With cat.jpeg" not in view.browser.toPlainText()
    left = tiles(view)[0].mapTo(view, QPoint(0, 0)).x()
    assert left > view.width() // 2, "it belongs to the words of the person, at their side"


def test_a_message_that_is_only_a_picture_says_so(view):
    open_page(view, opened(attaches(picture(name="cat.png"), text="")))
    assert "With cat.png" in view.browser.toPlainText()


def test_an_address_in_a_text_is_never_shown_as_a_picture(view, tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(encoded("PNG"))
    words = f"![look]({path.as_uri()}) ![again](https://example.org/a.png) {path}"
    open_page(view, opened(begins(), says(1, words), ends(), attaches(text=words)))
    assert tiles(view) == []


HOSTILE = {
    "a bomb": bomb(50_000),
    "a large bomb": bomb(8_000),
    "no pixels": bomb(0),
    "cut": encoded("PNG", (300, 200))[:-60],
    "cut within its header": encoded("PNG")[:20],
    "a JPEG without an end": encoded("JPEG")[:200],
    "a GIF with a huge screen": moving_gif((60_000, 60_000)),
    "another kind": SVG,
    "a bitmap": encoded("BMP"),
    "noise": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40,
    "nothing": b"\0",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_picture_is_named_and_does_no_harm(view, qtbot, name):
    data = HOSTILE[name]
    open_page(view, opened(begins(), *looks_at(1, picture(data=data)), ends()))
    qtbot.waitUntil(lambda: spoken(view) == ["chart.png, can't be shown"])
    tile = tiles(view)[0]
    tile.click()
    viewer = view.findChild(PictureViewer)
    qtbot.waitUntil(lambda: "can't be shown" in state_of(viewer))
    assert not tile.is_loaded


def test_what_is_too_large_is_not_decoded_at_all():
    assert picture_size(bomb(8_000)).isEmpty()
    assert decoded(bomb(8_000), QSize(10, 10)).isNull()
    assert picture_size(bomb(7_000)) == QSize(7_000, 7_000)


def test_a_picture_is_what_its_bytes_say_whatever_its_name(view, qtbot):
    disguised = picture("JPEG", name="page.html", data=encoded("WEBP"))
    open_page(view, opened(begins(), *looks_at(1, disguised)))
    see_all(view, qtbot)
    assert file_name(disguised) == "page.webp"


def test_of_a_moving_picture_the_first_frame_is_shown():
    for comments in (0, 4_000):
        data = moving_gif(comments=comments)
        assert picture_size(data) == QSize(10, 8)
        image = decoded(data, QSize(100, 100))
        assert image.size() == QSize(10, 8)
        assert image.pixelColor(0, 0) == QColor("red")


def test_the_size_of_a_large_picture_is_known_before_it_is_decoded(view, qtbot):
    open_page(view, opened(begins(), *looks_at(1, picture(size=(3_000, 1_000)))))
    room = [shown.height for shown in view.page.rows]
    see_all(view, qtbot)
    assert [shown.height for shown in view.page.rows] == room, "nothing jumps when it comes"
    assert tiles(view)[0].width() == 320


def test_pictures_are_decoded_beside_the_window(view, qtbot, monkeypatch):
    threads = []

    def noted(data, most):
        threads.append(threading.current_thread())
        return decoded(data, most)

    monkeypatch.setattr(pictures_card, "decoded", noted)
    open_page(view, opened(begins(), *looks_at(1, picture(), picture(name="b.png"))))
    see_all(view, qtbot)
    assert len(threads) == 2
    assert threading.main_thread() not in threads


def test_many_pictures_are_counted_and_the_others_a_key_away(view, qtbot):
    many = [picture(name=f"{number}.png") for number in range(30)]
    open_page(view, opened(begins(), *looks_at(1, *many)))
    assert len(tiles(view)) == 24
    more = view.findChild(QPushButton, "morePictures")
    assert more.text().strip() == "6 more"
    more.click()
    viewer = view.findChild(PictureViewer)
    assert viewer.windowTitle() == "24.png"


def test_a_large_view_zooms_by_keys_wheel_and_buttons(view, qtbot):
    open_page(view, opened(begins(), *looks_at(1, picture(size=(4_000, 500)))))
    viewer = open_large(view, qtbot)
    fitted = scale_of(viewer)
    assert 15 < int(fitted.split()[0]) < 30
    assert "4,000 × 500" in state_of(viewer)
    qtbot.keyClick(viewer, "1")
    assert scale_of(viewer) == "100 %"
    qtbot.keyClick(viewer, "+")
    assert scale_of(viewer) == "125 %"
    qtbot.keyClick(viewer, "-")
    qtbot.keyClick(viewer, "-")
    assert scale_of(viewer) == "80 %"
    qtbot.keyClick(viewer, "0")
    assert scale_of(viewer) == fitted
    viewer.findChild(QPushButton, "wholePicture").click()
    canvas = viewer.findChild(QGraphicsView)
    turn_wheel(canvas, 120)
    assert scale_of(viewer) == "125 %"
    for _ in range(40):
        turn_wheel(canvas, 1200)
    assert scale_of(viewer) == "1600 %"
    viewer.findChild(QPushButton, "fitPicture").click()
    viewer.resize(600, 400)
    qtbot.waitUntil(lambda: scale_of(viewer) not in ("", fitted))


def test_a_fitted_picture_finds_its_scale_at_once(view, qtbot):
    open_page(view, opened(begins(), *looks_at(1, picture(size=(1_237, 811)))))
    canvas = open_large(view, qtbot).findChild(QGraphicsView)
    scales = []
    canvas.zoomed.connect(scales.append)
    # Here scroll bars came for a rounded pixel, made less room, went, and so on.
    for width, high in ((339, 235), (327, 214), (147, 109)):
        scales.clear()
        canvas.resize(width, high)
        QApplication.processEvents()
        assert len(scales) <= 2


def turn_wheel(canvas, angle):
    at = QPointF(canvas.viewport().rect().center())
    none, steady = Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase
    over = canvas.viewport().mapToGlobal(at)
    buttons = Qt.MouseButton.NoButton
    turned = QWheelEvent(at, over, QPoint(), QPoint(0, angle), buttons, none, steady, False)
    QApplication.sendEvent(canvas.viewport(), turned)


def test_a_small_picture_is_not_blown_up_and_esc_closes_it(view, theme, qtbot):
    open_page(view, opened(begins(), *looks_at(1, picture())))
    viewer = open_large(view, qtbot)
    assert scale_of(viewer) == "100 %"
    with qtbot.waitSignal(viewer.destroyed):
        qtbot.keyClick(viewer, Qt.Key.Key_Escape)
    theme.configure("dark")
    theme.configure("light")
    see_all(view, qtbot)


def test_the_other_pictures_are_a_key_away(view, qtbot):
    open_page(view, opened(begins(), *looks_at(1, picture(name="a.png"), picture(name="b.png"))))
    viewer = open_large(view, qtbot, which=1)
    assert viewer.windowTitle() == "b.png"
    qtbot.keyClick(viewer, Qt.Key.Key_PageDown)
    assert viewer.windowTitle() == "a.png"
    qtbot.keyClick(viewer, Qt.Key.Key_PageUp)
    assert viewer.windowTitle() == "b.png"
    qtbot.waitUntil(lambda: scale_of(viewer) != "")


def test_a_copy_of_the_file_is_saved_whole(view, qtbot, tmp_path):
    shown = picture("JPEG", name="../../cat:1.png")
    open_page(view, opened(begins(), *looks_at(1, shown)))
    viewer = open_large(view, qtbot)
    viewer.findChild(QPushButton, "savePicture").click()
    dialog = viewer.findChild(QFileDialog, "savePictureDialog")
    assert dialog.selectedFiles()[0].endswith("/cat_1.jpg")
    path = tmp_path / "copy.jpg"
    dialog.fileSelected.emit(str(path))
    assert path.read_bytes() == shown.data
    assert "Saved as" in state_of(viewer)
    dialog.fileSelected.emit(str(tmp_path / "nowhere" / "copy.jpg"))
    assert "Not saved" in state_of(viewer)


@pytest.mark.parametrize("name", ["", "/", "..", "a\0b\n.png", "x" * 500, "NUL:.png", "~"])
def test_a_name_for_a_copy_is_one_that_every_disk_takes(name):
    saved = file_name(picture(name=name or "/"))
    assert saved.endswith(".png")
    assert 4 < len(saved) < 120
    assert not set(saved) & set('/\\:\0\n"<>|?*')


# -- pictures that are files ---------------------------------------------------------------


def makes(folder, *sets):
    """Return a session in the folder, with a turn that changed these files."""
    page = [begins(), attaches(), *(told(one) for one in sets), ends()]
    return made_up.opened(folder=str(folder), events=page)


def put(folder, name="plot.png", at=100.0, data=None):
    """Write a file that was changed at that time."""
    path = folder / name
    path.write_bytes(data or encoded("PNG"))
    os.utime(path, (at, at))
    return path


def test_a_picture_that_the_agent_made_stands_at_the_end_of_its_turn(view, qtbot, tmp_path):
    put(tmp_path)
    new = made("cs_1", file("plot.png", "created", -1, -1), "notes.txt")
    open_page(view, makes(tmp_path, new, made("cs_2", "plot.png", agent=CHILD)))
    see_all(view, qtbot)
    assert spoken(view)[0].startswith("plot.png, 60 × 40 · ")
    kinds = [type(shown.row).__name__ for shown in view.page.rows]
    assert kinds[-2:] == ["ChangesItem", "PicturesRow"]
    tile = tiles(view)[0]
    qtbot.waitUntil(lambda: tile.height() == tile.sizeHint().height())
    assert open_large(view, qtbot).windowTitle() == "plot.png"
    view.apply([told(undo("un_1", "cs_1", "cs_2"))])
    qtbot.waitUntil(lambda: tiles(view) == [])


def test_what_the_agent_read_again_is_not_shown_twice(view, qtbot, tmp_path):
    put(tmp_path)
    read = looks_at(1, picture(name="plot.png"))
    page = [begins(), attaches(), told(made("cs_1", "plot.png")), *read, ends()]
    open_page(view, made_up.opened(folder=str(tmp_path), events=page))
    see_all(view, qtbot)
    assert len(tiles(view)) == 1


def test_a_file_that_is_another_one_by_now_is_not_shown_for_it(view, qtbot, tmp_path):
    put(tmp_path, at=500.0)
    put(tmp_path, "text.png", data=b"no picture")
    outside = tmp_path.parent / f"{tmp_path.name}-outside.png"
    outside.write_bytes(encoded("PNG"))
    (tmp_path / "link.png").symlink_to(outside)
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "folder.png").mkdir()
    names = ("plot.png", "text.png", "link.png", "pipe.png", "folder.png", "none.png", str(outside))
    open_page(view, makes(tmp_path, made("cs_1", *names)))
    said = ["changed since", "can't be shown", *["not there any more"] * 5]
    wanted = [f"{name}, {words}" for name, words in zip(names, said, strict=True)]
    qtbot.waitUntil(lambda: spoken(view) == wanted)
    for tile in tiles(view):
        tile.click()
    shown = view.findChildren(PictureViewer)
    assert [viewer.windowTitle() for viewer in shown] == ["text.png"]


def test_a_picture_that_was_deleted_again_is_not_looked_for(view, tmp_path):
    gone = made("cs_2", file("plot.png", "deleted"), call="call_2")
    open_page(view, makes(tmp_path, made("cs_1", "plot.png"), gone))
    assert tiles(view) == []
