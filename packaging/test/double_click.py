"""A person with a mouse, on a bare desktop: finds the app, double-clicks it, does the demo's job.

    python3 double_click.py TRIES REPORT.json       as an ordinary user, where the app is installed

Runs in the system's own Python, with python3-pyatspi, Xvfb, openbox, pcmanfm and xdotool. A try is
a real double click on the icon in the file manager's desktop; the time is counted from its second
press until the window is managed and more than one colour is painted in it.
"""

import ctypes
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

HOME = Path.home()
SCREEN = "1280x800"
ICON = (60, 36)
LONGEST_S = 30.0


class Desktop:
    """Xvfb, a session bus, openbox, and pcmanfm that draws the desktop."""

    def __init__(self):
        self.processes = []
        number = self.start("Xvfb", "-displayfd", "1", "-screen", "0", f"{SCREEN}x24")
        os.environ["DISPLAY"] = f":{number}"
        os.environ["XDG_RUNTIME_DIR"] = str(HOME / ".run")
        (HOME / ".run").mkdir(mode=0o700, exist_ok=True)
        address = self.start("dbus-daemon", "--session", "--nofork", "--print-address=1")
        os.environ["DBUS_SESSION_BUS_ADDRESS"] = address
        os.environ.update(QT_LINUX_ACCESSIBILITY_ALWAYS_ON="1", NO_AT_BRIDGE="0")
        self.begin("openbox")
        self.begin("/usr/libexec/at-spi-bus-launcher", "--launch-immediately")
        self.begin("pcmanfm", "--desktop")

    def start(self, *command):
        process = self.begin(*command, stdout=subprocess.PIPE)
        return process.stdout.readline().decode().strip()

    def begin(self, *command, stdout=subprocess.DEVNULL):
        process = subprocess.Popen(command, stdout=stdout, stderr=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(10)


class Attributes(ctypes.Structure):
    """XWindowAttributes."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("x", "y", "width", "height", "border", "depth")),
        ("visual", ctypes.c_void_p),
        ("root", ctypes.c_ulong),
        *((name, ctypes.c_int) for name in ("kind", "bit", "gravity", "backing")),
        *((name, ctypes.c_ulong) for name in ("planes", "pixel")),
        ("save_under", ctypes.c_int),
        ("colormap", ctypes.c_ulong),
        *((name, ctypes.c_int) for name in ("installed", "map_state")),
        *((name, ctypes.c_long) for name in ("all_events", "your_events", "no_propagate")),
        ("override", ctypes.c_int),
        ("screen", ctypes.c_void_p),
    ]


class Screen:
    """What an X client can know: which windows are managed, and what is painted in one."""

    def __init__(self):
        x = self.x = ctypes.CDLL("libX11.so.6")
        for name in ("XOpenDisplay", "XGetImage"):
            getattr(x, name).restype = ctypes.c_void_p
        x.XDefaultRootWindow.restype = x.XInternAtom.restype = ctypes.c_ulong
        x.XGetPixel.restype = ctypes.c_ulong
        x.XGetPixel.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
        x.XDestroyImage.argtypes = [ctypes.c_void_p]
        # A window may go between two questions: no answer then, and no end of this program.
        self.deaf = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: 0)
        x.XSetErrorHandler(self.deaf)
        self.display = ctypes.c_void_p(x.XOpenDisplay(None))
        self.root = ctypes.c_ulong(x.XDefaultRootWindow(self.display))

    def property(self, window, name, count=1024):
        atom = ctypes.c_ulong(self.x.XInternAtom(self.display, name, 0))
        kind, form = ctypes.c_ulong(), ctypes.c_int()
        found, left = ctypes.c_ulong(), ctypes.c_ulong()
        value = ctypes.c_void_p()
        self.x.XGetWindowProperty(
            self.display, ctypes.c_ulong(window), atom, 0, count, 0, 0,
            ctypes.byref(kind), ctypes.byref(form), ctypes.byref(found), ctypes.byref(left),
            ctypes.byref(value),
        )  # fmt: skip
        if not value:
            return []
        kinds = {8: ctypes.c_ubyte, 32: ctypes.c_ulong}
        array = ctypes.cast(value, ctypes.POINTER(kinds.get(form.value, ctypes.c_ubyte)))
        items = [array[i] for i in range(found.value)]
        self.x.XFree(value)
        return items

    def windows(self):
        """Return the managed windows of the app."""
        managed = self.property(self.root.value, b"_NET_CLIENT_LIST")
        return [w for w in managed if b"desktop-agent" in bytes(self.property(w, b"WM_CLASS"))]

    def is_painted(self, window):
        seen = Attributes()
        if not self.x.XGetWindowAttributes(self.display, window, ctypes.byref(seen)):
            return False
        if seen.map_state != 2:
            return False
        image = self.x.XGetImage(
            self.display, ctypes.c_ulong(window), 0, 0, seen.width, seen.height,
            ctypes.c_ulong(0xFFFFFF), 2,
        )  # fmt: skip
        if not image:
            return False
        step = 16
        points = [(px, py) for px in range(0, seen.width, step) for py in range(0, seen.height, 8)]
        colours = {self.x.XGetPixel(image, px, py) for px, py in points}
        self.x.XDestroyImage(image)
        return len(colours) > 3

    def has_icon(self, x, y):
        """Tell whether something stands there on the desktop: not the ground's one colour."""
        image = self.x.XGetImage(self.display, self.root, x - 20, y - 20, 40, 40,
                                 ctypes.c_ulong(0xFFFFFF), 2)  # fmt: skip
        if not image:
            return False
        colours = {self.x.XGetPixel(image, i, j) for i in range(0, 40, 4) for j in range(0, 40, 4)}
        self.x.XDestroyImage(image)
        return len(colours) > 2

    def wait(self, is_met, seconds=LONGEST_S):
        """Look again and again until it is so; return the moment, or None."""
        pause = threading.Event()
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            if is_met():
                return time.monotonic()
            pause.wait(0.005)
        return None


def prepare():
    """Put what is double-clicked on the desktop: the menu's entry, or the AppImage itself."""
    shutil.rmtree(HOME / "Desktop", ignore_errors=True)
    (HOME / "Desktop").mkdir()
    portable = os.environ.get("PORTABLE", "")
    entry = Path(portable or "/usr/share/applications/desktop-agent.desktop")
    shutil.copyfile(entry, HOME / "Desktop" / entry.name)
    (HOME / "Desktop" / entry.name).chmod(0o755)
    settings = HOME / ".config" / "libfm"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "libfm.conf").write_text("[config]\nquick_exec=1\nsingle_click=0\n")


def xdotool(*words):
    subprocess.run(["xdotool", *map(str, words)], check=True)


def double_click(x, y):
    """Two presses 60 ms apart, on a desktop that has heard a click elsewhere before."""
    xdotool("mousemove", 900, 700, "click", 1)
    xdotool("mousemove", x, y)
    xdotool("click", "--repeat", 2, "--delay", 60, 1)
    return time.monotonic()


def picture(name):
    if shutil.which("import"):
        subprocess.run(["import", "-window", "root", str(HOME / name)], check=False)


def is_awake(screen):
    """Click on the bare desktop, which pcmanfm draws once it has heard that; tell if it has."""
    xdotool("mousemove", 900, 700, "click", 1)
    threading.Event().wait(0.3)
    return screen.has_icon(*ICON)


def one_try(screen):
    """Double-click, wait for the window, close it; return the seconds, or None."""
    clicked = double_click(*ICON)
    painted = screen.wait(lambda: any(screen.is_painted(w) for w in screen.windows()))
    if painted is None:
        return None
    seconds = painted - clicked
    for window in screen.windows():
        close(window)
    screen.wait(lambda: not screen.windows() and not running())
    return round(seconds, 3)


def close(window):
    """Close it as the title bar's button does."""
    subprocess.run(["wmctrl", "-i", "-c", hex(window)], check=False)


def running():
    found = subprocess.run(["pgrep", "-u", str(os.getuid()), "-x", "desktop-agent|AppRun"],
                           capture_output=True)  # fmt: skip
    return found.stdout.split()


def main():
    tries, report = int(sys.argv[1]), Path(sys.argv[2])
    # A second run, with an AppImage's folder, begins as a first one does.
    for place in (".config/desktop-agent", ".local/share/desktop-agent", "desktop_agent"):
        shutil.rmtree(HOME / place, ignore_errors=True)
    prepare()
    desktop = Desktop()
    screen = Screen()
    told = {"load_before": os.getloadavg()[0]}
    try:
        told["icon"] = screen.wait(lambda: is_awake(screen)) is not None
        picture("desktop.png")
        told["first_s"] = one_try(screen)
        told["tries_s"] = [one_try(screen) for _ in range(tries)]
        told["opened"] = sum(one is not None for one in told["tries_s"])
        told["load_after"] = os.getloadavg()[0]
        told["demo"] = demo(screen)
    finally:
        report.write_text(json.dumps(told, indent=1) + "\n")
        desktop.close()


class Seen:
    """The app as a screen reader sees it, to know where things stand; the mouse does the rest."""

    def __init__(self, pid):
        script = str(Path(__file__).with_name("outside.py"))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.outside = subprocess.Popen([sys.executable, script, str(pid)], **pipes)
        assert json.loads(self.outside.stdout.readline()) == "ready"

    def ask(self, *command):
        self.outside.stdin.write(json.dumps(command) + "\n")
        self.outside.stdin.flush()
        return json.loads(self.outside.stdout.readline())

    def names(self):
        return [node["name"] for node in self.ask("look")]

    def click(self, name):
        place = self.ask("place", name)
        assert place, f"{name} is not there; there are {self.names()}"
        xdotool("mousemove", *place, "click", 1)

    def close(self):
        self.outside.stdin.close()
        self.outside.wait(10)


def demo(screen):
    """Do the demo's job with the mouse alone; return what was clicked, and what came of it."""
    clicked = double_click(*ICON)
    screen.wait(lambda: any(screen.is_painted(w) for w in screen.windows()))
    seen = Seen(int(running()[0]))
    steps = {"window_s": round(time.monotonic() - clicked, 2)}
    try:
        seen.click("Use the demo")
        seen.ask("wait", "Use it")
        seen.click("Use it")
        # What the demo model is offered: the first makes it write something.
        steps["prompt"] = seen.ask("shows", "write an overview")
        seen.click(steps["prompt"])
        seen.click("Send message")
        steps["allowed"] = is_allowed(seen)
        picture("demo.png")
    finally:
        picture("end.png")
        seen.close()
    steps["answer_s"] = answer_s(HOME / ".local/share/desktop-agent/sessions.db")
    steps["files"] = sorted(
        str(p.relative_to(HOME)) for p in (HOME / "desktop_agent").rglob("*.md")
    )
    for window in screen.windows():
        close(window)
    screen.wait(lambda: not running())
    return steps


def answer_s(path):
    """Return the time from the message to the first words of the answer, by their rows on disk."""
    with closing(sqlite3.connect(path)) as store:
        rows = dict(store.execute("SELECT kind, min(at) FROM event GROUP BY kind"))
    if not rows.keys() >= {"NoteQueued", "MessageStarted"}:
        return None
    return round(rows["MessageStarted"] - rows["NoteQueued"], 3)


def is_allowed(seen):
    """Click what allows it until nothing is asked and nothing runs; tell how often."""
    clicks, give_up = 0, time.monotonic() + 90
    while time.monotonic() < give_up:
        names = seen.names()
        if asked := [name for name in ("Allow once", "Create") if name in names]:
            seen.click(asked[0])
            clicks += 1
        elif clicks and not any(name.startswith("Stop") for name in names):
            break
        threading.Event().wait(0.5)
    return clicks


if __name__ == "__main__":
    main()
