"""The screens of skills and trust, for the gallery."""

from __future__ import annotations

from typing import Any

from desktop_agent.core.events import SkillsChanged
from desktop_agent.core.skill_install import SkillUpdate
from desktop_agent.core.skills import FolderTrust
from desktop_agent.gui.skills.add_dialog import AddSkillSheet
from desktop_agent.gui.skills.trust_dialog import ProvidedItem, TrustSheet
from desktop_agent.gui.skills.update_dialog import UpdateSheet, ask_before_removing
from tests.gui.skills.samples import SKILLS, detail, fetched, found, trust, untrusted
from tests.helpers.windows import bridge_of, part

_BODY = """# Review

Looks for what a reader would stumble over.

## When it is used

- a branch is about to be merged
- you type `/review`

| Looks at | How |
| --- | --- |
| names | reads them aloud |

```bash
python scripts/run.py --base main
```
"""
_DIFF = """--- a/SKILL.md
+++ b/SKILL.md
@@ -1,3 +1,4 @@
 # Invoice
-Ask for the rate.
+Ask for the rate and the currency.
+Round to whole cents.
 Write it as a table.
"""
_CLASH = "Replaces your skill minutes."


async def show_skills(gallery: Any, opened: Any) -> None:
    """Take the page, the message box, the sheets and the banner."""
    gallery.show(opened)
    flow = gallery.window.skills
    root = flow.root
    everything = (*SKILLS, untrusted("deploy", scripts=("3 shell",), is_changed=True))
    bridge_of(gallery.window).received.emit((SkillsChanged(root, everything, trust()),))
    gallery.window.frame.composer.box.add_skill("review")
    gallery.window.frame.composer.box.add_skill("minutes")
    await gallery.take("60-banner-and-chips")
    await gallery.type("/")
    await gallery.take("61-slash")
    part(gallery.window, "composerText").clear()
    flow.open()
    part(gallery.window, "skillsPage").choose(SKILLS[0].directory)
    part(gallery.window, "skillsPage").detail.show_detail(detail(SKILLS[0], _BODY))
    await gallery.take("62-skills")
    part(gallery.window, "skillsPage").choose(SKILLS[3].directory)
    await gallery.take("63-invalid")
    part(gallery.window, "skillsPage").choose(SKILLS[4].directory)
    await gallery.take("63b-needs-setup")
    bridge_of(gallery.window).received.emit((SkillsChanged(root, (), FolderTrust(root)),))
    await gallery.take("64-no-skills")
    await _sheets(gallery)


async def _sheets(gallery: Any) -> None:
    window, theme = gallery.window, gallery.theme
    sheet = AddSkillSheet(theme, window, folder_name="shop")
    sheet.open()
    await gallery.take("65-add", sheet)
    sheet.show_error("There is no server called exmple.com.")
    await gallery.take("66-add-error", sheet)
    sheet.begin("https://example.com/skills")
    sheet.show_progress(3_460_300)
    await gallery.take("66b-fetching", sheet)
    scripts, tools = ("2 Python",), "Read, Bash(python *)"
    invoice = found("invoice", scripts=scripts, allowed_tools=tools, license="MIT")
    broken = found("broken", problem="The description is missing.")
    sheet.show_fetched(fetched(invoice, found("minutes", clash=_CLASH), broken))
    sheet.checklist.preview.show_text("skills/invoice", "SKILL.md", _BODY)
    await gallery.take("67-checklist", sheet)
    sheet.reject()
    where = SKILLS[1].directory
    update = SkillUpdate("u", where, "invoice", "99aa88bb7", _DIFF, 1, ("You changed SKILL.md.",))
    newer = UpdateSheet(theme, SKILLS[1], update, window)
    newer.open()
    await gallery.take("68-update", newer)
    newer.reject()
    question = ask_before_removing(theme, SKILLS[1], window)
    question.open()
    await gallery.take("68b-remove", question)
    question.reject()
    asking = TrustSheet(theme, trust(), window)
    deploy = untrusted("deploy", scripts=("3 shell",))
    asking.show_items(
        (
            ProvidedItem(deploy.directory, "deploy", deploy.description, "terminal", skill=deploy),
            ProvidedItem("AGENTS.md", "AGENTS.md", "Instructions for every session", "file-text"),
        )
    )
    asking.show_files(deploy, detail(deploy).files)
    asking.preview.show_text(deploy.directory, "SKILL.md", _BODY)
    asking.open()
    await gallery.take("69-trust", asking)
    asking.reject()
