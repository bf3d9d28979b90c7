"""The card that asks the user before something is done."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetrics,
    QKeyEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QBoxLayout, QMenu, QSizePolicy, QWidget

from desktop_agent.core.approvals import (
    AllowAlways,
    AllowOnce,
    ApprovalRequest,
    Decision,
    Deny,
    Edited,
    Rule,
)
from desktop_agent.core.messages import CommandDisplay, DiffDisplay
from desktop_agent.core.parts.containment import LEAVES, MAY_CHANGE
from desktop_agent.gui.kit.flow_layout import FlowLayout
from desktop_agent.gui.kit.rtl import code_text
from desktop_agent.gui.kit.safe_text import (
    elapsed_text,
    label_text,
    name_text,
    path_text,
    with_marks,
)
from desktop_agent.gui.kit.text import plain_words
from desktop_agent.gui.kit.theme import mono_font
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    IconLabel,
    TextButton,
    TextLabel,
    column,
    named,
    row,
)
from desktop_agent.gui.transcript.cards.approval_effect import ApprovalEffect, lost_list
from desktop_agent.gui.transcript.cards.approval_forms import (
    AllowButton,
    EditForm,
    RefuseForm,
    RuleChoices,
    menu_button,
    rule_menu,
)
from desktop_agent.gui.transcript.cards.approval_text import (
    always_text,
    bound_rule,
    editable_argument,
    has_effect,
    headline,
    is_host,
    is_leaving,
    once_text,
    reach_words,
    request_text,
    rule_text,
    scope_text,
    scopes_of,
)
from desktop_agent.gui.transcript.cards.card import AskCard, Card, CardHost
from desktop_agent.gui.transcript.state.items import ApprovalItem, alike

# An Enter or a click that was meant for something else must not approve.
ARMING_S = 0.4
_ICON_GAP = 8
# What a name has beside the verb in a small window, in pixels.
_ROOM = 250


class ApprovalCard(AskCard):
    """Asks whether a call may be made; it never takes the focus by itself.

    Keys and clicks count from 400 ms after it appeared. Enter allows only while the card
    itself has the focus, and never to run a command outside the sandbox; Esc asks for a refusal
    and its reason.
    """

    def __init__(self, host: CardHost, item: ApprovalItem) -> None:
        self._tone = ("errSoft", "err") if item.request.lost else ("warnSoft", "warnLine")
        super().__init__(host.theme, host.ground, ground=self._tone[0], edge=self._tone[1])
        self._host = host
        self._item = item
        self._request = item.request
        # Of a single agent nothing has to be said.
        is_one = len(host.transcript.agent_names) < 2
        self._asked_by = (
            "" if is_one else " ▸ ".join(host.transcript.path_of(item.request.agent_id))
        )
        self._is_leaving = is_leaving(item.request.display)
        # What can't come back, and what leaves the sandbox, is not allowed by a stray Enter.
        self._has_key = not (self._is_leaving or item.request.lost)
        self._clock = host.clocks.steady
        self._appeared_at = self._clock()
        self._is_decided = False
        self._form: EditForm | RefuseForm | None = None
        self.setObjectName("approvalCard")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._build()
        self.set_alike(len(alike(host.transcript.waiting(), item)))
        self.tick(0.0)

    @property
    def is_live(self) -> bool:
        return not self._is_decided

    @property
    def is_armed(self) -> bool:
        """Whether it has been there long enough to be answered."""
        return self._clock() - self._appeared_at >= ARMING_S

    @property
    def has_draft(self) -> bool:
        """Whether the user has begun to write something into it."""
        return self._form is not None

    def set_alike(self, count: int) -> None:
        """Offer to allow so many at once; for fewer than two there is nothing to offer."""
        can_join = bool(self._request.rules) and self._has_key
        self._all.setVisible(count > 1 and can_join)
        self._all.set_text(self.tr("Allow all %n", "", count))

    def tick(self, now: float) -> None:
        parts: list[str] = []
        if self._asked_by:
            parts.append(self._asked_by)
        waited = now - self._request.created_at
        if now and self._request.created_at and waited >= 1:
            parts.append(elapsed_text(waited))
        self._when.setText("  ·  ".join(parts))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Answer by keyboard, but only when the card itself was chosen."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.hasFocus():
            event.accept()
            if not event.isAutoRepeat() and self._has_key:
                self._decide(AllowOnce())
        elif event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_R) and self.hasFocus():
            event.accept()
            self._open_refusal()
        else:
            super().keyPressEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        """Begin to count: it may have been made before anybody could see it."""
        super().showEvent(event)
        self._appeared_at = self._clock()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.set_ground(self._tone[0], "accent")
        self._allow.show_key(is_shown=self._has_key)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.set_ground(*self._tone)
        self._allow.show_key(is_shown=False)

    # -- building ------------------------------------------------------------------------

    def _build(self) -> None:
        request, theme = self._request, self._theme
        self.body.setContentsMargins(16, 12, 16, 14)
        self._lines = column(spacing=theme.space("s"))
        self._icon = IconLabel(theme, _icon_of(request), "err" if request.lost else "warn", 18)
        self.body.addLayout(
            row((self._icon, Qt.AlignmentFlag.AlignTop), (self._lines, 1), spacing=_ICON_GAP)
        )
        self._lines.addLayout(self._build_headline())
        reach = reach_words(request.display)
        # What is at stake stands with it, or else with the reason.
        stakes = tuple(map(with_marks, request.stakes))
        if reach:
            self._add_line(" · ".join((reach.removesuffix("."), *stakes)) if stakes else reach)
            stakes = ()
        self._effect: ApprovalEffect | None = None
        if has_effect(request):
            self._lines.addWidget(self._build_effect())
        if request.lost:
            self._build_lost()
        if self._is_leaving:
            self._lines.addWidget(self._build_motive())
        if detail := self._detail(stakes):
            self._add_line(detail)
        self._buttons = self._build_buttons()
        self._lines.addWidget(self._buttons)
        said = "" if is_host(request) else request_text(request)
        spoken = " ".join(filter(None, (with_marks(request.title), said, reach)))
        self.setAccessibleName(self.tr("Approval needed. {what}").format(what=spoken))
        keys = self.tr("Press Enter to allow it once, Esc to refuse it. {reason}")
        if not self._has_key:
            keys = self.tr("Press Esc to refuse it. {reason}")
        self.setAccessibleDescription(keys.format(reason=with_marks(request.reason)))

    def _build_headline(self) -> QBoxLayout:
        verb, target = headline(self._request)
        theme = self._theme
        role = "titleErr" if self._request.lost else "title"
        title = TextLabel(verb, role, wraps=not target)
        self._when = TextLabel("", "subtle")
        top = row(title, spacing=8)
        if target:
            whole = name_text(target, _ROOM // QFontMetrics(mono_font(theme)).averageCharWidth())
            whole = code_text(whole)
            copies = whole == target
            shown = TextLabel(whole, "mono", name="approvalTarget", wraps=True, copies=copies)
            shown.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
            shown.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
            top.addWidget(shown, 1)
            top.setAlignment(title, Qt.AlignmentFlag.AlignTop)
        else:
            title.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        top.addWidget(self._when, 0, Qt.AlignmentFlag.AlignTop)
        return top

    def _detail(self, stakes: tuple[str, ...]) -> str:
        """Return why it is asked, what is at stake, and where it runs if that is not the root."""
        request, session = self._request, self._host.session
        reason = plain_words(with_marks(request.reason))
        if is_host(request):
            return reason
        is_said = request.reason in (LEAVES, MAY_CHANGE)
        parts = ["" if is_said else reason, *stakes]
        display = request.display
        root = session.workspace.root if session is not None else ""
        if isinstance(display, CommandDisplay) and display.directory not in ("", root):
            folder = with_marks(display.directory)
            parts.append(self.tr("Runs in {folder}").format(folder=folder))
        parts = [part for part in parts if part]
        if len(parts) == 1:
            return parts[0]
        return " · ".join(part.removesuffix(".") for part in parts)

    def _build_lost(self) -> None:
        """Show the command and, where they are several, what it deletes for good."""
        if not has_effect(self._request):
            command = request_text(self._request)
            whole = code_text(command)
            shown = TextLabel(whole, "mono", wraps=True, copies=whole == command)
            shown.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
            shown.setObjectName("deletingCommand")
            self._lines.addWidget(shown)
        self._add_line(self.tr("Undo can’t bring this back."))
        if len(self._request.lost) > 1:
            names = tuple(map(path_text, self._request.lost))
            self._lines.addWidget(lost_list(self._theme, names, self))

    def _build_motive(self) -> QWidget:
        """Return the model's reason, as its words and nobody else's."""
        display = self._request.display
        kept = display.containment if isinstance(display, CommandDisplay) else None
        ground = Card(self._theme, self, ground="sunken")
        reason = with_marks(kept.reason if kept is not None else "")
        words = TextLabel(f"“{label_text(reason)}”")
        words.setObjectName("modelsReason")
        words.setWordWrap(True)
        title = TextLabel(self.tr("Why, in the model's words"), "subtle")
        ground.body.addLayout(column(title, words, spacing=2, edges=(10, 8, 10, 8)))
        return ground

    def _build_effect(self) -> QWidget:
        """Return exactly what will be done, on a dark ground."""
        self._effect = ApprovalEffect(self._theme, self._request, self)
        self._effect.unfolded.connect(self.resized)
        return self._effect

    def _add_line(self, words: str) -> None:
        self._lines.addWidget(TextLabel(label_text(words), "muted", wraps=True))

    def _build_buttons(self) -> QWidget:
        theme = self._theme
        allow = self._allow = named(AllowButton(theme, once_text(self._request)), "allowOnce")
        if self._request.lost:
            allow.setProperty("kind", "")
            allow.setProperty("tone", "danger")
        allow.clicked.connect(lambda: self._decide(AllowOnce()))
        shown: list[QWidget] = [allow]
        if self._request.rules and not self._request.lost:
            shown.append(menu_button(theme, always_text(self._request), "allowAlways", self._menu))
        if editable_argument(self._request):
            edit = GhostButton(theme, self.tr("Edit…"), name="editCall")
            edit.clicked.connect(self._open_editor)
            shown.append(edit)
        refuse = GhostButton(theme, self.tr("Refuse…"), clicked=self._open_refusal, name="refuse")
        refuse.setToolTip(self.tr("Refuse, and say why if you like (Esc)"))
        self._all = TextButton(theme, "", "check-check", name="allowAll")
        self._all.setToolTip(self.tr("Allows once each request of this kind that waits here"))
        self._all.clicked.connect(self._allow_all)
        self._all.hide()
        strip = QWidget(self)
        flow = FlowLayout(strip, 8, is_last_trailing=True)
        for button in (*shown, self._all, refuse):
            flow.addWidget(button)
        return strip

    # -- answering -----------------------------------------------------------------------

    def rule_menu(self) -> QMenu:
        """Return the menu of rules, each with exactly what it covers and where."""
        choices = self._choices(self._request.rules, self.tr("Always allow {rule}, {scope}"))
        menu = rule_menu(self, choices, lambda rule: self._decide(AllowAlways(rule)))
        if self._request.together:
            self._add_together(menu)
        return menu

    def _add_together(self, menu: QMenu) -> None:
        """Add the registries that are allowed at once, each by its name."""
        rules, session = self._request.together, self._host.session
        menu.addSeparator()
        words = self.tr("All {count} package registries").format(count=len(rules))
        group = named(menu.addMenu(words), "allowTogether")
        for rule in rules:
            group.addAction(with_marks(rule.pattern)).setEnabled(False)
        group.addSeparator()
        for scope in scopes_of(rules[0]):
            words = self.tr("Always allow all of these, {scope}").format(scope=scope_text(scope))
            first, *others = (bound_rule(rule, scope, session) for rule in rules)
            decision = AllowAlways(first, tuple(others))
            group.addAction(words).triggered.connect(lambda _=False, d=decision: self._decide(d))

    def _choices(self, rules: Sequence[Rule], words: str) -> RuleChoices:
        display, session = self._request.display, self._host.session
        return [
            (
                words.format(rule=rule_text(rule, display), scope=scope_text(scope)),
                bound_rule(rule, scope, session),
            )
            for rule in rules
            for scope in scopes_of(rule)
        ]

    def _menu(self) -> QMenu | None:
        return self.rule_menu() if self.is_armed else None

    @property
    def _can_answer(self) -> bool:
        return self.is_armed and not self._is_decided

    def _allow_all(self) -> None:
        if self._can_answer:
            for one in alike(self._host.transcript.waiting(), self._item):
                self._host.decided.emit(one.request.id, AllowOnce())

    def _open_editor(self) -> None:
        if self._can_answer:
            name = editable_argument(self._request)
            form = EditForm(self._theme, str(self._request.call.arguments.get(name, "")), self)
            form.accepted.connect(partial(self._decide_edited, name))
            self._open_form(form)

    def _open_refusal(self) -> None:
        if self._can_answer and not isinstance(self._form, RefuseForm):
            words = self.tr("Always refuse {rule}, {scope}")
            form = RefuseForm(self._theme, self._choices(self._request.refusals, words), self)
            form.accepted.connect(self._refuse)
            self._open_form(form)

    def _open_form(self, form: EditForm | RefuseForm) -> None:
        self._close_form()
        self._form = form
        form.cancelled.connect(self._on_form_cancelled)
        self._lines.addWidget(form)
        form.show()
        # First: hiding what has the focus would give it to a link in the text.
        form.setFocus()
        self._buttons.hide()
        self.resized.emit()

    def _on_form_cancelled(self) -> None:
        self.setFocus()
        self._close_form()
        self._buttons.show()
        self.resized.emit()

    def _close_form(self) -> None:
        if self._form is not None:
            self._lines.removeWidget(self._form)
            self._form.hide()
            self._form.deleteLater()
            self._form = None

    def _decide_edited(self, name: str, text: str) -> None:
        arguments = self._request.call.arguments
        is_same = arguments.get(name) == text
        self._decide(AllowOnce() if is_same else Edited({**arguments, name: text}))

    def _refuse(self, reason: str, rule: Rule | None) -> None:
        self._decide(Deny(reason, rule=rule))

    def _decide(self, decision: Decision) -> None:
        if not self._can_answer:
            return
        self._is_decided = True
        self.switch_off()
        self._host.decided.emit(self._request.id, decision)

    def switch_on(self) -> None:
        super().switch_on()
        self._is_decided = False

    def height_for(self, width: int) -> int:
        # A layout within a layout learns only then that its size hint changed.
        self.body.activate()
        if self._effect is not None:
            self._effect.fit(width - 32 - self._icon.sizeHint().width() - _ICON_GAP)
        return super().height_for(width)


def _icon_of(request: ApprovalRequest) -> str:
    if is_host(request):
        return "globe"
    if request.lost:
        return "trash-2"
    if isinstance(request.display, DiffDisplay):
        return "file-plus" if request.display.is_new else "pencil"
    return "shield-off" if is_leaving(request.display) else "shield-alert"
