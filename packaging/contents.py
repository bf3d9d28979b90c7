"""What goes into the frozen app and what does not, with the reason for each.

A provider that the app offers must work in it: `desktop-agent --self-check` and
`tests/packaging` make real requests from a frozen build.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import PurePosixPath

# Importable, but never imported on a road that the app takes.
EXCLUDED_MODULES = [
    # Developers' tools that other packages import when they are there.
    "IPython", "PyInstaller", "black", "hypothesis", "matplotlib", "mypy", "numpy", "pandas",
    "pip", "pkg_resources", "pytest", "scipy", "setuptools", "tkinter", "_tkinter", "unittest",
    "test", "pydoc", "doctest", "lib2to3", "idlelib", "ensurepip", "venv", "turtle", "curses",
    "readline", "torch", "transformers",
    # Of another time, and the only ones that want libdb, libnsl and libtirpc of the system.
    "nis", "_dbm",
    # litellm's own server. Much of what stands beside it is imported by what calls providers.
    "fastapi", "uvicorn", "gunicorn", "prisma", "apscheduler", "starlette.testclient",
    "litellm.proxy.proxy_server", "litellm.proxy.proxy_cli",
    "litellm.proxy.client",
    # Counts of tokens by other families' tokenizers: the app takes the providers' own counts.
    "huggingface_hub", "hf_xet", "tokenizers", "fsspec",
    # 37 MB for reading of scanned pages and transcription of sound by Amazon: not offered.
    "litellm.rust_bridge._native",
    # Qt that no window of ours uses.
    "PySide6.QtQml", "PySide6.QtQuick", "PySide6.QtQuickWidgets", "PySide6.QtQuickControls2",
    "PySide6.QtDesigner", "PySide6.QtSql", "PySide6.QtOpenGL", "PySide6.QtOpenGLWidgets",
    "PySide6.QtHelp", "PySide6.QtUiTools", "PySide6.QtPrintSupport", "PySide6.QtXml",
    "PySide6.QtConcurrent", "PySide6.QtDBus",
    "PySide6.QtNetwork", "PySide6.QtSvgWidgets",
    # A program ships no copy of what makes pictures of plots for documents.
    "PIL.ImageTk", "PIL.ImageQt", "lxml.html.clean",
    # 9 MB to draw text into pictures, and for a format that documents hold no pictures in.
    "PIL._avif", "PIL._imagingft", "PIL._imagingcms", "PIL._imagingtk",
]  # fmt: skip

# PyInstaller's own steps at a start that this app does without. This one imports Qt, in the model
# host too, where Qt then slows down each further import; its bindings find their Qt by themselves.
UNWANTED_HOOKS = ("pyi_rth_pyside6",)

# Amazon's models need the addresses of a few services; the rest is 25 MB of other services.
_AMAZON = ("sts", "sso", "sso-oidc")

# Read at run time by packages that look for files beside their modules.
_DATA = {
    "litellm": ("*.json", "litellm_core_utils/**/*", "llms/**/*.json", "containers/*.json",
                "responses/**/*.json"),
    "tiktoken_ext": (),
    "botocore": ("data/*.json", *(f"data/{one}/**/*" for one in _AMAZON), "cacert.pem"),
    "docx": ("templates/*",),
    "pptx": ("templates/*",),
    "certifi": ("cacert.pem",),
}  # fmt: skip

# Their version is read at run time, or shown in Settings, About.
METADATA = (
    "litellm", "openai", "tiktoken", "pydantic", "pydantic-settings", "httpx", "keyring", "mcp",
    "PySide6_Essentials", "shiboken6", "qasync", "msgspec", "markdown-it-py", "linkify-it-py",
    "Pygments", "platformdirs", "pathspec", "pypdf", "python-docx", "openpyxl", "python-pptx",
    "opentelemetry-api", "jsonschema", "importlib_metadata",
)  # fmt: skip

_QT_PLUGINS = {
    "platforms": ("qxcb", "qwayland", "qoffscreen", "qwindows", "qcocoa"),
    "platformthemes": ("qxdgdesktopportal",),
    "platforminputcontexts": (
        "composeplatforminputcontextplugin", "ibusplatforminputcontextplugin"),
    "imageformats": ("qsvg", "qjpeg", "qgif", "qwebp", "qico"),
    "iconengines": ("qsvgicon",),
    "styles": ("qmodernwindowsstyle", "qwindowsvistastyle", "qmacstyle"),
    "wayland-shell-integration": ("xdg-shell",),
    "wayland-decoration-client": ("adwaita", "bradient"),
    "wayland-graphics-integration-client": ("qt-plugin-wayland-egl",),
    "xcbglintegrations": ("qxcb-egl-integration", "qxcb-glx-integration"),
}  # fmt: skip

_QT_LIBRARIES = re.compile(
    r"^(lib)?Qt6?(Qml|Quick|Designer|VirtualKeyboard|Pdf|Sql|OpenGLWidgets|Labs|E[gG][lL]|Help|"
    r"UiTools|Xml\b|PrintSupport|Concurrent|ShaderTools|WaylandCompositor|WaylandEgl|SvgWidgets|"
    r"Network)"
)

# Belong to the system it runs on: the display's, its graphics driver's, and what they load.
_OF_THE_SYSTEM = re.compile(
    r"^lib(X[a-zA-Z0-9-]+|xcb|xcb-(?!cursor|icccm|image|keysyms|render-util|util)[a-z0-9-]+|"
    r"GL[a-zA-Z0-9]*|EGL|OpenGL|drm|gbm|fontconfig|freetype|glib-2\.0|gio-2\.0|gobject-2\.0|"
    r"gmodule-2\.0|gthread-2\.0|stdc\+\+|gcc_s|dbus-1|systemd|gcrypt|gpg-error|blkid|mount|"
    r"selinux|cap|gssapi_krb5|krb5|k5crypto|krb5support|com_err|keyutils|jpeg|lz4|zstd|"
    r"pcre2?-8|harfbuzz|graphite2|png16|brotlidec|brotlicommon|expat|"
    r"wayland-[a-z]+|cairo[a-z0-9-]*|pango[a-z0-9.-]*|gtk-3|gdk-3|gdk_pixbuf-2\.0|atk[a-z0-9.-]*|"
    r"atspi|epoxy|fribidi|thai|datrie|pixman-1|readline|tinfo|ncursesw?|md|bsd|Xau|Xdmcp)\.so"
)


# Whole, for scripts of skills: packages of Python's library, and those of ours that they use.
PACKAGES_OF_SCRIPTS = (
    "collections", "email", "encodings", "html", "http", "importlib", "json", "logging",
    "multiprocessing", "urllib", "wsgiref", "xml", "docx", "markdown_it", "openpyxl", "pypdf",
)  # fmt: skip


def of_scripts() -> list[str]:
    """Name the modules of Python's own library: scripts of skills may import any of them."""
    left_out = {name.partition(".")[0] for name in EXCLUDED_MODULES} | {"antigravity", "this"}
    return sorted(
        name for name in sys.stdlib_module_names if name not in left_out and name[0] != "_"
    )


def data_of(package: str, folder: str) -> list[tuple[str, str]]:
    """Return (source, target folder) of the files that a package reads at run time."""
    from pathlib import Path

    found: list[tuple[str, str]] = []
    for pattern in _DATA[package]:
        for path in sorted(Path(folder).glob(pattern)):
            if path.is_file() and path.suffix not in {".py", ".pyc"}:
                target = Path(package) / path.parent.relative_to(folder)
                found.append((str(path), target.as_posix()))
    return found


def packages_with_data() -> Iterable[str]:
    """Name the packages that read files at run time."""
    return _DATA


def is_kept(name: str) -> bool:
    """Tell whether a collected file, by its path in the bundle, goes into the app."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.parts[:1] == ("PySide6",):
        return _is_qt_kept(path)
    if len(path.parts) == 1 and _QT_LIBRARIES.match(path.name):
        return False  # a link to one in PySide6
    # What a wheel brought for itself, such as pillow.libs, has names of its own.
    is_wheels = any(part.endswith(".libs") for part in path.parts)
    if sys.platform == "linux" and not is_wheels and _OF_THE_SYSTEM.match(path.name):
        return False
    if path.parts[:2] == ("litellm", "proxy"):
        return False
    if path.parts[:2] == ("botocore", "data"):
        return any(
            path.match(f"botocore/{one}".replace("**/*", "*/*")) for one in _DATA["botocore"]
        )
    return not path.match("litellm/rust_bridge/_native*")


def _is_qt_kept(path: PurePosixPath) -> bool:
    parts = path.parts
    if "translations" in parts or "qml" in parts or "metatypes" in parts:
        return False
    if "plugins" in parts:
        kind = parts[parts.index("plugins") + 1]
        stem = re.sub(r"^lib|\.(so|dll|dylib)$", "", path.name)
        return stem in _QT_PLUGINS.get(kind, ())
    # On macOS of a whole framework: one without its library can't be signed, nor what holds it.
    return not any(_QT_LIBRARIES.match(part) for part in parts)
