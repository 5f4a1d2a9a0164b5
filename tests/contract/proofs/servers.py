"""The servers of the proofs: few, because starting one costs seconds, and started at the same time."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken
from tokenizers.processors import TemplateProcessing

from contract.proofs.talk import PATHS, Answer
from models.tiny import build, make_tokenizer
from overt.contract.field import Location, Route, Status
from serve.server import Server, serving

NAMES = ("m", "other")
"""Served names."""
VOCABULARY = 400
"""At least that of the tiny model: its log probabilities are told whole."""
GAP = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
HIDDEN = "<|hidden|>"
"""A special token of the scripted server."""
KEY = "sesame"
CAP = -10
"""The lowest priority that clients of the scripted server may ask for."""

TEMPLATE = (
    "{% if tools %}Tools: {{ tools | tojson }}\n{% endif %}"
    "{% if documents %}Documents: {{ documents | tojson }}\n{% endif %}"
    "{% if mood is defined %}Mood: {{ mood }}\n{% endif %}"
    "{% if reasoning_effort is defined %}Effort: {{ reasoning_effort }}\n{% endif %}"
    "{% if enable_thinking is defined %}Thinking: {{ enable_thinking }}\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CALL = '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>'
OTHER_CALL = CALL.replace('"f"', '"g"')
NUMBERS = 400
"""Answers that only say how many requests ran before."""
SCRIPT: dict[str, Any] = {
    "answers": [
        {"prompt": "<words>", "pieces": ["one ", "two ", "three ", "four"]},
        {"prompt": "<hidden>", "pieces": ["a", HIDDEN, "b"]},
        {"prompt": "<call>", "pieces": [CALL]},
        {"prompt": "<calls>", "pieces": [CALL, "\n", OTHER_CALL, "\n", "done"]},
        {"prompt": "<muse>", "pieces": ["<think>", "I ", "muse", " on", "</think>", "So", "."]},
        {"prompt": "<busy>", "pieces": ["z"], "end": "repeat"},
        *({"pieces": [str(number)]} for number in range(NUMBERS)),
    ],
    "special_pieces": [HIDDEN],
    "step_ms": 2,
}


@dataclass(frozen=True)
class Served:
    """A running server."""

    server: Server
    headers: dict[str, str]
    """Sent with every request."""

    def standings(self) -> dict[tuple[Route, Location, str], Status]:
        """What it says that it does with each field at rest."""
        document = self.server.client.get("/v1/capabilities", headers=self.headers).json()
        return {
            (route, entry["location"], entry["name"]): entry["effect"]
            for entry in document["fields"]
            for route in entry["routes"]
        }

    def ask(self, route: Route, body: dict[str, Any], headers: dict[str, str] | None = None) -> Answer:
        """Sends a request."""
        response = self.server.client.post(PATHS[route], json=body, headers={**self.headers, **(headers or {})})
        return Answer(response.status_code, response.headers, response.content, route)

    def text(self, tokens: list[int]) -> str:
        """What the tokens spell, special tokens included."""
        text: str = self.ask("detokenize", {"tokens": tokens}).ok().json["prompt"]
        return text


Servers = dict[str, Served]


def start(folder: Path, stack: ExitStack) -> Servers:
    """Starts them; they stop with the stack.

    demo: the demo model, whose template knows neither tools nor documents; its answers are read all the same. tiny:
    random weights, a vocabulary with tokens for gaps, no parsers. scripted: one request at a time, whose answer says
    what ran before it, or is the script's for the prompt; wants a key, has no prefix cache, holds to no grammar.
    """
    script, template = folder / "script.json", folder / "template.jinja"
    script.write_text(json.dumps(SCRIPT))
    template.write_text(TEMPLATE)
    # fmt: off
    flags: dict[str, tuple[str, ...]] = {
        "demo": ("demo", "--max-model-len", "512", "--max-num-seqs", "16", "--tool-call-parser", "hermes",
                 "--reasoning-parser", "qwen3"),
        "tiny": (str(_tiny(folder / "tiny")), "--max-model-len", "512", "--max-num-seqs", "32",
                 "--max-logprobs", str(VOCABULARY), "--tool-call-parser", "none", "--reasoning-parser", "none"),
        "scripted": ("demo", "--model-runner", "script", "--script", str(script), "--chat-template", str(template),
                     "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3", "--grammar-backend", "none",
                     "--max-model-len", "4096", "--max-num-seqs", "1",
                     "--max-client-priority", str(CAP), "--no-enable-prefix-caching", "--api-key", KEY,
                     "--open-metrics"),
    }
    # fmt: on
    return serve_all(flags, stack)


def serve_all(flags: dict[str, tuple[str, ...]], stack: ExitStack) -> Servers:
    """Starts servers with the given flags at the same time."""

    def one(args: tuple[str, ...]) -> Server:
        return stack.enter_context(serving(*args, "--served-model-name", *NAMES, env={"OMP_NUM_THREADS": "1"}))

    with ThreadPoolExecutor(len(flags)) as pool:
        running = dict(zip(flags, pool.map(one, flags.values()), strict=True))
    bearer = {"authorization": f"Bearer {KEY}"}
    return {name: Served(server, bearer if KEY in flags[name] else {}) for name, server in running.items()}


def _tiny(folder: Path) -> Path:
    """A random model whose tokenizer writes a first token and whose vocabulary has tokens for gaps."""
    folder.mkdir()
    tokenizer = make_tokenizer()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in GAP])
    first = "<|endoftext|>"
    tokenizer.post_processor = TemplateProcessing(f"{first} $A", special_tokens=[(first, 0)])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": first,
        "eos_token": "<|im_end|>",
        "chat_template": TEMPLATE,
        "model_max_length": 512,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 2}))
    torch.manual_seed(0)
    model = build("llama", vocab_size=tokenizer.get_vocab_size(), num_hidden_layers=2)
    model.save_pretrained(folder)
    return folder
