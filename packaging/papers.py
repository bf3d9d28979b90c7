"""The papers that go with the app: licences of all that is shipped, and a bill of materials."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Entry = dict[str, Any]

_OWN = (
    ("Inter", "OFL-1.1", "fonts/Inter-LICENSE.txt"),
    ("JetBrains Mono", "OFL-1.1", "fonts/JetBrainsMono-LICENSE.txt"),
    ("Lucide icons", "ISC", "icons/LICENSE"),
)


LICENCES = Path(__file__).resolve().parent / "licences"


def copyright_text(shipped: Iterable[Entry], licence: str) -> str:
    """Return Debian's copyright file: the app's own licence, and a line for each part."""
    lines = [
        "Desktop Agent is packed by its own build script, packaging/package.py.",
        "",
        licence.strip(),
        "",
        "It contains these works of others, unchanged. Their texts are beside this file, in",
        "licenses.txt.gz. Qt, PySide6 and shiboken6 are used under the GNU Lesser General Public",
        "License, version 3, which is in /usr/share/common-licenses/LGPL-3; their libraries are",
        "separate files that can be replaced. The Apache licence, version 2.0, is in",
        "/usr/share/common-licenses/Apache-2.0, the Mozilla licence in",
        "/usr/share/common-licenses/MPL-2.0.",
        "",
        *(f"  {one['name']} {one['version']}: {one['licence']}" for one in shipped),
        *(f"  {name}: {terms}" for name, terms, _ in _OWN),
    ]
    return "\n".join(lines) + "\n"


def licence_texts(shipped: Iterable[Entry], resources: Path) -> str:
    """Return the texts of all licences, each under the name of what it is for."""
    return "\n".join(_texts(shipped, resources))


def _texts(shipped: Iterable[Entry], resources: Path) -> Iterator[str]:
    for one in shipped:
        title = f"{one['name']} {one['version']} ({one['licence']})"
        yield f"{title}\n{'=' * len(title)}\n"
        # Curly marks and the like: what reads a .gz in a terminal need not know them.
        yield from (f"{text}\n" for text in one["texts"])
    for name, terms, file in _OWN:
        title = f"{name} ({terms})"
        yield f"{title}\n{'=' * len(title)}\n"
        yield (resources / file).read_text("utf-8") + "\n"
    # Qt's licence, and the one that it builds upon; their packages do not bring them.
    for file in ("LGPL-3.0", "GPL-3.0"):
        yield f"{file}\n{'=' * len(file)}\n"
        yield (LICENCES / f"{file}.txt").read_text("utf-8")


def bill_of_materials(shipped: Iterable[Entry], version: str, built_at: int) -> str:
    """Return a CycloneDX bill of what is in the app; the same input gives the same bytes."""
    components = [_component(one) for one in shipped]
    whole = json.dumps(components, sort_keys=True)
    serial = uuid.uuid5(uuid.NAMESPACE_OID, f"desktop-agent {version} {whole}")
    moment = datetime.fromtimestamp(built_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    app = {"type": "application", "bom-ref": "app", "name": "desktop-agent", "version": version}
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"timestamp": moment, "component": app},
        "components": components,
        "dependencies": [{"ref": "app", "dependsOn": [one["bom-ref"] for one in components]}],
    }
    return json.dumps(bill, indent=1) + "\n"


def _component(one: Entry) -> Entry:
    name, version = one["name"], one["version"]
    plain = name.lower().replace("_", "-").replace(" ", "-")
    address = f"pkg:{one['kind']}/{plain}@{version}"
    licence = one["licence"]
    is_spdx = " " not in licence or " AND " in licence or " OR " in licence or " WITH " in licence
    entry = {"expression": licence} if is_spdx else {"license": {"name": licence}}
    return {
        "type": "library",
        "bom-ref": address,
        "name": name,
        "version": version,
        "purl": address,
        "licenses": [entry],
    }
