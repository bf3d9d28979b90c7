"""What the installers are made of fits together: names, icons, papers, locks and workflows."""

from __future__ import annotations

import ast
import json
import os
import plistlib
import re
import shutil
import struct
import subprocess
import sys
from importlib.metadata import version as version_of
from pathlib import Path

import pytest

import desktop_agent
from desktop_agent import paths
from desktop_agent.app import USAGE
from desktop_agent.core.providers import PROVIDERS
from desktop_agent.headless.arguments import make_parser
from scripts.check_dependencies import lock_findings

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and modes of Linux files")

ROOT = Path(desktop_agent.__file__).parents[1]
PACKAGING = ROOT / "packaging"
ICONS = ROOT / "resources" / "app-icon"
SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)


def ask(program: str) -> str:
    """Run some lines beside the packaging scripts, as those run."""
    head = f"import sys; sys.path[:0] = [{str(PACKAGING)!r}, {str(ROOT)!r}]\n"
    done = subprocess.run(
        [sys.executable, "-P", "-c", head + program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree of a package with a small program in the frozen app's place."""
    place = tmp_path_factory.mktemp("tree")
    frozen = place / "frozen"
    (frozen / "_internal").mkdir(parents=True)
    (frozen / "desktop-agent").write_bytes(b"")
    (frozen / "_internal" / "libssl.so.3").write_bytes(b"")
    (frozen / "_internal" / "libpython3.11.so.1.0").write_bytes(b"")
    parts = [{"name": "Plum", "version": "1", "licence": "MIT", "texts": ["…"], "kind": "pypi"}]
    (place / "shipped.json").write_text(json.dumps(parts))
    ask(
        "import linux_tree; from pathlib import Path; place = Path("
        f"{str(place)!r}); b = linux_tree.Build(place / 'frozen', place / 'shipped.json', '1.2.3', "
        "1795000000); linux_tree.lay_out(b, place / 'tree', for_distribution=True)"
    )
    return place / "tree"


def test_a_package_has_a_menu_entry_icons_a_manual_and_licences(tree: Path) -> None:
    share = tree / "usr" / "share"
    found = {str(path.relative_to(share)) for path in share.rglob("*") if path.is_file()}
    icons = {f"icons/hicolor/{size}x{size}/apps/desktop-agent.png" for size in SIZES}
    assert found >= icons | {
        "applications/desktop-agent.desktop",
        "applications/with-desktop-agent.desktop",
        "kio/servicemenus/desktop-agent.desktop",
        "file-manager/actions/desktop-agent.desktop",
        "icons/hicolor/scalable/apps/desktop-agent.svg",
        "icons/hicolor/symbolic/apps/desktop-agent-symbolic.svg",
        "metainfo/io.github.desktop_agent.DesktopAgent.metainfo.xml",
        "man/man1/desktop-agent.1.gz",
        "doc/desktop-agent/copyright",
        "doc/desktop-agent/licenses.txt.gz",
        "doc/desktop-agent/sbom.cdx.json.gz",
    }
    assert (tree / "usr/bin/desktop-agent").readlink() == Path("../lib/desktop-agent/desktop-agent")


def test_libraries_that_the_system_mends_are_not_in_its_package(tree: Path) -> None:
    inside = tree / "usr/lib/desktop-agent/_internal"
    assert [path.name for path in inside.iterdir()] == ["libpython3.11.so.1.0"]


@pytest.mark.parametrize("name", ["desktop-agent.desktop", "with-desktop-agent.desktop"])
def test_the_menu_entries_are_valid(tree: Path, name: str) -> None:
    if shutil.which("desktop-file-validate") is None:
        pytest.skip("desktop-file-validate is not installed")
    entry = tree / "usr/share/applications" / name
    checked = subprocess.run(["desktop-file-validate", entry], capture_output=True, text=True)
    assert checked.stdout + checked.stderr == ""


def test_the_description_for_software_centres_is_valid(tree: Path) -> None:
    if shutil.which("appstreamcli") is None:
        pytest.skip("appstreamcli is not installed")
    (file,) = (tree / "usr/share/metainfo").glob("*.xml")
    command = ["appstreamcli", "validate", "--no-net", str(file)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_folders_open_with_it_and_it_does_not_take_them_from_the_file_manager() -> None:
    """Where nothing is chosen, the entry that is first by name opens folders."""
    entries = sorted((PACKAGING / "linux").glob("*desktop-agent.desktop"))
    taking = [one.name for one in entries if "MimeType=inode/directory;" in one.read_text()]
    assert taking == ["with-desktop-agent.desktop"]
    usual = ("org.gnome.Nautilus", "org.kde.dolphin", "nemo", "pcmanfm", "thunar", "caja")
    assert all(f"{manager}.desktop" < taking[0] for manager in usual)


@pytest.mark.parametrize("size", SIZES)
def test_an_icon_is_as_large_as_its_name_says(size: int) -> None:
    body = (ICONS / f"{size}.png").read_bytes()
    assert struct.unpack(">II", body[16:24]) == (size, size)


def test_the_icons_of_the_other_systems_hold_all_sizes() -> None:
    ico = (ICONS / "desktop-agent.ico").read_bytes()
    count = struct.unpack("<HHH", ico[:6])[2]
    sizes = [ico[6 + 16 * n] or 256 for n in range(count)]
    assert sizes == [16, 24, 32, 48, 64, 256]
    icns = (ICONS / "desktop-agent.icns").read_bytes()
    assert icns[:4] == b"icns"
    assert struct.unpack(">I", icns[4:8])[0] == len(icns)


@pytest.mark.skipif(sys.platform != "linux", reason="packed to the byte by the system's own zlib")
def test_the_icons_are_what_the_script_draws(tmp_path: Path) -> None:
    script = str(PACKAGING / "icons.py")
    subprocess.run([sys.executable, "-P", script, str(tmp_path)], check=True)
    drawn = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(drawn) == len(SIZES) + 2
    for name, body in drawn.items():
        assert (ICONS / name).read_bytes() == body, f"run packaging/icons.py: {name} differs"


def test_the_manual_names_every_start_and_every_option() -> None:
    page = ask("import man; print(man.man_page(1795000000))").replace("\\-", "-")
    options = re.findall(r"(?<![\w-])--?[a-z][a-z-]*", make_parser().format_help())
    starts = re.findall(r"--[a-z-]+", USAGE)
    for name in (*options, *starts, "desktop-agent run"):
        assert name in page, name
    assert desktop_agent.__version__ in page
    if sys.platform == "linux" and shutil.which("man"):
        checked = subprocess.run(
            ["man", "--warnings", "-l", "-"], input=page, capture_output=True, text=True
        )
        assert checked.stderr == ""


def test_the_build_is_made_of_files_with_hashes_and_names_no_host() -> None:
    assert list(lock_findings((PACKAGING / "requirements.lock").read_text())) == []
    lock = ask("import freeze; print(freeze.build_lock())")
    names = set(re.findall(r"^([a-z0-9._-]+)==", lock, re.MULTILINE))
    assert names >= {"pyinstaller", "pyside6-essentials", "litellm", "msgspec", "keyring"}
    assert not names & {"pytest", "hypothesis", "ruff", "basedpyright"}


def test_nothing_that_an_offered_provider_needs_is_left_out() -> None:
    """The whole proof is the self-check of a frozen app; this one is quick."""
    excluded = json.loads(
        ask("import contents, json; print(json.dumps(contents.EXCLUDED_MODULES))")
    )
    left_out = {name for name in excluded if name.startswith("litellm.llms")}
    assert not left_out
    assert len(PROVIDERS) > 20


@pytest.mark.skipif(sys.platform != "linux", reason="what the bootloader of Linux sets")
@pytest.mark.parametrize("own", [{}, {"LD_LIBRARY_PATH": "/opt/plum"}])
def test_what_the_start_of_the_frozen_app_set_for_itself_is_not_handed_on(
    tmp_path: Path, own: dict[str, str]
) -> None:
    """A program of ours that is told that it is part of another start has no packed libraries."""
    script = tmp_path / "script.py"
    script.write_text("import json, os; print(json.dumps({**os.environ}))\n")
    mine = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), **own}
    theirs = {
        "LD_LIBRARY_PATH": "/usr/lib/desktop-agent/_internal",
        **{f"{name}_ORIG": value for name, value in own.items()},
        "_PYI_ARCHIVE_FILE": "/usr/lib/desktop-agent/desktop-agent",
        "_PYI_PARENT_PROCESS_LEVEL": "1",
    }
    done = subprocess.run(
        [sys.executable, PACKAGING / "start.py", "--python", script],
        env=mine | theirs, capture_output=True, text=True, check=True,
    )  # fmt: skip
    seen = json.loads(done.stdout)
    seen.pop("LC_CTYPE", None)  # Python's own
    assert seen == mine


def test_what_scripts_of_skills_import_is_in_the_build() -> None:
    """They run with the frozen app, where PyInstaller sees no import of theirs."""
    named = set(json.loads(ask("import contents, json; print(json.dumps(contents.of_scripts()))")))
    for script in paths.builtin_skills().glob("*/scripts/*.py"):
        tree = ast.parse(script.read_text("utf-8"))
        found = [n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
        found += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
        wanted = {name.partition(".")[0] for name in found} & sys.stdlib_module_names
        assert wanted - {"__future__"} <= named, script


def test_a_bill_of_materials_names_each_part_once_and_is_the_same_again() -> None:
    program = (
        "import papers; parts = [dict(name=n, version='1', licence='MIT', texts=[], kind='pypi')"
        " for n in ('Plum', 'Pear')]; print(papers.bill_of_materials(parts, '1.2.3', 1795000000))"
    )
    bill = ask(program)
    assert bill == ask(program)
    parsed = json.loads(bill)
    assert (parsed["bomFormat"], parsed["specVersion"]) == ("CycloneDX", "1.6")
    assert [one["purl"] for one in parsed["components"]] == ["pkg:pypi/plum@1", "pkg:pypi/pear@1"]


def test_a_copy_that_a_tool_of_the_build_keeps_for_itself_is_not_named_as_shipped(
    tmp_path: Path,
) -> None:
    for name in ("msgspec", "pyinstaller"):
        head = tmp_path / f"{name}-0.0.1.dist-info" / "METADATA"
        head.parent.mkdir()
        head.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.1\n")
    program = (
        f"import shipped; sys.path.append({str(tmp_path)!r})\n"
        "for one in shipped.shipped({'msgspec'}): print(one['name'], one['version'])"
    )
    named = [line for line in ask(program).splitlines() if line.startswith("msgspec ")]
    assert named == [f"msgspec {version_of('msgspec')}"]


def test_each_exception_of_lintian_has_its_reason() -> None:
    lines = (PACKAGING / "linux" / "lintian-overrides").read_text().splitlines()
    for number, line in enumerate(lines):
        if line and not line.startswith("#"):
            before = [one for one in lines[:number] if not one.startswith("desktop-agent:")]
            assert before[-1].startswith("#"), line


def test_the_windows_installer_compiles(tmp_path: Path) -> None:
    if shutil.which("makensis") is None:
        pytest.skip("makensis is not installed")
    frozen = tmp_path / "frozen"
    (frozen / "_internal").mkdir(parents=True)
    for name in ("Desktop Agent.exe", "desktop-agent.exe", "_internal/part"):
        (frozen / name).write_bytes(b"MZ")
    target = tmp_path / "Desktop-Agent-setup.exe"
    told = {"VERSION": "1.2.3", "FROZEN": frozen, "TARGET": target, "ROOT": ROOT}
    defines = ["-DUNIX", *(f"-D{name}={value}" for name, value in told.items())]
    command = ["makensis", "-V2", "-WX", *defines, str(PACKAGING / "windows" / "setup.nsi")]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout
    assert target.read_bytes()[:2] == b"MZ"


def test_the_windows_installer_names_files_of_the_build_as_windows_does() -> None:
    """What packs files finds none behind a `/` there; a `\\` does on every system."""
    script = (PACKAGING / "windows" / "setup.nsi").read_text("utf-8")
    named = re.findall(r'"\$\{(?:ROOT|FROZEN)\}([^"]+)"', script)
    assert len(named) > 3
    assert [path for path in named if "/" in path] == []


def test_an_uninstall_on_windows_keeps_the_sessions_unless_asked() -> None:
    script = (PACKAGING / "windows" / "setup.nsi").read_text("utf-8")
    sections = re.findall(r"^Section (.*?)$(.*?)^SectionEnd", script, re.MULTILINE | re.DOTALL)
    deleting = [head for head, body in sections if r"$LOCALAPPDATA\desktop-agent" in body]
    assert len(deleting) == 1
    assert deleting[0].startswith('/o "un.')  # /o: not ticked, and not done silently


def test_an_update_on_windows_waits_for_every_program_that_it_replaces() -> None:
    """Also for a job in a terminal: half of the files would be gone, the open ones the old ones."""
    script = (PACKAGING / "windows" / "setup.nsi").read_text("utf-8")
    programs = set(re.findall(r'Delete "\$INSTDIR\\(.+\.exe)"', script)) - {"uninstall.exe"}
    assert len(programs) == 2
    assert set(re.findall(r'insertmacro LOOK_WHETHER_OPEN "(.+?)"', script)) == programs


def test_what_the_try_on_a_bare_debian_takes_along_is_there() -> None:
    script = (PACKAGING / "test" / "fresh_debian").read_text("utf-8")
    named = re.findall(r"\$here/([\w./]+)", script)
    assert "double_click.py" in named
    assert [name for name in named if not (PACKAGING / "test" / name).is_file()] == []


def test_macos_gets_only_the_rights_that_python_needs() -> None:
    rights = plistlib.loads((PACKAGING / "macos" / "entitlements.plist").read_bytes())
    assert all(name.startswith("com.apple.security.cs.") for name in rights)
    assert len(rights) == 2


def test_a_framework_of_qt_is_in_the_bundle_for_macos_as_a_whole_or_not_at_all() -> None:
    """Nothing that holds a framework without its library can be signed."""
    parts = ("QtQuick", "Versions/A/QtQuick", "Versions/Current", "Versions/A/Resources/Info.plist")
    given = [f"PySide6/Qt/lib/{name}.framework/{part.replace('QtQuick', name)}"
             for name in ("QtQuick", "QtCore") for part in (*parts, "Resources")]  # fmt: skip
    kept = ask(f"import contents; print([contents.is_kept(one) for one in {given}])")
    assert json.loads(kept.lower()) == [False] * 5 + [True] * 5


def test_each_library_of_the_bundle_for_macos_is_signed_before_what_holds_it(
    tmp_path: Path,
) -> None:
    """The libraries of frameworks have no suffix. Apple notarises nothing with one left out."""
    inside = tmp_path / "Desktop Agent.app/Contents/Frameworks"
    for name in ("Python.framework/Versions/3.11/Python", "PySide6/QtCore.abi3.so", "lib a.dylib"):
        (inside / name).parent.mkdir(parents=True, exist_ok=True)
        (inside / name).touch()
    (tmp_path / "hdiutil").write_text("#!/bin/sh\n")
    (tmp_path / "codesign").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>"{tmp_path}/signed"\n')
    for name in ("hdiutil", "codesign"):
        (tmp_path / name).chmod(0o700)
    found = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    command = ["sh", PACKAGING / "macos" / "dmg", tmp_path, tmp_path / "made.dmg"]
    subprocess.run(command, env=found, check=True, capture_output=True)
    signed = [one for one in (tmp_path / "signed").read_text().splitlines() if one[0] == "/"]
    named = ["PySide6/QtCore.abi3.so", "lib a.dylib", "Python.framework"]
    assert sorted(signed[:3]) == sorted(str(inside / name) for name in named)
    assert signed[3] == str(inside.parents[1])


def test_no_action_that_builds_a_release_can_be_changed_under_its_name() -> None:
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert workflows
    for workflow in workflows:
        for name in re.findall(r"uses: *(\S+)", workflow.read_text("utf-8")):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name), (workflow.name, name)


# Ends the process when it starts another one with a file that it holds open.
HOLDS_NOTHING = """
import os
def look(event, given):
    if event == "subprocess.Popen" and os.path.exists(given[1][-1]):
        for number in os.listdir("/dev/fd"):
            try:
                is_it = os.path.samestat(os.fstat(int(number)), os.stat(given[1][-1]))
            except OSError:
                continue
            assert not is_it, "on Windows the other process could not write it"
sys.addaudithook(look)
"""


def test_what_a_start_imports_is_known_and_little_more() -> None:
    names = json.loads(
        ask(
            f"{HOLDS_NOTHING}import first_imports, json; from pathlib import Path; "
            f"print(json.dumps(sorted(first_imports.first_imports(Path({str(ROOT)!r})))))"
        )
    )
    assert {"desktop_agent.gui.window.main_window", "PySide6.QtWidgets", "litellm", "openai"} <= {
        *names
    }
    assert not {"pytest", "docx", "pptx"} & {*names}
