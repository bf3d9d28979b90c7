"""The parsers of the package, each with what feeds it the most work."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from desktop_agent.adapters.mcp import formats
from desktop_agent.adapters.skills.fetch import address
from desktop_agent.core import tasks, updates
from desktop_agent.core.diffs import ordering
from desktop_agent.core.faults import Fault
from desktop_agent.core.ids import AgentId, new_message_id
from desktop_agent.core.keys import known_keys, redaction
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.network import hosts
from desktop_agent.core.parts.containment import Containment
from desktop_agent.core.parts.origins import Report
from desktop_agent.core.prose import framing
from desktop_agent.core.skill_install import SkillLibraryError
from desktop_agent.core.tool import ToolError
from desktop_agent.engine.context import windows
from desktop_agent.engine.permissions.shell import classify, deny_list, git_profile, looking, parse
from desktop_agent.engine.skills import front_matter, rules, yaml_fields
from desktop_agent.engine.workspace import diffs, text_files, windows_names
from desktop_agent.guard import heads
from desktop_agent.guard.upstream import Upstreams
from desktop_agent.gui.kit import safe_text
from desktop_agent.gui.kit import text as label_text
from desktop_agent.gui.transcript.cards import diff_view
from desktop_agent.gui.transcript.document import highlighting, markdown
from desktop_agent.gui.transcript.document.answer import StableBlocks
from desktop_agent.gui.transcript.state import message_items
from desktop_agent.gui.transcript.view import table_data
from desktop_agent.model_host.demo import orders
from desktop_agent.model_host.litellm_client import faults, tool_arguments
from desktop_agent.model_host.litellm_client.sse import EventJoiner
from desktop_agent.session_files import html_text, markdown_export
from desktop_agent.tools.files import edits
from desktop_agent.tools.shell import output, sandbox_hint
from desktop_agent.tools.web import html_markdown

# Libraries that parse; whoever imports one is in a table below.
READING = frozenset({
    "csv", "difflib", "docx", "email.utils", "fnmatch", "html", "html.parser", "lxml",
    "markdown_it", "openpyxl", "pathspec", "pptx", "pygments", "pygments.lexers", "pypdf",
    "shlex", "tomllib", "xml.etree", "yaml",
})  # fmt: skip
# Modules that import one, and why nothing of them is measured here.
ELSEWHERE: dict[str, str] = {
    "compose": "joins the words of a command of the app's own, and reads none",
    "adapters.sandbox.set_aside": "fixed names, without a star, against the last two of a path",
    "gui.composer.sandbox_fix": "joins the words of a command of the app's own, and reads none",
    "core.prose.command_words": "a command as the user types it",
    "gui.usage.text": "writes a few hundred short lines, and reads none",
    "gui.window.desktop_notices": "escapes a text of a few hundred characters, and reads none",
    "self_check.engine": "quotes a command of the app's own, and reads none",
    "self_check.parts": "reads only what it wrote itself",
    "tools.files.documents": "libraries; a zip of modest size, a text that is cut, on a thread",
    "tools.files.pdf_text": "a library, stopped after a time, on a thread",
    "tools.files.word_text": "a tree that a library read, on a thread, gone through once",
    "core.diffs.line_diff": "engine.workspace.diffs:diff_of",
    "core.prose.code_tokens": "gui.transcript.document.highlighting:spans",
    "engine.permissions.protected_files": "patterns of the app's own; fnmatch never goes back",
    "tools.shell.command_effects": "fnmatch compares names of files, which are short",
    "tools.shell.whole_reads": "fnmatch compares names of files, which are short",
    "tools.shell.proof": "fnmatch translates the app's own names; the command is engine's to parse",
    "engine.workspace.ignored_files": "what an ignore file makes of a path ends after a time",
    "model_host.demo.script": "the app's own file",
    "model_host.demo.skills": "a name of a skill, as short as its line",
    "adapters.places.git_copy": "patterns of the app's own against names; fnmatch never goes back",
    "outpost.table": "`html.escape` alone",
    "session_files.html_export": "`html.escape` alone",
    "engine.permissions.file_rules": "rules of the person's own; fnmatch never goes back",
}


@dataclass(frozen=True, slots=True)
class Parser:
    """`run` takes a text; `texts` are head, unit and tail of those that may hurt this one."""

    run: Callable[[str], object]
    texts: tuple[tuple[str, str, str], ...] = ()
    takes_any: bool = True
    # Below this size a bound on the work does not show; the sizes up to it are not tried.
    bounded_at: int = 0


def _authority(text: str) -> None:
    with suppress(hosts.HostError):
        hosts.split_authority(text, 80)


def _head(text: str) -> None:
    with suppress(heads.BadRequest, hosts.HostError, UnicodeError):
        heads.read_head(text.encode(), len(text))


def _upstream(text: str) -> object:
    found = Upstreams.of({"HTTP_PROXY": f"http://{text}", "NO_PROXY": text})
    return found.way_to("a.example", 80, is_tunnel=False)


def _user(text: str) -> object:
    message = Message(id=new_message_id(), role="user", parts=(TextPart(text),))
    return message_items.user_items(message, lambda _: None)


def _front(text: str) -> object:
    front = front_matter.parse(f"---\nname: {text}\ndescription: >\n {text}\n---\n{text}")
    return rules.declared(front, "x")


def _edited(text: str) -> None:
    lines = text.replace("\\n", "\n")
    half = lines[: len(lines) // 2]
    with suppress(ToolError):
        edits.apply(
            text_files.Text(lines),
            [edits.Replacement(old_string=f" {half} x", new_string="y")],
        )


def _address(text: str) -> None:
    with suppress(SkillLibraryError):
        address.read_address(text)


def _fault(text: str) -> object:
    return faults.explain(ValueError(text), None)


def _streamed(text: str) -> None:
    """As a server sends it, sixteen bytes at a time."""
    joiner = EventJoiner()
    content = text.encode()
    for at in range(0, len(content), 16):
        joiner.feed(content[at : at + 16], 0.0)
    joiner.finish(1.0)


def _settled(text: str) -> object:
    blocks = markdown.parse(text)
    settled = StableBlocks()
    settled.add(text, [block.signature for block in blocks], len(text))
    return settled.sure(text)


def _table(text: str) -> object:
    table = table_data.parse_table(text.encode("utf-8", "replace"))
    return table_data.arranged(table, "x", 0 if table.names else -1)


def _split(text: str) -> object:
    return markdown.split_open(text), markdown.closed(text), markdown.open_fence(text)


def _colors(language: str) -> Callable[[str], object]:
    return lambda text: sum(1 for _ in highlighting.spans_by_line(text, language))


def _diff(text: str) -> object:
    lines = text.replace("\\n", "\n")
    return diffs.diff_of("x", lines, lines.replace("a", "b"))


def _shown_diff(text: str) -> object:
    return diff_view.diff_lines("@@ -1 +1 @@\n" + text)


def _orders(text: str) -> object:
    return orders.order_in(text), orders.Wishes(text, (text,), ("a.py", "b/c.md"))


def _ends(text: str) -> object:
    return ordering.same_ends(text, text[1:] + "x", key=lambda one: one)


def _increasing(text: str) -> object:
    count = len(text)
    return ordering.longest_increasing([(index * 7919) % count for index in range(count)])


def _words(text: str) -> object:
    return list(classify.words_of(text)), classify.split_parts(text), classify.is_forbidden(text)


def _looking(text: str) -> object:
    script = classify.plain_script(text)
    found = looking.parts_of(script, lambda _, pattern: [pattern]) if script is not None else ()
    return found, classify.covers("ls", text), classify.offers(text), classify.refusals(text)


_SHELL = (
    ("cat <<E\n", "0a1b2c3d", "\nE\n"),
    ("", "$(", ""),
    ("", '"$(', ""),
    ("", "`", ""),
    ("", "$(a ", ""),
    ("env ", "-a ", "b"),
    ("", "env ", "b"),
    ("", "1<", ""),
    ("", ">a ", ""),
    ("cat", " <<a", "\n"),
    ("", "(", ""),
    ("", "a;", ""),
    ("sh ", "-c ", ""),
    ("env ", "-S ", ""),
    ("sh <<E\n", "$(a ", "\nE\n"),
    ("", "f() { ", ""),
    ("case a in ", "a) ", ""),
    ("", "eval ", "a"),
    ("", ":(){:|:", ""),
    ("find ", "-exec ", ";"),
    ("", "a'b'", ""),
    ("", "\\\n", ""),
    ("", '"\\', ""),
)
_YAML = (
    ("a:", " ", "x"),
    ("", "a:\n", ""),
    ("", "- ", "a"),
    ("", "[", ""),
    ("a: ", "{", ""),
    ("", "a: &a b\n", ""),
    ("a: ", "*a ", ""),
    ("a: |\n", " \n", ""),
    ('a: "', '\\"', ""),
    ("a: '", "''", ""),
    ("", "? a\n", ""),
    ("", "a: !b c\n", ""),
    ("a:", "\t", ""),
    ("a: >\n", "  b\n", ""),
)
_HTML = (
    ("", "<a ", ""),
    ("", "<i></b>", ""),
    ("<i>" * 900, "</b>", ""),
    ("", "<ul><li>", ""),
    ("<a ", "b=1 ", ">"),
    ("", "<a href='x'>y", ""),
    ("", "<pre>", ""),
    ("", "<p>a &amp; ", ""),
    ("", "<svg><title>", ""),
    ("<!--", "--", ""),
    ("<title>", "<", ""),
    ("", "<td>x", ""),
    ("", "a \n", ""),
)
_MARKDOWN = (
    ("", "> ", "a"),
    ("", "- ", "a"),
    ("", "* a\n", ""),
    ("", "[a](", ""),
    ("", "![", ""),
    ("", "**a ", ""),
    ("", "*a_ ", ""),
    ("", "a**b", ""),
    ("", "<a@", ""),
    ("", "`a``", ""),
    ("|a|\n|-|\n", "|a\n", ""),
    ("", "[a]: b\n", ""),
    ("", "[a]", "\n\n[a]: b"),
    ("", "&#x", ""),
    ("", "http://a.b/", ""),
    ("", "http://a.b ", ""),
    ("```\n", "a\n", ""),
    ("", "a\n---\n", ""),
    ("", "~~a", ""),
    ("", "[[a](b)", ""),
    ("", "mailto:a@b ", ""),
    ("", "1. a\n   ", ""),
    ("", "a\n\n", ""),
    ("", "[a](<b", ""),
    ("|", "a|", "\n|-|"),
    ("", "\\`", ""),
    ("", '[a](b "', ""),
    ("", "* * ", "a"),
    ("", "  ", "a"),
    ("", "//", ""),
)
_CODE = (("", "\n ", ""), ("", "a.", ""), ("", '"', ""), ("", "/*\n", ""))
_KNOWN = known_keys.KnownKeys()
_KNOWN.remember("sk-proj-Ab12Cd34Ef56Gh78Ij90")
_LANGUAGES = ("python", "javascript", "c", "html")

PARSERS: dict[str, Parser] = {
    "adapters.skills.fetch.address:read_address": Parser(
        _address, (("https://a.b/", "-/tree/", ""), ("", "a.", ""), ("a@b:", "c/", " "))
    ),
    "adapters.mcp.formats:without_comments": Parser(
        formats.without_comments, (("", "/*", ""), ("", '"\\', ""), ("[", ",", "]"), ("", "/", ""))
    ),
    "core.network.hosts:split_authority": Parser(
        _authority, (("", "a.", "b:80"), ("[", "1:", "]:80"), ("", ":", "1"), ("a.b:", "9", ""))
    ),
    "guard.heads:read_head": Parser(
        _head,
        (
            ("GET http://a.b/", "a", " HTTP/1.1"),
            ("GET http://a.b/ HTTP/1.1\r\n", "A: b\r\n", "A: b"),
            ("GET http://a.b/ HTTP/1.1\r\nConnection: ", "a,", "b"),
            ("GET http://a.b/ HTTP/1.1\r\nA: ", " ", "b"),
            ("CONNECT ", "a.", "b:80 HTTP/1.1"),
            ("POST http://a.b/ HTTP/1.1\r\nContent-Length: ", "1", ""),
        ),
    ),
    "guard.upstream:of": Parser(_upstream, (("", "a,", "b"), ("", "%41", "@b:1"), ("", "@", ""))),
    "core.prose.framing:framed": Parser(
        lambda text: framing.framed(text, Report(AgentId("sa_0"), text, "completed", (text,))),
        (("", "<app:", ""), ("", "</app:report>", ""), ("", "<\u200b", ""), ("", "\uff1c", "")),
    ),
    "core.diffs.ordering:same_ends": Parser(
        _ends, (("", "a", ""), ("", "ab", "")), takes_any=False
    ),
    "core.diffs.ordering:longest_increasing": Parser(
        _increasing, (("", "a", ""),), takes_any=False
    ),
    "core.keys.known_keys:hide": Parser(
        _KNOWN.hide, (("", "sk-proj-Ab12", ""), ("", "%25", ""), ("", "\\\\", ""), ("", "&#", ""))
    ),
    "core.keys.redaction:redact": Parser(
        redaction.redact,
        (("", "eyJ-", ""), ("", "://a:", ""), ("", "key = ", ""), ("", "sk-a.", "")),
    ),
    "core.tasks:one_line": Parser(tasks.one_line, (("", "<tasks>", ""),)),
    "core.updates:is_newer": Parser(lambda text: updates.is_newer(text, "1.0"), (("1.", "1", ""),)),
    "engine.permissions.shell.looking:parts_of": Parser(_looking, _SHELL),
    "engine.permissions.shell.classify:words_of": Parser(_words, _SHELL),
    "engine.permissions.shell.git_profile:git_use": Parser(
        git_profile.git_use,
        (*_SHELL, ("", "git add a;", ""), ("git rebase ", "-m ", ""), ("git add ", "--", "")),
    ),
    "engine.permissions.shell.deny_list:why_never": Parser(
        lambda text: deny_list.why_never(parse.SimpleCommand(words=["rm", "-rf", text])),
        (("/", "../", ""), ("/", "./", "")),
    ),
    "engine.skills.front_matter:parse": Parser(_front, _YAML),
    "engine.permissions.shell.parse:parse": Parser(parse.parse, _SHELL),
    "engine.skills.rules:visible": Parser(rules.visible, (("", "\u200b", ""),)),
    "engine.workspace.windows_names:refusal": Parser(
        windows_names.refusal, (("a:", "\\", ""), ("", "~1", ""))
    ),
    "engine.skills.yaml_fields:read": Parser(yaml_fields.read, _YAML),
    "gui.kit.text:plain_words": Parser(label_text.plain_words, (("", "**a", ""), ("", "`a``", ""))),
    "gui.kit.safe_text:terminal_text": Parser(
        safe_text.terminal_text, (("", "\x1b]", ""), ("", "a\r", ""), ("", "\x1b[0", ""))
    ),
    "gui.kit.safe_text:breakable": Parser(
        lambda text: safe_text.breakable(safe_text.clean(safe_text.hard_wrapped(text))),
        # Words shorter than the limit of an unbroken one cost next to nothing: a step, no square.
        (("", "é", "\0"), ("", "a", ""), ("", "a ", ""), ("", "\u200b", ""), ("", "a\n", "")),
        takes_any=False,
        bounded_at=1 << 17,
    ),
    "gui.transcript.cards.diff_view:diff_lines": Parser(_shown_diff, (("", "@@ -1 +1 @@\n", ""),)),
    "gui.transcript.document.markdown:parse": Parser(markdown.parse, _MARKDOWN),
    "gui.transcript.document.markdown:split_open": Parser(_split, _MARKDOWN),
    "session_files.html_text:markdown": Parser(html_text.markdown, _MARKDOWN),
    "session_files.markdown_export:ended": Parser(markdown_export.ended, _MARKDOWN),
    "session_files.html_text:plain": Parser(html_text.plain, (("", "\x1b[0", ""), ("", "<", ""))),
    "gui.transcript.view.table_data:parse_table": Parser(
        _table, (("a,b\n", '"', ""), ("a,b\n", '1,"2"\n', ""), ("", ";", "\n"), ("", "\n", "a"))
    ),
    "gui.transcript.view.table_data:pipe_table": Parser(
        table_data.pipe_table,
        (("|a|\n|-|\n", "|", ""), ("|a|\n|-|\n", "|\\|\n", ""), ("", "-|\n", "")),
    ),
    "gui.transcript.state.message_items:user_items": Parser(
        _user, (("\n\n[The person picked the skill '", "' for this, but ", "]"),)
    ),
    "gui.transcript.document.answer:sure": Parser(_settled, (("", "a\n\n", ""), ("", "- a\n", ""))),
    **{
        f"gui.transcript.document.highlighting:spans ({language})": Parser(
            _colors(language), _CODE, takes_any=False, bounded_at=1 << 15
        )
        for language in _LANGUAGES
    },
    "model_host.litellm_client.tool_arguments:read_arguments": Parser(
        tool_arguments.read_arguments,
        (("", "[", ""), ('{"a":"', "\\u12", '"}'), ('"{', '\\\\\\"', '}"'), ("{", '"a":1,', "}")),
    ),
    "model_host.demo.orders:order_in": Parser(_orders, (("read ", "a.", ""),)),
    "model_host.litellm_client.faults:provider_text": Parser(
        lambda text: faults.provider_text(text.encode()),
        (("", "<title>", ""), ("", '{"error":', "")),
    ),
    "model_host.litellm_client.faults:explain": Parser(
        _fault, (("", "aException", ""), ("", "https://", ""))
    ),
    "engine.context.windows:refused_window": Parser(
        lambda text: windows.refused_window(Fault("too_large", text, details=text), 10_000),
        (("", "context ", ""), ("", "> 1000 ", ""), ("", "maximum 1,", "")),
    ),
    "model_host.litellm_client.sse:feed": Parser(
        _streamed, (('data: {"a":"', "x", '"}\n\n'), ("", "data: {}\n\n", ""), ("", "\r\n", ""))
    ),
    "tools.shell.sandbox_hint:sandbox_hint": Parser(
        lambda text: sandbox_hint.sandbox_hint(text, 1, Containment(), ("/a",), "/home/me"),
        (
            ("", "Read-only file system ", "/"),
            ("", "/a", " Read-only file system"),
            ("", "~/.a ", "not found"),
            ("", "ENOENT /home/me/x\n", ""),
            ("", "\n", ""),
        ),
        # No more than so much of the end is looked at.
        bounded_at=1 << 13,
    ),
    "engine.workspace.diffs:diff_of": Parser(
        _diff,
        bounded_at=1 << 17,
        texts=(("", "a\n", ""), ("", "ab\nc\n", ""), ("", "\n", "")),
        takes_any=False,
    ),
    "tools.files.edits:apply": Parser(
        _edited,
        (("", "a \n", ""), ("", "ab\n\n", ""), ("", "\n", "")),
        takes_any=False,
        # Near misses are looked for within a bound of some 25 ms, and not at all above it.
        bounded_at=1 << 15,
    ),
    "tools.web.html_markdown:markdown_of": Parser(
        lambda text: html_markdown.markdown_of(text, "https://a.b/c"), _HTML
    ),
    "tools.shell.output:plain": Parser(
        output.plain, (("", "\x1b]", ""), ("", "a\r", ""), ("", "\x1b[0", ""))
    ),
    "engine.workspace.text_files:decode": Parser(lambda text: text_files.decode(text.encode())),
}
