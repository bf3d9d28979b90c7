"""The providers a key can be pasted for: their names, how their keys begin, where one gets one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """`name` is litellm's. `key_page` is opened in the browser when the person asks."""

    name: str
    title: str
    key_page: str
    prefixes: tuple[str, ...] = ()


PROVIDER_CHOICES: tuple[ProviderChoice, ...] = (
    ProviderChoice(
        "anthropic", "Anthropic", "https://console.anthropic.com/settings/keys", ("sk-ant-",)
    ),
    ProviderChoice(
        "openai",
        "OpenAI",
        "https://platform.openai.com/api-keys",
        ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-"),
    ),
    ProviderChoice("gemini", "Google Gemini", "https://aistudio.google.com/apikey", ("AIza",)),
    ProviderChoice("openrouter", "OpenRouter", "https://openrouter.ai/keys", ("sk-or-",)),
    ProviderChoice("groq", "Groq", "https://console.groq.com/keys", ("gsk_",)),
    ProviderChoice("mistral", "Mistral", "https://console.mistral.ai/api-keys"),
    ProviderChoice("deepseek", "DeepSeek", "https://platform.deepseek.com/api_keys"),
    ProviderChoice("xai", "xAI", "https://console.x.ai", ("xai-",)),
    ProviderChoice("together_ai", "Together AI", "https://api.together.ai/settings", ("tgp_",)),
    ProviderChoice("fireworks_ai", "Fireworks AI", "https://fireworks.ai/account", ("fw_",)),
    ProviderChoice("cohere", "Cohere", "https://dashboard.cohere.com/api-keys"),
    ProviderChoice("cerebras", "Cerebras", "https://cloud.cerebras.ai", ("csk-",)),
    ProviderChoice("nvidia_nim", "NVIDIA NIM", "https://build.nvidia.com", ("nvapi-",)),
    ProviderChoice(
        "huggingface", "Hugging Face", "https://huggingface.co/settings/tokens", ("hf_",)
    ),
    ProviderChoice("moonshot", "Moonshot", "https://platform.moonshot.ai/console"),
    ProviderChoice("perplexity", "Perplexity", "https://www.perplexity.ai/settings", ("pplx-",)),
)

_TITLES = {choice.name: choice.title for choice in PROVIDER_CHOICES}


def guess_provider(key: str) -> str:
    """Return the provider that gives out keys like this, by the longest prefix; or nothing."""
    found = [
        (len(prefix), choice.name)
        for choice in PROVIDER_CHOICES
        for prefix in choice.prefixes
        if key.strip().startswith(prefix)
    ]
    return max(found, default=(0, ""))[1]


def provider_title(name: str) -> str:
    """Return a provider's name for people."""
    if name in _TITLES or is_host(name) or not name.islower():
        return _TITLES.get(name, name)
    return name.replace("_", " ").capitalize()


def is_host(name: str) -> bool:
    """Whether a key's owner is a server's host, not a provider."""
    return "." in name or ":" in name
