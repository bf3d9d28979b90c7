"""The checks of what lies still: files of the app, the sessions file, keys, documents, TLS."""

from __future__ import annotations

import io
import ssl
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from desktop_agent import paths
from desktop_agent.adapters.child_process import script_python
from desktop_agent.adapters.config.secrets import Secrets
from desktop_agent.adapters.store.store import SqliteStore
from desktop_agent.core.events import MessageAdded
from desktop_agent.core.ids import new_agent_id, new_message_id, new_session_id
from desktop_agent.core.messages import Message, TextPart
from desktop_agent.core.pipes.no_window import NO_WINDOW
from desktop_agent.core.sessions import SessionInfo
from desktop_agent.core.workspace import Workspace
from desktop_agent.tools.files.documents import document_text

_NEEDED = ("theme.json", "prompts/system.md", "fonts/Inter-Regular.otf", "demo/README.md",
           "demo-model.toml", "session.css")  # fmt: skip
_WORD = "wheelbarrow"


class CheckFailed(Exception):
    """Something does not work; the text says what."""


def resources(_: Path) -> str:
    """Look for the app's own files."""
    for name in _NEEDED:
        if not paths.resource(name).is_file():
            raise CheckFailed(f"{name} is missing")
    icons = len(list(paths.resource("icons").glob("*.svg")))
    if not icons:
        raise CheckFailed("there are no icons")
    return f"fonts, prompts, the demo and {icons} icons"


def skills(_: Path) -> str:
    """Look for the bundled skills: every folder of them has its text."""
    folders = [each for each in paths.builtin_skills().iterdir() if each.is_dir()]
    for folder in folders:
        text = (folder / "SKILL.md").read_text("utf-8")
        if not text.startswith("---"):
            raise CheckFailed(f"{folder.name} does not say what it is for")
    return f"{len(folders)} bundled"


def scripts(place: Path) -> str:
    """Run what the bundled skills bring, with the app's own Python."""
    file = place / "check.pdf"
    file.write_bytes(_pdf())
    folder = paths.builtin_skills()
    found = [one for one in folder.glob("*/scripts/*.py") if "__main__" in one.read_text("utf-8")]
    for script in found:
        _run_script(script, "--help")
    _run_script(folder / "pdf" / "scripts" / "pdf.py", "info", str(file))
    return f"{len(found)} of skills run"


def _run_script(script: Path, *words: str) -> None:
    command = [*script_python(), str(script), *words]
    done = subprocess.run(
        command, capture_output=True, check=False, text=True, creationflags=NO_WINDOW
    )
    if done.returncode:
        raise CheckFailed(f"{script.name}: {done.stderr.strip()[-300:]}")


def sessions(place: Path) -> str:
    """Write a session, open the file again, and find its words."""
    agent, session = new_agent_id(), new_session_id()
    message = Message(new_message_id(), "user", (TextPart(f"Where is my {_WORD}?"),))
    info = SessionInfo(session, agent, "Check", Workspace(str(place)), "demo")
    file = place / "check.db"
    with closing(SqliteStore(file)) as store:
        store.save_session(info)
        store.record(session, MessageAdded(agent, message))
    with closing(SqliteStore(file)) as store:
        if [one.id for one in store.sessions()] != [session]:
            raise CheckFailed("the session was not there again")
        if [hit.session_id for hit in store.search(_WORD, 5).hits] != [session]:
            raise CheckFailed("the session's words were not found")
    return "a session was written, read and found"


def secrets(place: Path) -> str:
    """Keep a key where there is no keyring: in a file for this person alone."""
    import keyring

    folder = place / "keys"
    folder.mkdir()
    Secrets(folder, environment={}).set_key("openai", "sk-check", "file")
    if Secrets(folder, environment={}).key_for("openai") != "sk-check":
        raise CheckFailed("the key was not read back")
    if sys.platform != "win32" and any(f.stat().st_mode & 0o077 for f in folder.iterdir()):
        raise CheckFailed("others can read the key")
    return f"kept in a private file; keyring: {type(keyring.get_keyring()).__module__}"


def certificates(_: Path) -> str:
    """Look whether a provider's certificate could be checked."""
    import certifi

    context = ssl.create_default_context(cafile=certifi.where())
    return f"{len(context.get_ca_certs())} authorities, {ssl.OPENSSL_VERSION}"


def documents(_: Path) -> str:
    """Write one document of each kind, and read it as the agent would."""
    made = {"docx": _docx(), "xlsx": _xlsx(), "pptx": _pptx()}
    for kind, content in made.items():
        if _WORD not in document_text(f"check.{kind}", content):
            raise CheckFailed(f"a {kind} file was not read")
    document_text("check.pdf", _pdf())
    return f"pdf, {', '.join(made)}"


def _docx() -> bytes:
    import docx

    document, file = docx.Document(), io.BytesIO()
    document.add_paragraph(_WORD)
    document.save(file)
    return file.getvalue()


def _xlsx() -> bytes:
    import openpyxl

    book, file = openpyxl.Workbook(), io.BytesIO()
    book.create_sheet("Check").append([_WORD])
    book.save(file)
    return file.getvalue()


def _pptx() -> bytes:
    import pptx

    show, file = pptx.Presentation(), io.BytesIO()
    slide = show.slides.add_slide(show.slide_layouts[5])
    title = slide.shapes.title
    assert title is not None
    title.text = _WORD
    show.save(file)
    return file.getvalue()


def _pdf() -> bytes:
    import pypdf

    document, file = pypdf.PdfWriter(), io.BytesIO()
    document.add_blank_page(200, 200)
    document.write(file)
    return file.getvalue()
