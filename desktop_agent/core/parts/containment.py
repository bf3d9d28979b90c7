"""How one command is kept from the rest of the computer, for the policy and for the card."""

from __future__ import annotations

from desktop_agent.core.parts.values import Value

# Reasons to ask that say no more than what a card says of the containment itself.
LEAVES = "It would run outside the sandbox."
MAY_CHANGE = "It may change files in the folder."


class Containment(Value, frozen=True):
    """What the sandbox lets one command do, where there is a sandbox that holds.

    Without `is_contained` it runs outside of it, for the `reason` that the model gave. It may
    write to the workspace while `is_changing`, to git's own files while `is_git_writable`.
    `is_wide` says that what it may use includes the home folder as a whole. `named` are the files
    that run by themselves, and the like, which stand in the command: it is asked about with them.
    """

    is_contained: bool = True
    is_changing: bool = True
    is_git_writable: bool = False
    is_wide: bool = False
    reason: str = ""
    named: tuple[str, ...] = ()
