"""HTML and Markdown of a session: what the window shows; nothing that a text brings can run."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from desktop_agent import paths
from desktop_agent.core.events import AgentEvent, MessageAdded, ToolEnded
from desktop_agent.core.ids import new_call_id, new_message_id
from desktop_agent.core.keys.known_keys import HIDDEN
from desktop_agent.core.messages import ImagePart, Message, OutputDisplay, TextPart, ToolCall
from desktop_agent.core.messages import ToolResult as Result
from tests.adapters.store.turns import AGENT, assistant, user
from tests.session_files.sessions import exported, filled, rich

KEY = "sk-ant-api03-" + "Ab3" * 12
PEM = ("Ab3" * 20 + "\n     7\t") * 3
HOSTILE = (
    '<script>alert(1)</script><img src=x onerror=alert(1)>\n\n'
    "![spy](https://spy.example/pixel.png) [click](javascript:alert(1)) "
    '[two](<data:text/html,x>) [three](vbscript:x "onmouseover=x") <https://ok.example/a?b="c">\n\n'
    "```html\n</code></pre><script>alert(2)</script>\n```\n\n</main></style><style>*{}</style>\n"
    "&lt;script&gt; | a | b |\n\n| <b> | x |\n|---|---|\n| </td><script> | y |\n"
)  # fmt: skip
VOID = {"meta", "img", "br", "hr"}
TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "h1", "h2", "h3", "p",
    "section", "details", "summary", "div", "span", "small", "b", "code", "pre", "ul", "ol", "li",
    "img", "a", "strong", "em", "s", "table", "thead", "tbody", "tr", "th", "td", "blockquote",
    "br", "hr",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "alt", "src", "href", "rel",
    "open", "style",
}  # fmt: skip


class Checked(HTMLParser):
    """Fails on anything that runs, or loads, or is not closed where it was opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.said = ""
        self.links: list[str] = []
        self.pictures: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        given = {name: value or "" for name, value in attrs}
        assert given.keys() <= ATTRIBUTES
        assert given.get("style", "text-align:right") in ("text-align:right", "text-align:left")
        if "href" in given:
            self.links.append(given["href"])
        if "src" in given:
            self.pictures.append(given["src"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.said += data


def checked(page: str) -> Checked:
    found = Checked()
    found.feed(page)
    found.close()
    assert not found.open
    return found


def everything(text: str) -> list[AgentEvent]:
    """Return a session in which a text stands wherever one can."""
    call = ToolCall(new_call_id(), "shell", {"command": text})
    unknown = ToolCall(new_call_id(), text[:40], {text: text})
    result = Result(call.id, text, display=OutputDisplay(text))
    failed = Result(unknown.id, text, is_error=True)
    tool = Message(new_message_id(), "tool", (result, failed))
    picture = ImagePart(f'image/png" onload="{text}', b"x", text)
    return [
        user(text),
        assistant(text, call, unknown),
        ToolEnded(AGENT, result),
        ToolEnded(AGENT, failed, "failed"),
        MessageAdded(AGENT, tool),
        MessageAdded(AGENT, Message(new_message_id(), "user", (TextPart(text), picture))),
    ]


def test_the_page_shows_the_session_in_both_looks_of_the_window(tmp_path: Path) -> None:
    page = exported(rich(tmp_path / "s.db"), "html")
    found = checked(page)
    for said in ("Prices", "question 1", "Like this", "I read it.", "Subagent: Reader", "Edit",
                 "-old <price>", "+new <price>", "Read prices", "price = 1"):  # fmt: skip
        assert said in found.said
    assert "The old answer" not in found.said
    assert found.pictures == ["data:image/png;base64,iVBORw0KGgo="]
    assert '<span class="add">+new &lt;price&gt;' in page
    assert "<em>file</em>" in page
    assert '<span class="c-num">1</span>' in page
    colours = json.loads(paths.resource("theme.json").read_text("utf-8"))["color"]
    light, dark = page.split("prefers-color-scheme: dark")
    assert f"--canvas:{colours['light']['canvas']};" in light
    assert f"--canvas:{colours['dark']['canvas']};" in dark


def test_nothing_in_a_session_runs_or_is_loaded_when_its_page_is_opened(tmp_path: Path) -> None:
    page = exported(filled(tmp_path / "s.db", *everything(HOSTILE)), "html")
    found = checked(page)
    assert set(found.links) == {"https://ok.example/a?b=%22c%22"}
    assert not found.pictures
    assert "<script>alert(1)</script>" in found.said
    assert "default-src 'none'" in page


@pytest.mark.parametrize("form", ["html", "md", "json"])
@pytest.mark.parametrize(
    "key",
    [
        KEY, "ghp_" + "Ab3" * 12, "hf_" + "Ab3" * 12,  # an escape in the middle would hide these
        f"npm_{'Ab3' * 12} pypi-{'Ab3' * 12} SG.{'Ab3' * 7}.{'Ab3' * 14}",
        f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4\n\n{PEM}-----END RSA PRIVATE KEY-----\n"
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PEM}",
    ],
)  # fmt: skip
def test_a_key_that_was_said_is_not_in_the_file(tmp_path: Path, key: str, form: str) -> None:
    text = f"The key is {key}, password=hunter2hunter2"
    call = ToolCall(new_call_id(), "post", {"data": key, "type": key, "password": "hunter2"})
    said = (*everything(text), assistant("", call))
    page = exported(filled(tmp_path / "s.db", *said, title=text), form)
    assert "Ab3Ab3" not in page
    assert "hunter2" not in page
    assert HIDDEN in page.replace("\\", "")


def test_markdown_keeps_what_was_typed_and_what_was_answered_apart(tmp_path: Path) -> None:
    typed = "# no heading\n<b>no bold</b> `x`"
    fence = "```\nfour ticks: ````\n"
    call = ToolCall(new_call_id(), "shell", {"command": "cat"})
    result = Result(call.id, fence, display=OutputDisplay(fence))
    tool = MessageAdded(AGENT, Message(new_message_id(), "tool", (result,)))
    page = exported(
        filled(tmp_path / "s.db", user(typed), assistant("# A heading", call), tool), "md"
    )
    assert "> \\# no heading  \n> \\<b\\>no bold\\</b\\> \\`x\\`" in page
    assert "\n# A heading\n" in page
    assert "`````\n```\nfour ticks: ````\n`````\n" in page


@pytest.mark.parametrize(
    "typed",
    [
        "An entity: &lt;b&gt; &amp; &#39; a && b & c",
        "A title\n===\nand\n---\nand\n***",
        "- one\n+ two\n* three\n4. four\n5) five",
        "below zero:\n-3 degrees, &amp",
        "def total_of(rows):\n    if rows:\n        return sum(rows) # `all` of *them*",
        "    first_line = 1\n\tsecond_line = 2\n\n``` & &lt;",
    ],
)
def test_markdown_shows_what_was_typed_as_it_was_typed(tmp_path: Path, typed: str) -> None:
    page = MarkdownIt("commonmark").render(exported(filled(tmp_path / "s.db", user(typed)), "md"))
    quote = re.search("<blockquote>\n(.*?)</blockquote>", page, re.DOTALL)
    assert quote is not None
    shown = unescape(re.sub("<[^>]*>", "", quote[1]))
    assert shown.strip("\n") == typed


@pytest.mark.parametrize(
    "answer",
    [
        "So:\n\n```python\nprint(1)",
        "So:\n\n~~~~\n```\n",
        "1. One:\n\n   ```python\n   print(1)",
        "<!-- broken off",
        "<script>\nlet a",
        "```\nwhole\n```",
    ],
)
def test_what_follows_an_answer_that_broke_off_is_no_part_of_it(
    tmp_path: Path, answer: str
) -> None:
    said = (user("one"), assistant(answer), user("two"))
    page = MarkdownIt("commonmark").render(exported(filled(tmp_path / "s.db", *said), "md"))
    assert page.count("<h3>You") == 2
    assert "<blockquote>\n<p>two</p>" in page
