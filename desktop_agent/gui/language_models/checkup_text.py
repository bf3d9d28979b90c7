"""What a check of a model found, in words, and what to change in its server."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QLocale

from desktop_agent.core.models import ModelCheckup, ServerKind

translate = QCoreApplication.translate

# Below this an agent's prompt, tools and one file fill the context.
GOOD_CONTEXT = 32_768


def context_text(found: ModelCheckup) -> str:
    """Return how much context the model was loaded with."""
    if found.context is None:
        return translate("Checkup", "Context: the server does not say")
    count = QLocale().toString(found.context)
    if found.context < GOOD_CONTEXT:
        words = translate("Checkup", "Context: {count} tokens as loaded, which is little for work")
    else:
        words = translate("Checkup", "Context: {count} tokens as loaded")
    return words.format(count=count)


def tools_text(found: ModelCheckup) -> str:
    """Return whether the model called the tool that it was given."""
    if found.has_tools is None:
        return translate("Checkup", "Tools: the answer was cut before it could be told")
    if found.has_tools:
        return translate("Checkup", "Tools: it calls them")
    return translate("Checkup", "Tools: it does not call them, and without tools it can only talk")


def speed_text(found: ModelCheckup) -> str:
    """Return how fast it writes."""
    if found.tokens_per_s is None:
        return translate("Checkup", "Speed: not measured, the answer was too short")
    words = translate("Checkup", "Speed: about {count} tokens a second")
    speed = found.tokens_per_s
    return words.format(count=f"{speed:.0f}" if speed >= 10 else f"{speed:.1f}")


def remedies(found: ModelCheckup, model: str) -> list[tuple[str, str]]:
    """Return what to change, each with a command that does it, or none."""
    told: list[tuple[str, str]] = []
    # The Python package's server does not tell, and gives little unless told otherwise.
    is_little = (found.context or 0) < GOOD_CONTEXT
    if is_little and (found.context is not None or found.server == "llamacpp_python"):
        told += _more_context(found.server, model)
    if found.has_tools is False:
        told += _tools(found.server, model)
    return told


def _more_context(server: ServerKind | str, model: str) -> list[tuple[str, str]]:
    size = GOOD_CONTEXT
    match server:
        case "ollama":
            words = translate(
                "Checkup",
                "Ollama loads models with a small context unless told otherwise. In its app: "
                "Settings, Context length. Without the app, quit Ollama and start it with:",
            )
            return [(words, f"OLLAMA_CONTEXT_LENGTH={size} ollama serve")]
        case "lmstudio":
            words = translate(
                "Checkup",
                "In LM Studio, set Context Length in the model's settings and load it again. Or:",
            )
            return [(words, f"lms load {model.partition('/')[2]} --context-length {size}")]
        case "llamacpp":
            words = translate("Checkup", "Start llama.cpp's server with a larger context:")
            return [(words, f"llama-server -m MODEL.gguf -c {size} --jinja")]
        case "llamacpp_python":
            words = translate(
                "Checkup",
                "Its server gives 2,048 tokens unless told otherwise. Start it with more:",
            )
            return [(words, f"python3 -m llama_cpp.server --model MODEL.gguf --n_ctx {size}")]
        case "vllm":
            words = translate("Checkup", "Start vLLM with a larger context:")
            return [(words, f"vllm serve {model.partition('/')[2]} --max-model-len {size}")]
        case _:
            return []


def _tools(server: ServerKind | str, model: str) -> list[tuple[str, str]]:
    match server:
        case "ollama":
            words = translate(
                "Checkup",
                "Choose a model that Ollama's library lists with “tools”. What one has is "
                "under Capabilities in:",
            )
            return [(words, f"ollama show {model.partition('/')[2]}")]
        case "lmstudio":
            words = translate("Checkup", "In LM Studio, choose a model with the mark for tool use.")
            return [(words, "")]
        case "llamacpp":
            words = translate(
                "Checkup", "llama.cpp's server reads tool calls only with the model's template:"
            )
            return [(words, "llama-server -m MODEL.gguf --jinja")]
        case "llamacpp_python":
            words = translate(
                "Checkup", "Its server reads tool calls only in a format that it is started with:"
            )
            command = "python3 -m llama_cpp.server --model MODEL.gguf --chat_format"
            return [(words, f"{command} chatml-function-calling")]
        case "vllm":
            words = translate("Checkup", "vLLM reads tool calls only when it is started with:")
            return [(words, "--enable-auto-tool-choice --tool-call-parser PARSER")]
        case _:
            return []
