"""A screen reader's view of the app: runs in the system's own Python, which has pyatspi.

Reads one JSON list a line, `[command, argument…]`, and answers with one JSON value a line.
"""

import contextlib
import json
import sys
import threading
import time

import pyatspi
from gi.repository import GLib

SECONDS = 900  # as in tests/helpers/patience.py, which this Python can not import
PRESSES = {"press", "click", "toggle", "jump", "activate", "showmenu"}


def app_of(pid):
    """Return the app with this process id, as soon as it is on the bus."""
    return until(lambda: [a for a in children(pyatspi.Registry.getDesktop(0)) if is_of(a, pid)])[0]


def is_of(app, pid):
    try:
        return app.get_process_id() == pid
    except (GLib.Error, LookupError, RuntimeError):
        return False


def until(look, every=0.05, seconds=SECONDS):
    """Look again and again until something is there; nothing after a minute."""
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        found = look()
        if found:
            return found
        threading.Event().wait(every)
    return look()


def children(node):
    try:
        return [c for c in (node.getChildAtIndex(i) for i in range(node.childCount)) if c]
    except (GLib.Error, LookupError, RuntimeError):
        return []


def walk(node):
    """Yield every node that is showing; what goes away meanwhile is passed over."""
    try:
        is_hidden = not node.getState().contains(pyatspi.STATE_SHOWING)
        if is_hidden and node.getRoleName() != "application":
            return
    except (GLib.Error, LookupError, RuntimeError):
        return
    yield node
    for child in children(node):
        yield from walk(child)


def actions(node):
    try:
        action = node.queryAction()
        return {action.getName(i).lower(): i for i in range(action.nActions)}
    except NotImplementedError:
        return {}


def describe(node):
    state = node.getState()
    return {
        "name": node.name,
        "role": node.getRoleName(),
        "is_focusable": state.contains(pyatspi.STATE_FOCUSABLE),
        "is_focused": state.contains(pyatspi.STATE_FOCUSED),
        "can_unfold": state.contains(pyatspi.STATE_EXPANDABLE),
        "is_enabled": state.contains(pyatspi.STATE_ENABLED),
        "is_pressable": bool(PRESSES & set(actions(node))),
    }


class Outside:
    """What the other side may ask."""

    def __init__(self, pid):
        self.app = app_of(pid)
        self.tasks = None

    def look(self):
        """Return every showing node."""
        self.app.clear_cache()
        found = []
        for node in walk(self.app):
            try:
                found.append(describe(node))
            except (GLib.Error, LookupError, RuntimeError):
                continue
        return found

    def nodes(self):
        """Yield every showing node with its name; each question more is a message to the app."""
        self.app.clear_cache()
        for node in walk(self.app):
            try:
                yield node, node.name
            except (GLib.Error, LookupError, RuntimeError):
                continue

    def names(self):
        """Return the names of all that is showing."""
        return [name for _, name in self.nodes()]

    def named(self, name):
        if name.endswith("…"):
            return [node for node, own in self.nodes() if own.startswith(name[:-1])]
        return [node for node, own in self.nodes() if own == name]

    def wait(self, name):
        """Wait until a node of this name is showing (`Approval…`: that begins so)."""
        found = until(lambda: self.named(name))
        return describe(found[0]) if found else None

    def shows(self, *words):
        """Wait until something is showing whose name has all these words; return the name."""

        def look():
            names = self.names()
            return [name for name in names if all(word in name for word in words)]

        found = until(look)
        return found[0] if found else ""

    def row(self, *words):
        """Wait until a task's row has all these words in its name; return the name.

        Looks at the list alone: what is there for a moment only is not missed.
        """

        def look():
            try:
                found = self.task_list() if self.tasks is None else self.tasks
                self.tasks = found
                found.clear_cache()
                names = [row.name for row in children(found)]
            except (GLib.Error, AttributeError, LookupError, RuntimeError):
                self.tasks = None
                return []
            return [name for name in names if all(word in name for word in words)]

        found = until(look, every=0.02)
        return found[0] if found else ""

    def task_list(self):
        self.app.clear_cache()
        lists = (n for n in walk(self.app) if n.name == "Tasks" and n.getRoleName() == "list")
        return next(lists, None)

    def gone(self, name):
        """Wait until nothing of this name is showing."""
        return bool(until(lambda: not self.named(name)))

    def order(self, first, second):
        """Wait until the first of two names stands before the second."""

        def look():
            names = self.names()
            is_there = first in names and second in names
            return is_there and names.index(first) < names.index(second)

        return until(look)

    def place(self, name):
        """Return the middle of what has this name, in pixels of the screen.

        A part of the window may be called as the field in it: the field is meant.
        """

        def look():
            try:
                nodes = self.named(name)
                fields = (node for node in nodes if describe(node)["is_focusable"])
                box = next(fields, nodes[0]).queryComponent().getExtents(pyatspi.DESKTOP_COORDS)
            except (GLib.Error, IndexError, LookupError, RuntimeError):
                return None  # it is not there, or has just been made anew
            return [box.x + box.width // 2, box.y + box.height // 2]

        return until(look)

    def press(self, name):
        """Press what has this name until it takes it: a card is deaf for its first moments."""
        nodes = until(lambda: self.pressable(name))
        # A press takes a tenth of a second; another one meanwhile would put it off.
        return bool(nodes and until(lambda: self.was_pressed(nodes[0]), every=0.5))

    def pressable(self, name):
        """Return what can be pressed of all that has this name."""
        found = []
        for node in self.named(name):
            with contextlib.suppress(GLib.Error, LookupError, RuntimeError):
                if PRESSES & set(actions(node)):
                    found.append(node)
        return found

    def push(self, name):
        """Press what has this name, once."""

        def push():
            for node in self.named(name):
                try:
                    kinds = actions(node)
                    kind = next(kind for kind in kinds if kind in PRESSES)
                    if node.getState().contains(pyatspi.STATE_ENABLED):
                        node.queryAction().doAction(kinds[kind])
                        return True
                except (GLib.Error, LookupError, RuntimeError, StopIteration):
                    continue  # it has gone, or can't be pressed
            return False

        return bool(until(push))

    def was_pressed(self, node):
        try:
            node.clear_cache()
            if not node.getState().contains(pyatspi.STATE_ENABLED):
                return True
            kinds = actions(node)
            kind = next(kind for kind in kinds if kind in PRESSES)
            node.queryAction().doAction(kinds[kind])
        except (GLib.Error, LookupError, RuntimeError):
            return True  # it has gone
        return False

    def is_there(self, name):
        return lambda: self.named(name)

    def text(self, name):
        """Return the text of what has this name."""
        for node in self.named(name):
            try:
                text = node.queryText()
            except NotImplementedError:
                continue
            return text.getText(0, text.characterCount)
        return ""

    def reads_only(self, name, words):
        """Wait a moment until the text is exactly this."""
        return until(lambda: self.text(name) == words, seconds=60)

    def reads(self, name, words):
        """Wait until the text holds these words."""
        return until(lambda: words in self.text(name))


def main():
    outside = Outside(int(sys.argv[1]))
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        command, *rest = json.loads(line)
        print(json.dumps(getattr(outside, command)(*rest)), flush=True)


if __name__ == "__main__":
    main()
