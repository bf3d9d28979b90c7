"""The tools that come with the app."""

from __future__ import annotations

from desktop_agent.core.tool import Tool
from desktop_agent.tools.agents import agent_tools
from desktop_agent.tools.ask import ask_user
from desktop_agent.tools.files.reading import read
from desktop_agent.tools.files.search import glob, grep
from desktop_agent.tools.files.writing import edit, write
from desktop_agent.tools.shell.shell import shell
from desktop_agent.tools.shell.shell_jobs import shell_input, shell_job
from desktop_agent.tools.skills import skill
from desktop_agent.tools.tasks import task_tools
from desktop_agent.tools.web.web import web_fetch


def builtin_tools() -> tuple[Tool, ...]:
    """Return every built-in tool, in the order models see them."""
    return (
        read,
        write,
        edit,
        glob,
        grep,
        shell,
        shell_job,
        shell_input,
        web_fetch,
        ask_user,
        skill,
        *task_tools(),
        *agent_tools(),
    )
