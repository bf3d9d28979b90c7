"""First run, step one: a model from whatever was found, or a key, an address, the demo."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from desktop_agent.core.models import DEMO_MODEL, KeyInfo, ModelInfo, ServerInfo
from desktop_agent.core.providers import is_host, provider_title
from desktop_agent.core.settings import CustomServer
from desktop_agent.gui.kit.theme import Theme
from desktop_agent.gui.kit.widgets import (
    GhostButton,
    Spinner,
    TextButton,
    TextLabel,
    named,
    restyle,
    row,
)
from desktop_agent.gui.language_models.key_form import KeyForm
from desktop_agent.gui.language_models.server_form import ServerForm
from desktop_agent.gui.language_models.text import can_work, count_text, model_hints
from desktop_agent.gui.welcome.card import Card, ModelCombo, step_column


class ModelCard(Card):
    """Models of one server, or of one provider whose key is there.

    Signals:
        used(ModelInfo): the model to work with
        opened: asks for the provider's models
    """

    used = Signal(object)
    opened = Signal()

    def __init__(self, theme: Theme, name: str, icon: str, title: str) -> None:
        super().__init__(theme, name, icon, title)
        self._is_asking = False
        self._combo = ModelCombo(self.tr("Model"))
        self._combo.currentIndexChanged.connect(self._show_hints)
        self._use = TextButton(theme, self.tr("Use"), name="useModel", clicked=self._on_used)
        self._spinner = Spinner(theme, 16)
        self._hints = TextLabel("", "subtle", wraps=True)
        self._line = QWidget()
        row((self._combo, 1), spacing=-1, within=self._line)
        self.body.addWidget(self._line)
        self.body.addWidget(self._hints)
        self.add_trailing(self._spinner)
        self.add_trailing(self._use)
        self._line.hide()
        self._hints.hide()
        self._spinner.hide()

    def set_models(self, models: tuple[ModelInfo, ...]) -> None:
        """Offer these; *Use* takes the one that is chosen."""
        self._spinner.hide()
        self._combo.set_models(models)
        self._line.setVisible(bool(models))
        self._is_asking = False
        self._show_hints()

    def focus_use(self) -> None:
        """Give the focus to the button that goes on with this card."""
        self._use.setFocus(Qt.FocusReason.OtherFocusReason)

    def set_best(self, is_best: bool) -> None:
        """Fill the button of the card that is offered first."""
        kind = "primary" if is_best else "plain"
        if self._use.property("kind") != kind:
            self._use.setProperty("kind", kind)
            restyle(self._use)

    def _on_used(self) -> None:
        model = self._combo.model_info()
        if model is not None:
            self.used.emit(model)
        elif not self._is_asking:
            # Not switched off: the focus would go to whatever comes next.
            self._is_asking = True
            self._spinner.show()
            self.opened.emit()

    def _show_hints(self) -> None:
        model = self._combo.model_info()
        self._hints.setVisible(model is not None)
        if model is None:
            return
        words = [model_hints(model)]
        if not can_work(model):
            words.append(self.tr("This model can't use tools, so it can only talk."))
        self._hints.setText(" · ".join(filter(None, words)))
        self._hints.setVisible(bool(self._hints.text()))


class ModelStep(QWidget):
    """Chooses the first model.

    Signals:
        model_chosen(name, api_base): final
        key_entered(provider, key, where): a key that works; for a typed server the provider is
            its address
        server_added(CustomServer): a server that answers
        models_requested: answered by `set_models`
    """

    model_chosen = Signal(str, str)
    key_entered = Signal(str, str, str)
    server_added = Signal(object)
    models_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        # None while the sources are being asked.
        self._models: tuple[ModelInfo, ...] | None = None
        self._servers: dict[str, ModelCard] = {}
        self._providers: dict[str, ModelCard] = {}
        self.setObjectName("modelStep")
        layout = step_column(
            self,
            self.tr("What should the agent think with?"),
            self.tr(
                "The agent works in a folder on this computer, with a language model you choose. "
                "There is no account, and nothing is sent anywhere except to that model."
            ),
        )
        layout.addSpacing(4)
        self._found = QVBoxLayout()
        self._found.setSpacing(12)
        layout.addLayout(self._found)
        self._add_probe(layout)
        self._add_key_card(layout)
        self._add_server_card(layout)
        self._add_demo_card(layout)
        layout.addStretch(1)

    # -- results --------------------------------------------------------------------------

    def focus_first(self) -> None:
        """Give the focus to what was found, or else to the field for a key."""
        best = next(self._found_cards(), None)
        if best is not None:
            best.focus_use()
        else:
            self.key_form.setFocus(Qt.FocusReason.OtherFocusReason)

    def set_searching(self, is_searching: bool) -> None:
        self._probe.setVisible(is_searching)

    def set_servers(self, servers: tuple[ServerInfo, ...]) -> None:
        """Show a card for each model server on this computer; best first."""
        self.set_searching(False)
        for server in servers:
            card = self._servers.get(server.api_base)
            if card is None:
                title = self.tr("Found on this computer: {server}").format(server=server.title)
                card = self._card("cardLocal", "server", title, len(self._servers))
                self._servers[server.api_base] = card
            card.set_detail(
                self.tr("{count}, nothing leaves this computer").format(
                    count=count_text(len(server.models))
                )
            )
            card.set_models(server.models)

    def set_keys(self, keys: tuple[KeyInfo, ...]) -> None:
        """Show a card for each provider whose key is there."""
        for key in keys:
            if key.provider in self._providers or is_host(key.provider):
                continue  # a typed server has a card of its own
            title = provider_title(key.provider)
            found = self.tr("Found a key: {provider}").format(provider=title)
            card = self._card("cardKey", "key", found, self._found.count())
            card.set_detail(self._origin_text(key))
            card.opened.connect(self.models_requested)
            self._providers[key.provider] = card
        self._feed_providers()

    def set_models(self, models: tuple[ModelInfo, ...]) -> None:
        """Know the models of providers and typed servers."""
        self._models = tuple(models)
        self._feed_providers()
        self._feed_typed()

    # -- parts ----------------------------------------------------------------------------

    def _card(self, name: str, icon: str, title: str, place: int) -> ModelCard:
        card = ModelCard(self._theme, name, icon, title)
        card.used.connect(self._on_used)
        self._found.insertWidget(place, card)
        self._mark_best()
        return card

    def _on_used(self, model: ModelInfo) -> None:
        self.model_chosen.emit(model.name, model.api_base)

    def _mark_best(self) -> None:
        for number, card in enumerate(self._found_cards()):
            card.set_best(number == 0)

    def _found_cards(self) -> Iterator[ModelCard]:
        for number in range(self._found.count()):
            placed = self._found.itemAt(number)
            card = placed.widget() if placed else None
            if isinstance(card, ModelCard):
                yield card

    def _add_probe(self, layout: QVBoxLayout) -> None:
        self._probe = named(QWidget(), "probeLine")
        line = QHBoxLayout(self._probe)
        line.setContentsMargins(4, 0, 4, 0)
        line.setSpacing(8)
        line.addWidget(Spinner(self._theme, 14))
        line.addWidget(TextLabel(self.tr("Looking for models on this computer…"), "subtle"), 1)
        self._probe.hide()
        layout.addWidget(self._probe)

    def _add_key_card(self, layout: QVBoxLayout) -> None:
        card = Card(self._theme, "cardPaste", "key", self.tr("Paste a key"))
        card.set_detail(self.tr("From any provider: Anthropic, OpenAI, Google, OpenRouter, …"))
        self.key_form = KeyForm(self._theme)
        self.key_form.accepted.connect(self._on_key_accepted)
        card.body.addWidget(self.key_form)
        layout.addWidget(card)

    def _add_server_card(self, layout: QVBoxLayout) -> None:
        card = Card(self._theme, "cardServer", "globe", self.tr("Other address"))
        card.set_detail(self.tr("Any server that speaks the OpenAI protocol"))
        self.server_form = ServerForm(self._theme)
        self.server_form.accepted.connect(self._on_server_accepted)
        self.server_form.hide()
        show = GhostButton(self._theme, self.tr("Enter it…"), name="showServer")
        show.clicked.connect(partial(self._open_server_form, show))
        card.add_trailing(show)
        card.body.addWidget(self.server_form)
        layout.addWidget(card)

    def _open_server_form(self, opener: QWidget) -> None:
        self.server_form.show()
        self.server_form.setFocus(Qt.FocusReason.OtherFocusReason)
        opener.hide()

    def _add_demo_card(self, layout: QVBoxLayout) -> None:
        card = Card(self._theme, "cardDemo", "play", self.tr("Look around with the demo"))
        card.set_detail(
            self.tr("A built-in script that works offline: it is not a language model.")
        )
        use = TextButton(self._theme, self.tr("Use the demo"), name="useDemo")
        use.clicked.connect(lambda: self.model_chosen.emit(DEMO_MODEL, ""))
        card.add_trailing(use)
        layout.addWidget(card)

    # -- what was typed -------------------------------------------------------------------

    def _on_key_accepted(self, provider: str, key: str, where: str) -> None:
        self.key_entered.emit(provider, key, where)
        self._await_models("cardKey", provider, provider_title(provider))

    def _on_server_accepted(self, server: CustomServer, key: str) -> None:
        if key:
            self.key_entered.emit(server.api_base, key, self.key_form.place)
        self.server_added.emit(server)
        self._await_models("cardTyped", server.api_base, server.title)

    def _await_models(self, name: str, owner: str, title: str) -> None:
        """Put the source that just worked on top, and ask for its models."""
        card = self._providers.pop(owner, None)
        if card is not None:
            self._found.removeWidget(card)
            card.deleteLater()
        icon = "circle-check"
        card = self._card(name, icon, self.tr("Ready: {source}").format(source=title), 0)
        card.set_icon(icon, "ok")
        card.set_detail(self.tr("Asking for its models…"))
        card.opened.connect(self.models_requested)
        self._providers[owner] = card
        self._models = None
        card.focus_use()
        self.models_requested.emit()

    def _feed_providers(self) -> None:
        if self._models is None:
            return
        for owner, card in self._providers.items():
            models = tuple(one for one in self._models if owner in (one.provider, one.api_base))
            none = self.tr("It offered no model just now.")
            card.set_detail(count_text(len(models)) if models else none)
            card.set_models(models)

    def _feed_typed(self) -> None:
        known = {*self._servers, *self._providers}
        typed = {one.api_base: one for one in self._models or () if one.api_base}
        for base, first in typed.items():
            if base not in known:
                card = self._card("cardTyped", "server", first.provider or base, 0)
                models = tuple(one for one in self._models or () if one.api_base == base)
                card.set_models(models)
                self._servers[base] = card

    def _origin_text(self, key: KeyInfo) -> str:
        if key.origin == "environment":
            words = self.tr("{variable} is set. The key stays there; it is not copied.")
            return words.format(variable=key.variable)
        return {
            "keyring": self.tr("From this computer's keyring"),
            "session": self.tr("Kept until you quit"),
            "file": self.tr("From a file that only you can read"),
        }[key.origin]
