"""Which icon tells a skill from others: by what its name says that it is about."""

from __future__ import annotations

from desktop_agent.core.skills import Skill

ICONS = {
    "file": "pdf",
    "file-text": "document documents docx word doc docs markdown text writing write",
    "list": "spreadsheet spreadsheets excel xlsx csv table tables report reports",
    "eye": "review reviews audit inspect read reader",
    "flag": "release releases changelog version",
    "pencil": "edit editor style rename refactor",
    "square-pen": "skill creator template form forms minutes notes",
    "git-commit-horizontal": "git commit commits branch merge rebase github gitlab",
    "list-checks": "test tests testing check checks lint qa tasks todo plan",
    "send": "deploy deployment ship publish mail email",
    "globe": "web http api browser url site frontend html css",
    "image": "image images picture pictures design figma art canvas photo slides pptx",
    "server": "data database sql db postgres sqlite server docker cloud aws",
    "wallet": "invoice invoices money budget tax finance billing payment payments",
    "lock": "security auth secrets password privacy",
    "gauge": "performance bench benchmark profile speed monitor",
    "message-square": "chat message messages slack translate support",
    "clock": "calendar time schedule cron date",
    "search": "search find research explore analyze analysis",
    "folder": "files folder backup archive organize",
    "zap": "debug fix bug automation hook hooks",
    "box": "build package packaging install mcp",
    "bot": "agent agents model prompt prompts",
}
_BY_WORD = {word: icon for icon, words in ICONS.items() for word in words.split()}


def skill_icon(skill: Skill) -> str:
    """Return the icon of the first word of its name that is known, or a usual one."""
    for word in skill.name.casefold().replace("_", "-").split("-"):
        if word in _BY_WORD:
            return _BY_WORD[word]
    return "terminal" if skill.scripts else "book-open"
