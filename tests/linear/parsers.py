"""The parsers of the package, each with what feeds it the most work."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from desktop_agent.adapters import skill_address
from desktop_agent.core import known_keys, notes, ordering, redaction, tasks, updates
from desktop_agent.core.ids import new_message_id
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.skill_install import SkillLibraryError
from desktop_agent.core.tool import ToolError
from desktop_agent.engine import (
    commands,
    floor,
    front_matter,
    shell_words,
    skill_rules,
    windows_names,
    yaml_fields,
)
from desktop_agent.gui import agent_rows, attachments
from desktop_agent.gui.transcript import characters, code_colors, diff, markdown, parts
from desktop_agent.gui.transcript.settled import SettledBlocks
from desktop_agent.model_host import arguments, demo_orders, faults
from desktop_agent.model_host.wire import EventJoiner
from desktop_agent.tools import diffs, edits, html_markdown, output, text_files

# Libraries that parse; whoever imports one is in a table below.
READING = frozenset({
    "difflib", "docx", "email.utils", "fnmatch", "html", "html.parser", "lxml", "markdown_it",
    "openpyxl", "pathspec", "pptx", "pygments", "pygments.lexers", "pypdf", "shlex", "tomllib",
    "xml.etree", "yaml",
})  # fmt: skip
# Modules that import one, and why nothing of them is measured here.
ELSEWHERE: dict[str, str] = {
    "self_check.parts": "reads only what it wrote itself",
    "tools.documents": "libraries; a zip of modest size, a text that is cut, on a thread",
    "core.line_diff": "tools.diffs:diff_of",
    "engine.policy": "rules of the person's own; fnmatch never goes back",
    "engine.protected": "patterns of the app's own; fnmatch never goes back",
    "tools.walk": "what a glob or an ignore file makes of a path ends after a time",
    "model_host.demo_skills": "a name of a skill, as short as its line",
}


@dataclass(frozen=True, slots=True)
class Parser:
    """`run` takes a text; `texts` are head, unit and tail of those that may hurt this one."""

    run: Callable[[str], object]
    texts: tuple[tuple[str, str, str], ...] = ()
    takes_any: bool = True
    # Below this size a bound on the work does not show; the sizes up to it are not tried.
    bounded_at: int = 0


def _user(text: str) -> object:
    message = Message(id=new_message_id(), role="user", parts=(TextPart(text),))
    return parts.user_item(message, None)


def _front(text: str) -> object:
    front = front_matter.parse(f"---\nname: {text}\ndescription: >\n {text}\n---\n{text}")
    return skill_rules.declared(front, "x")


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
        skill_address.read_address(text)


def _fault(text: str) -> object:
    return faults.explain(ValueError(text), None, "key-of-mine")


def _streamed(text: str) -> None:
    """As a server sends it, sixteen bytes at a time."""
    joiner = EventJoiner()
    content = text.encode()
    for at in range(0, len(content), 16):
        joiner.feed(content[at : at + 16], 0.0)
    joiner.finish(1.0)


def _settled(text: str) -> object:
    blocks = markdown.parse(text)
    settled = SettledBlocks()
    settled.add(text, [block.signature for block in blocks], len(text))
    return settled.sure(text)


def _split(text: str) -> object:
    return markdown.split_open(text), markdown.closed(text), markdown.open_fence(text)


def _colors(language: str) -> Callable[[str], object]:
    return lambda text: sum(1 for _ in code_colors.spans_by_line(text, language))


def _diff(text: str) -> object:
    lines = text.replace("\\n", "\n")
    return diffs.diff_of("x", lines, lines.replace("a", "b"))


def _shown_diff(text: str) -> object:
    return diff.diff_lines("@@ -1 +1 @@\n" + text)


def _orders(text: str) -> object:
    return demo_orders.order_in(text), demo_orders.wishes(text, (text,), ("a.py", "b/c.md"))


def _ends(text: str) -> object:
    return ordering.same_ends(text, text[1:] + "x", key=lambda one: one)


def _increasing(text: str) -> object:
    count = len(text)
    return ordering.longest_increasing([(index * 7919) % count for index in range(count)])


def _words(text: str) -> object:
    return list(commands.words_of(text)), commands.split_parts(text), commands.is_forbidden(text)


def _read_only(text: str) -> object:
    return commands.is_read_only(text), commands.paths_read(text), commands.covers("ls", text)


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
    "adapters.skill_address:read_address": Parser(
        _address, (("https://a.b/", "-/tree/", ""), ("", "a.", ""), ("a@b:", "c/", " "))
    ),
    "core.notes:unframed": Parser(notes.unframed),
    "core.ordering:same_ends": Parser(_ends, (("", "a", ""), ("", "ab", "")), takes_any=False),
    "core.ordering:longest_increasing": Parser(_increasing, (("", "a", ""),), takes_any=False),
    "core.known_keys:hide": Parser(
        _KNOWN.hide, (("", "sk-proj-Ab12", ""), ("", "%25", ""), ("", "\\\\", ""), ("", "&#", ""))
    ),
    "core.redaction:redact": Parser(
        redaction.redact,
        (("", "eyJ-", ""), ("", "://a:", ""), ("", "key = ", ""), ("", "sk-a.", "")),
    ),
    "core.tasks:one_line": Parser(tasks.one_line, (("", "<tasks>", ""),)),
    "core.updates:is_newer": Parser(lambda text: updates.is_newer(text, "1.0"), (("1.", "1", ""),)),
    "engine.commands:is_read_only": Parser(_read_only, _SHELL),
    "engine.commands:words_of": Parser(_words, _SHELL),
    "engine.floor:why_never": Parser(
        lambda text: floor.why_never(shell_words.SimpleCommand(words=["rm", "-rf", text])),
        (("/", "../", ""), ("/", "./", "")),
    ),
    "engine.front_matter:parse": Parser(_front, _YAML),
    "engine.shell_words:parse": Parser(shell_words.parse, _SHELL),
    "engine.skill_rules:visible": Parser(skill_rules.visible, (("", "\u200b", ""),)),
    "engine.windows_names:refusal": Parser(
        windows_names.refusal, (("a:", "\\", ""), ("", "~1", ""))
    ),
    "engine.yaml_fields:read": Parser(yaml_fields.read, _YAML),
    "gui.agent_rows:plain_words": Parser(
        agent_rows.plain_words, (("", "**a", ""), ("", "`a``", ""))
    ),
    "gui.attachments:fenced": Parser(
        lambda text: attachments.fenced("x", text), (("", "```", ""),)
    ),
    "gui.transcript.characters:terminal_text": Parser(
        characters.terminal_text, (("", "\x1b]", ""), ("", "a\r", ""), ("", "\x1b[0", ""))
    ),
    "gui.transcript.characters:breakable": Parser(
        lambda text: characters.breakable(characters.clean(characters.hard_wrapped(text)))
    ),
    "gui.transcript.diff:diff_lines": Parser(_shown_diff, (("", "@@ -1 +1 @@\n", ""),)),
    "gui.transcript.markdown:parse": Parser(markdown.parse, _MARKDOWN),
    "gui.transcript.markdown:split_open": Parser(_split, _MARKDOWN),
    "gui.transcript.parts:user_item": Parser(
        _user, (("\n\n[The person picked the skill '", "' for this, but ", "]"),)
    ),
    "gui.transcript.settled:sure": Parser(_settled, (("", "a\n\n", ""), ("", "- a\n", ""))),
    **{
        f"gui.transcript.code_colors:spans ({language})": Parser(
            _colors(language), _CODE, takes_any=False, bounded_at=1 << 15
        )
        for language in _LANGUAGES
    },
    "model_host.arguments:read_arguments": Parser(
        arguments.read_arguments,
        (("", "[", ""), ('{"a":"', "\\u12", '"}'), ('"{', '\\\\\\"', '}"'), ("{", '"a":1,', "}")),
    ),
    "model_host.demo_orders:order_in": Parser(_orders, (("read ", "a.", ""),)),
    "model_host.faults:provider_words": Parser(
        lambda text: faults.provider_words(text.encode()),
        (("", "<title>", ""), ("", '{"error":', "")),
    ),
    "model_host.faults:explain": Parser(_fault, (("", "aException", ""), ("", "https://", ""))),
    "model_host.wire:feed": Parser(
        _streamed, (('data: {"a":"', "x", '"}\n\n'), ("", "data: {}\n\n", ""), ("", "\r\n", ""))
    ),
    "tools.diffs:diff_of": Parser(
        _diff,
        bounded_at=1 << 17,
        texts=(("", "a\n", ""), ("", "ab\nc\n", ""), ("", "\n", "")),
        takes_any=False,
    ),
    "tools.edits:apply": Parser(
        _edited, (("", "a \n", ""), ("", "ab\n\n", ""), ("", "\n", "")), takes_any=False
    ),
    "tools.html_markdown:markdown_of": Parser(
        lambda text: html_markdown.markdown_of(text, "https://a.b/c"), _HTML
    ),
    "tools.output:plain": Parser(
        output.plain, (("", "\x1b]", ""), ("", "a\r", ""), ("", "\x1b[0", ""))
    ),
    "tools.text_files:decode": Parser(lambda text: text_files.decode(text.encode())),
}
