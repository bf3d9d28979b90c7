"""Model providers by litellm's names: their keys, and where their models are asked. One table."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

import msgspec

ModelDialect = Literal["openai", "anthropic", "gemini"]


class Provider(msgspec.Struct, frozen=True):
    """One provider. `variables` are the environment's names for its key, first one first.

    `models_url` lists what a key may use; `check_url` needs a valid key where the list does
    not. `prefixes` are beginnings of keys that no other provider gives out. `key_page` is where
    a user gets a key; without one it is not offered as a choice. `openai_base` is an address
    that speaks OpenAI's chat, used where litellm reads the provider's own form worse: of Cohere's
    it gives up each stream at the first `event:` line and takes every error for a wrong key.
    """

    name: str
    title: str
    variables: tuple[str, ...]
    models_url: str = ""
    prefixes: tuple[str, ...] = ()
    dialect: ModelDialect = "openai"
    check_url: str = ""
    aliases: tuple[str, ...] = ()
    key_page: str = ""
    openai_base: str = ""


PROVIDERS: tuple[Provider, ...] = (
    Provider(
        "anthropic",
        "Anthropic",
        ("ANTHROPIC_API_KEY",),
        "https://api.anthropic.com/v1/models?limit=1000",
        ("sk-ant-",),
        dialect="anthropic",
        key_page="https://console.anthropic.com/settings/keys",
    ),
    Provider(
        "openai",
        "OpenAI",
        ("OPENAI_API_KEY",),
        "https://api.openai.com/v1/models",
        ("sk-proj-", "sk-svcacct-", "sk-admin-"),
        aliases=("text-completion-openai", "chatgpt"),
        key_page="https://platform.openai.com/api-keys",
    ),
    Provider(
        "gemini",
        "Google Gemini",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000",
        ("AIza",),
        dialect="gemini",
        key_page="https://aistudio.google.com/apikey",
    ),
    Provider(
        "openrouter",
        "OpenRouter",
        ("OPENROUTER_API_KEY", "OR_API_KEY"),
        "https://openrouter.ai/api/v1/models",
        ("sk-or-",),
        check_url="https://openrouter.ai/api/v1/key",
        key_page="https://openrouter.ai/keys",
    ),
    Provider(
        "groq",
        "Groq",
        ("GROQ_API_KEY",),
        "https://api.groq.com/openai/v1/models",
        ("gsk_",),
        key_page="https://console.groq.com/keys",
    ),
    Provider(
        "mistral",
        "Mistral",
        ("MISTRAL_API_KEY",),
        "https://api.mistral.ai/v1/models",
        key_page="https://console.mistral.ai/api-keys",
    ),
    Provider(
        "deepseek",
        "DeepSeek",
        ("DEEPSEEK_API_KEY",),
        "https://api.deepseek.com/models",
        key_page="https://platform.deepseek.com/api_keys",
    ),
    Provider(
        "xai",
        "xAI",
        ("XAI_API_KEY",),
        "https://api.x.ai/v1/models",
        ("xai-",),
        key_page="https://console.x.ai",
    ),
    Provider(
        "together_ai",
        "Together AI",
        ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHER_AI_TOKEN"),
        "https://api.together.xyz/v1/models",
        ("tgp_",),
        key_page="https://api.together.ai/settings",
    ),
    Provider(
        "fireworks_ai",
        "Fireworks AI",
        ("FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
        "https://api.fireworks.ai/inference/v1/models",
        ("fw_",),
        key_page="https://fireworks.ai/account",
    ),
    Provider(
        "cohere",
        "Cohere",
        ("COHERE_API_KEY", "CO_API_KEY"),
        "https://api.cohere.ai/compatibility/v1/models",
        aliases=("cohere_chat",),
        key_page="https://dashboard.cohere.com/api-keys",
        openai_base="https://api.cohere.ai/compatibility/v1",
    ),
    Provider(
        "cerebras",
        "Cerebras",
        ("CEREBRAS_API_KEY",),
        "https://api.cerebras.ai/v1/models",
        ("csk-",),
        key_page="https://cloud.cerebras.ai",
    ),
    Provider(
        "nvidia_nim",
        "NVIDIA NIM",
        ("NVIDIA_NIM_API_KEY", "NVIDIA_API_KEY"),
        "https://integrate.api.nvidia.com/v1/models",
        ("nvapi-",),
        key_page="https://build.nvidia.com",
    ),
    Provider(
        "huggingface",
        "Hugging Face",
        ("HF_TOKEN", "HUGGINGFACE_API_KEY"),
        "https://router.huggingface.co/v1/models",
        ("hf_",),
        check_url="https://huggingface.co/api/whoami-v2",
        key_page="https://huggingface.co/settings/tokens",
    ),
    Provider(
        "moonshot",
        "Moonshot",
        ("MOONSHOT_API_KEY",),
        "https://api.moonshot.ai/v1/models",
        key_page="https://platform.moonshot.ai/console",
    ),
    Provider("zai", "Z.ai", ("ZAI_API_KEY",)),
    Provider("minimax", "MiniMax", ("MINIMAX_API_KEY",)),
    Provider("dashscope", "Alibaba Cloud", ("DASHSCOPE_API_KEY",)),
    Provider(
        "deepinfra",
        "DeepInfra",
        ("DEEPINFRA_API_KEY",),
        "https://api.deepinfra.com/v1/openai/models",
    ),
    Provider(
        "sambanova", "SambaNova", ("SAMBANOVA_API_KEY",), "https://api.sambanova.ai/v1/models"
    ),
    Provider(
        "perplexity",
        "Perplexity",
        ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
        prefixes=("pplx-",),
        key_page="https://www.perplexity.ai/settings",
    ),
    Provider(
        "vercel_ai_gateway",
        "Vercel AI Gateway",
        ("VERCEL_AI_GATEWAY_API_KEY", "AI_GATEWAY_API_KEY"),
        "https://ai-gateway.vercel.sh/v1/models",
        ("vck_",),
    ),
    Provider("nebius", "Nebius", ("NEBIUS_API_KEY",)),
    Provider("novita", "Novita", ("NOVITA_API_KEY",)),
    Provider("featherless_ai", "Featherless", ("FEATHERLESS_AI_API_KEY",)),
    Provider("azure", "Azure OpenAI", ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY")),
)

# What a user can paste a key for; the others are found by their names in the environment.
PROVIDER_CHOICES = tuple(each for each in PROVIDERS if each.key_page)
_BY_NAME = {name: each for each in PROVIDERS for name in (each.name, *each.aliases)}
_BY_HOST = {urlsplit(each.models_url).hostname: each for each in PROVIDERS if each.models_url}
# litellm takes these without a provider's name in front.
_BARE_NAMES = (
    ("claude", "anthropic"),
    ("gpt", "openai"),
    ("chatgpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini", "gemini"),
)


def provider_title(name: str) -> str:
    """Return a provider's name for people."""
    known = _BY_NAME.get(name)
    if known is not None:
        return known.title
    if is_host(name) or not name.islower():
        return name
    return name.replace("_", " ").capitalize()


def is_host(name: str) -> bool:
    """Whether a key's owner is a server's host, not a provider."""
    return "." in name or ":" in name


def find_provider(name: str) -> Provider | None:
    """Return the provider of that name, or None."""
    return _BY_NAME.get(name)


def host_of(address: str) -> str:
    """Return an address's host and port, in small letters; empty for what is no address."""
    try:
        return urlsplit(address).netloc.rpartition("@")[2].lower()
    except ValueError:
        return ""


def key_owner(name: str) -> str:
    """Return under which name a key is kept: a provider's, or the host of an address.

    Takes a provider, a litellm model name (`openai/gpt-5`) or an address (`http://host:1/v1`).
    An address is never given a provider's key, unless it is that provider's own.
    """
    name = name.strip()
    if "://" in name:
        host = host_of(name)
        provider = _BY_HOST.get(host)
        return provider.name if provider and name.startswith("https://") else host
    start = name.split("/", 1)[0]
    if start in _BY_NAME:
        return _BY_NAME[start].name
    if "/" not in name:
        for beginning, provider_name in _BARE_NAMES:
            if name.lower().startswith(beginning):
                return provider_name
    return start.lower()


def guess_provider(key: str) -> str:
    """Return the provider that gives out such keys; empty when none is known.

    `sk-` is used by several. It is a guess at one only: a key is never tried at another.
    """
    key = key.strip()
    candidates = [
        (len(prefix), provider.name)
        for provider in PROVIDERS
        for prefix in provider.prefixes
        if key.startswith(prefix)
    ]
    if candidates:
        return max(candidates)[1]
    return "openai" if key.startswith("sk-") else ""
