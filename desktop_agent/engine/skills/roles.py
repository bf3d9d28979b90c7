"""What a subagent can be: the tools and the mode of each role, and its instructions."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from desktop_agent.core.approvals import Mode
from desktop_agent.core.tool import Access, Tool, ToolError


class Role(msgspec.Struct, frozen=True):
    """`access` limits the tools by what they do; instructions follow the system prompt.

    `tool_names`, if given, are the only tools; names of none are left out. An empty `model` is
    the parent's.
    """

    name: str
    about: str
    instructions: str
    mode: Mode = "free"
    access: frozenset[Access] = frozenset(Access)
    model: str = ""
    tool_names: tuple[str, ...] | None = None

    def tools(self, known: Mapping[str, Tool]) -> tuple[str, ...]:
        """Return the names of the tools the role has."""
        wanted = self._wanted()
        return tuple(
            name
            for name, tool in known.items()
            if tool.access in self.access and (wanted is None or name in wanted)
        )

    def unknown_tools(self, known: Mapping[str, Tool]) -> tuple[str, ...]:
        """Return the names that no tool has."""
        return tuple(name for name in self.tool_names or () if name.lower() not in known)

    def _wanted(self) -> frozenset[str] | None:
        if self.tool_names is None:
            return None
        # A subagent can always ask the one it works for.
        return frozenset({"ask_parent", *(name.lower() for name in self.tool_names)})


_LOOKING = frozenset({Access.INTERNAL, Access.READ, Access.NETWORK})

ROLES: dict[str, Role] = {
    "general": Role(
        "general",
        "does a whole piece of work",
        "You do one piece of work for another agent. Do it whole, then answer with the result: "
        "what you found or changed, where, and what you could not do.",
    ),
    "explore": Role(
        "explore",
        "looks and reports, changes nothing",
        "You look for what another agent needs to know, and change nothing. Answer with what "
        "you found: paths with line numbers, short quotations, and what you did not find.",
        mode="look",
        access=_LOOKING,
    ),
    "review": Role(
        "review",
        "checks work and lists what is wrong",
        "You check a piece of work for another agent, and change nothing. Answer with a list of "
        "problems, the worst first, each with its place and why it is one; say so if there is "
        "none.",
        mode="look",
        access=_LOOKING | {Access.EXECUTE},
    ),
}


def role_named(name: str, others: Mapping[str, Role] | None = None) -> Role:
    """Return a built-in role or one of `others`. Raises ToolError naming those there are."""
    known = {**(others or {}), **ROLES}
    role = known.get(name or "general")
    if role is None:
        raise ToolError(
            f"there is no role '{name}'. Roles: {', '.join([*ROLES, *(others or {})])}."
        )
    return role
