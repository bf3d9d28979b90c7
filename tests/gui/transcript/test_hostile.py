"""What a model or a tool may write must open nothing and hide nothing."""

import os
import socket
import threading

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtWidgets import QLabel

from desktop_agent.gui.kit.safe_text import breakable, hard_wrapped, terminal_text, with_marks
from desktop_agent.gui.transcript.document.markdown import safe_link
from desktop_agent.gui.transcript.view.browser import TranscriptBrowser
from desktop_agent.gui.transcript.view.text_dialogs import ask_to_open
from tests.gui.transcript.story import asks, begins, call, gives, opened, runs, says
from tests.helpers.panels import open_page
from tests.helpers.patience import HANG_S


class CountingServer:
    """Counts who connects to this computer's loopback."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.visits = 0
        self._thread = threading.Thread(target=self._count, daemon=True)
        self._thread.start()

    def _count(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.visits += 1
            connection.close()

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self._thread.join(HANG_S)


@pytest.fixture
def server():
    server = CountingServer()
    yield server
    server.close()


FORMS = [
    "![x]({target})",
    "[x]({target})",
    "<img src='{target}'>",
    "<link rel=stylesheet href='{target}'>",
    "<style>@import '{target}'</style>",
    "<table background='{target}'><tr><td>x</td></tr></table>",
    "<iframe src='{target}'></iframe>",
    "[x]: {target}\n\n![x]\n\n[x]",
    "<{target}>",
    "{target}",
    "`{target}`",
    "```\n{target}\n```",
    "| ![x]({target}) |\n|---|\n| [x]({target}) |",
    "> ![x]({target})",
    "- ![x]({target})",
    '![x]({target} "title")',
    "[![x]({target})]({target})",
]


def _targets(server, tmp_path):
    fifo = tmp_path / "fifo"
    if not fifo.exists():
        os.mkfifo(fifo)
    return [
        f"http://127.0.0.1:{server.port}/x.png",
        f"file://{fifo}",
        str(fifo),
        "file:///etc/hostname",
        f"//127.0.0.1:{server.port}/share/x.png",
        f"\\\\127.0.0.1\\share\\{server.port}",
        "javascript:alert(1)",
        "data:image/png;base64,iVBORw0KGgo=",
        "data:text/html,<script>1</script>",
        "vscode://open",
        "qrc:/x.png",
        ":/x.png",
        "app:show-all",
    ]


def test_no_form_of_markdown_or_html_opens_a_file_or_a_connection(
    view, server, tmp_path, monkeypatch
):
    asked = []
    real = TranscriptBrowser.loadResource

    def counted(self, kind, name):
        asked.append(name)
        given = real(self, kind, name)
        assert given is None
        return given

    monkeypatch.setattr(TranscriptBrowser, "loadResource", counted)
    texts = [f.format(target=t) for f in FORMS for t in _targets(server, tmp_path)]
    one = call(1)
    noise = "\n\n".join(texts)
    events = [begins(), *asks(1, noise), says(1, noise, one), runs(one), gives(one, noise)]
    events += [says(number + 2, text) for number, text in enumerate(texts)]
    open_page(view, opened(*events, status="running"))
    view.find("x")
    view.browser.selectAll()
    view.browser.copy()
    view.grab()
    assert server.visits == 0
    assert asked == []


def test_only_addresses_of_the_web_and_of_mail_can_be_clicked(view, server, tmp_path):
    texts = [f"[x{n}]({t})" for n, t in enumerate(_targets(server, tmp_path))]
    open_page(view, opened(says(1, "\n\n".join([*texts, "[m](mailto:a@b.c)", "[w](https://x.y)"]))))
    found, block = set(), view.browser.document().begin()
    while block.isValid():
        place = block.begin()
        while not place.atEnd():
            if place.fragment().charFormat().isAnchor():
                found.add(place.fragment().charFormat().anchorHref().split(":")[0])
            place += 1
        block = block.next()
    assert found == {"http", "https", "mailto"}


@pytest.mark.parametrize(
    "written",
    [
        "[m](mailto:a@b.c?attach=/etc/passwd)",
        "[m](MAILTO:a@b.c?subject=x&attachment=/etc/passwd#y)",
        "<mailto:a@b.c?attach=/etc/passwd>",
        "mailto:a@b.c?attach=/etc/passwd",
        "![m](mailto:a@b.c?attach=/etc/passwd)",
        "[m]\n\n[m]: mailto:a@b.c?attach=/etc/passwd",
    ],
)
def test_a_link_for_mail_names_nothing_but_who_it_goes_to(view, qtbot, written):
    open_page(view, opened(says(1, written)))
    place, hrefs = view.browser.document().begin(), set()
    while place.isValid():
        hrefs |= {f.format.anchorHref() for f in place.textFormats() if f.format.isAnchor()}
        place = place.next()
    assert {href.lower() for href in hrefs} == {"mailto:a@b.c"}


def test_what_opens_of_a_link_for_mail_has_no_query_whoever_asks(view, qtbot):
    view.browser.anchorClicked.emit(QUrl("mailto:a@b.c?attach=/etc/passwd"))
    dialog = view.findChild(object, "linkDialog")
    assert dialog.findChild(QLabel, "linkAddress").text() == "mailto:a@b.c"
    with qtbot.waitSignal(view.open_link_requested) as hit:
        qtbot.mouseClick(dialog.findChild(object, "openLink"), Qt.MouseButton.LeftButton)
    assert hit.args == ["mailto:a@b.c"]


@pytest.mark.parametrize(
    "address",
    ["javascript:x", "file:///etc/passwd", "data:text/html,x", "app:show-all", "//h/x", ""],
)
def test_an_unsafe_link_asks_nothing_and_opens_nothing(view, theme, address):
    opened_links = []
    assert safe_link(address) == ""
    assert ask_to_open(theme, QUrl(address), view, opened_links.append) is None
    assert opened_links == []


def test_a_link_opens_only_after_the_person_saw_its_real_host(view, qtbot):
    open_page(view, opened(says(1, "[www.bank.example](https://xn--bnk-qla.example/a?b=c)")))
    url = QUrl("https://b\u00e4nk.example/a?b=c")
    with qtbot.assertNotEmitted(view.open_link_requested):
        view.browser.anchorClicked.emit(url)
    dialog = view.findChild(object, "linkDialog")
    assert dialog.findChild(QLabel, "linkHost").text() == "xn--bnk-qla.example"
    assert "xn--bnk-qla.example/a?b=c" in dialog.findChild(QLabel, "linkAddress").text()
    with qtbot.waitSignal(view.open_link_requested) as hit:
        qtbot.mouseClick(dialog.findChild(object, "openLink"), Qt.MouseButton.LeftButton)
    assert hit.args == ["https://xn--bnk-qla.example/a?b=c"]


def test_hidden_characters_show_as_marks():
    hidden = (
        "\u202e\u2066\u200b\u200d\u00ad\ufeff\u3164\x1b\x00\x7f\u2028\U000e0041\u00a0\ufe0f\u180b"
    )
    for char in hidden:
        assert with_marks(f"rm{char}x") == f"rm⟨U+{ord(char):04X}⟩x"
    plain = "ls -la /tmp\tcafé 日本語 שלום 🙂 ❤\ufe0f 1\ufe0f\u20e3\n"
    assert with_marks(plain) == plain


def test_terminal_codes_neither_hide_nor_colour_output():
    raw = "\x1b[31mred\x1b[0m \x1b]0;title\x07ok\r\n50%\r100%\n\x1b[2Jcleared\u202eabc"
    assert terminal_text(raw) == "red ok\n100%\ncleared⟨U+202E⟩abc"


def test_direction_marks_do_not_reach_an_answer(view):
    open_page(view, opened(says(1, "user\u202egnp.exe and `a\u202eb`")))
    text = view.browser.toPlainText()
    assert "\u202e" not in text
    assert "⟨U+202E⟩" in text


def test_frame_marks_in_a_text_make_no_frames(view):
    open_page(
        view, opened(*asks(1, "a\ufdd0b\ufdd1c\ufffc\u2029d"), says(1, "x\ufdd0y\ufdd1z\u2029w"))
    )
    text = view.browser.toPlainText()
    assert "abc\nd" in text
    assert "xyz w" in text
    assert len(view.page.rows) == 2


def test_a_megabyte_without_a_break_is_cut_into_lines():
    line = "z" * 1_000_000
    assert max(map(len, hard_wrapped(line).split("\n"))) == 1_000
    assert max(map(len, breakable(line).split("\u200b"))) == 1_000
    assert breakable(line).replace("\u200b", "") == line
