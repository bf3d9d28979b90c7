"""One skill: its text, what it may do, its files, where it is from, and what to do with it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from desktop_agent.core.skills import Skill, SkillDetail
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.folders import short_path
from desktop_agent.gui.kit.lists.keyboard_focus import RingedArea
from desktop_agent.gui.kit.lists.list_page import DetailPane
from desktop_agent.gui.kit.safe_text import with_marks
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconLabel,
    PrimaryButton,
    Separator,
    TextButton,
    TextLabel,
    column,
    named,
    row,
)
from desktop_agent.gui.skills.file_list import SkillFileList
from desktop_agent.gui.skills.list import SkillRequests, can_remove, can_update
from desktop_agent.gui.skills.list_model import can_switch
from desktop_agent.gui.skills.text import content_text, origin_title, source_text, used_text
from desktop_agent.gui.transcript.view.markdown_text import MarkdownText


class SkillDetailPane(DetailPane):
    """Signals:
    file_chosen(Skill, path): show this file
    link_agreed(str): the user agreed to open the link
    trust_requested: open the trust dialog
    """

    file_chosen = Signal(object, str)
    link_agreed = Signal(str)
    trust_requested = Signal()

    def __init__(self, theme: Theme, requests: SkillRequests, parent: QWidget) -> None:
        super().__init__(theme, "skillDetail", parent)
        self._requests = requests
        self._skill: Skill | None = None
        self._has_folder = False
        self.setAccessibleName(self.tr("Skill"))
        self._area = named(RingedArea(self), "skillDetailArea", self.tr("About this skill"))
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.viewport().setAutoFillBackground(False)
        self._content = self._make_content()
        self._area.setWidget(self._content)
        self._line = Separator(self)
        column((self._area, 1), self._line, self._make_foot(), spacing=0, within=self)
        self.show_skill(None)

    @property
    def skill(self) -> Skill | None:
        return self._skill

    def set_has_folder(self, has_folder: bool) -> None:
        """Know whether there is a folder that could have its own switches."""
        self._has_folder = has_folder

    def show_skill(self, skill: Skill | None) -> None:
        """Show what is known without its file; `show_detail` brings the rest."""
        is_other = skill is None or self._skill is None or skill.directory != self._skill.directory
        self._skill = skill
        self._content.setVisible(skill is not None)
        for widget in (self._foot, self._line):
            widget.setVisible(skill is not None)
        if skill is None:
            return
        if is_other:
            self._body.set_markdown("")
            self._files.show_files(())
            self._files_title.hide()
            self._files.hide()
            self._area.verticalScrollBar().setValue(0)
        self._show_head(skill)
        self._show_facts(skill)
        self._show_buttons(skill)

    def show_detail(self, detail: SkillDetail) -> None:
        """Show a skill's text and files, if it is still the one that is shown."""
        if self._skill is None or detail.skill.directory != self._skill.directory:
            return
        self._body.set_markdown(detail.body)
        self._files.show_files(detail.files)
        for widget in (self._files_title, self._files):
            widget.setVisible(bool(detail.files))

    # -- construction ------------------------------------------------------------------------

    def _make_content(self) -> QWidget:
        theme = self._theme
        content = QWidget()
        content.setAutoFillBackground(False)
        self._make_back(self.tr("All skills"), "leaveSkill")
        self._name = _make_label("h1", "skillName")
        self._about = _make_label("body", "skillAbout")
        self._verdict_icon = IconLabel(theme, "circle-check", "ok", 16)
        self._verdict = _make_label("", "skillVerdict")
        self._trust = TextButton(theme, self.tr("Review and trust…"), "shield", name="trustSkill")
        self._trust.clicked.connect(self.trust_requested)
        self._set_up = TextButton(theme, self.tr("Set up in chat"), "download", name="setUpSkill")
        self._set_up.setToolTip(self.tr("Puts a request into the message box; you send it"))
        self._set_up.clicked.connect(lambda: self._requests.setup_requested.emit(self._skill))
        self._body = MarkdownText(theme, self.tr("What this skill says"))
        self._body.link_agreed.connect(self.link_agreed)
        self._files_title = TextLabel(self.tr("Files"), "h3")
        self._files = SkillFileList(theme)
        self._files.chosen.connect(self._on_file)
        self._facts = column(spacing=6)
        verdict = row((self._verdict_icon, Qt.AlignmentFlag.AlignTop), (self._verdict, 1))
        layout = QVBoxLayout(content)
        edge = theme.space("xl")
        layout.setContentsMargins(edge, edge, edge, theme.space("l"))
        layout.setSpacing(theme.space("m"))
        layout.addLayout(row(self._back, None))
        layout.addWidget(self._name)
        layout.addWidget(self._about)
        layout.addLayout(verdict)
        layout.addLayout(row(self._trust, self._set_up, None))
        layout.addWidget(self._body)
        layout.addWidget(self._files_title)
        layout.addWidget(self._files)
        layout.addLayout(self._facts)
        layout.addStretch(1)
        return content

    def _make_foot(self) -> QWidget:
        theme = self._theme
        self._foot = foot = QFrame(self)
        self._use = PrimaryButton(theme, self.tr("Use in chat"), parent=foot, name="useSkill")
        self._open = GhostButton(theme, self.tr("Open folder"), "folder-open", foot)
        self._open.setObjectName("openSkillFolder")
        self._update = GhostButton(theme, self.tr("Update…"), "refresh-cw", foot)
        self._update.setObjectName("updateSkill")
        self._remove = GhostButton(theme, self.tr("Remove…"), "trash-2", foot, name="removeSkill")
        self._use.setToolTip(self.tr("Loaded for sure with your next message (Ctrl+Enter)"))
        self._open.setToolTip(self.tr("Show the skill's folder on the disk"))
        self._update.setToolTip(self.tr("Look for a newer version and see what it changes"))
        self._remove.setToolTip(self.tr("Take the skill away; you are asked first (Del)"))
        for button, signal in (
            (self._use, self._requests.used),
            (self._open, self._requests.folder_opened),
            (self._update, self._requests.update_requested),
            (self._remove, self._requests.remove_requested),
        ):
            button.clicked.connect(lambda _=False, request=signal: request.emit(self._skill))
        self._switch = named(QCheckBox(self.tr("On"), foot), "skillSwitch")
        self._switch.setToolTip(self.tr("Whether agents are told of it, in every folder (Space)"))
        self._switch.clicked.connect(self._switch_everywhere)
        self._here = GhostButton(theme, "", "", foot, name="skillSwitchHere")
        self._here.clicked.connect(self._switch_here)
        buttons = FlowLayout(spacing=theme.space("s"))
        for button in (self._use, self._open, self._update, self._remove):
            buttons.addWidget(button)
        layout = QVBoxLayout(foot)
        edge = theme.space("xl")
        layout.setContentsMargins(edge, theme.space("s"), edge, theme.space("l"))
        layout.setSpacing(theme.space("s"))
        layout.addLayout(row(self._switch, self._here, None, spacing=theme.space("l")))
        layout.addLayout(buttons)
        return foot

    # -- what is shown -----------------------------------------------------------------------

    def _show_head(self, skill: Skill) -> None:
        self.setAccessibleName(self.tr("Skill {name}").format(name=skill.name))
        self._name.setText(with_marks(skill.name))
        self._about.setText(with_marks(skill.description))
        self._about.setVisible(bool(skill.description))
        icon, token, lines = self._verdict_of(skill)
        self._verdict_icon.set_icon(icon, token)
        mark = "• " if len(lines) > 1 else ""
        self._verdict.setText("\n".join(mark + with_marks(line) for line in lines))
        self._trust.setVisible(not skill.is_trusted and not skill.problem)
        self._set_up.setVisible(bool(skill.needs) and skill.is_usable)

    def _verdict_of(self, skill: Skill) -> tuple[str, str, tuple[str, ...]]:
        if skill.problem:
            return "circle-x", "err", (skill.problem,)
        lines: list[str] = []
        if skill.is_changed:
            lines.append(self.tr("It changed since you trusted this folder. It is not used."))
        elif not skill.is_trusted:
            lines.append(self.tr("It is not used before you trust this folder."))
        if skill.shadowed_by:
            words = self.tr("Another skill of this name is used instead: {place}")
            lines.append(words.format(place=short_path(skill.shadowed_by)))
        lines.extend(skill.needs)
        lines.extend(skill.warnings)
        if not lines:
            return "circle-check", "ok", (self.tr("Valid"),)
        return "triangle-alert", "warn", tuple(lines)

    def _show_facts(self, skill: Skill) -> None:
        tools = self.tr("It asks for: {tools}. Each use is still asked about.")
        licensed, needed = self.tr("Licence: {words}"), self.tr("Made for: {words}")
        tokens = self.tr("{words} · about {n} tokens in each request")
        facts = (
            ("shield-check", tools.format(tools=skill.allowed_tools), skill.allowed_tools),
            ("terminal" if skill.scripts else "file-text", content_text(skill.scripts, ""), "1"),
            ("info", needed.format(words=skill.compatibility), skill.compatibility),
            ("flag", licensed.format(words=skill.license), skill.license),
            ("git-commit-horizontal", source_text(skill), skill.source),
            ("folder", f"{origin_title(skill.origin)} · {short_path(skill.directory)}", "1"),
            ("history", tokens.format(words=used_text(skill.times_used), n=skill.tokens), "1"),
        )
        while (item := self._facts.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()
        for icon, words, is_known in facts:
            if is_known:
                self._facts.addWidget(self._fact(icon, words))

    def _fact(self, icon: str, words: str) -> QWidget:
        holder = QWidget()
        label = _make_label("muted", "skillFact")
        label.setText(with_marks(words))
        mark = IconLabel(self._theme, icon, "subtle", 14)
        row((mark, Qt.AlignmentFlag.AlignTop), (label, 1), within=holder)
        return holder

    def _show_buttons(self, skill: Skill) -> None:
        self._use.setEnabled(skill.is_usable)
        self._update.setVisible(can_update(skill))
        self._remove.setVisible(can_remove(skill))
        self._switch.setVisible(can_switch(skill))
        self._switch.setChecked(skill.is_enabled)
        self._here.setVisible(self._has_folder and can_switch(skill))
        words = self.tr("Switch off only in this folder")
        if not skill.is_enabled:
            words = self.tr("Switch on only in this folder")
        self._here.set_text(words)

    # -- requests ----------------------------------------------------------------------------

    def _switch_everywhere(self, is_on: bool) -> None:
        self._requests.switched.emit(self._skill, is_on, False)

    def _switch_here(self) -> None:
        if self._skill is not None:
            self._requests.switched.emit(self._skill, not self._skill.is_enabled, True)

    def _on_file(self, path: str) -> None:
        if self._skill is not None:
            self.file_chosen.emit(self._skill, path)


def _make_label(role: str, name: str) -> QLabel:
    """Return words that wrap, break anywhere if they must, and can be copied."""
    return TextLabel("", role, name=name, wraps=True, copies=True)
