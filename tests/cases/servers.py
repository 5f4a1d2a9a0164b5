"""The servers that cases share: few, because starting one costs seconds."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from cases.corpus import READ_AREAS, cases
from models.tiny import make
from overt.engine.script import extend_tokenizer
from overt.models import resolve
from serve.server import Server, serving

SKIPPED = "<|skipped|>"
"""A special token: it takes a step and writes nothing."""

TEMPLATE = (
    "{% if tools is defined and tools is not none %}Tools: {{ tools | tojson }}\n{% endif %}"
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
"""Shows an empty list of tools, where it is let through."""

FIRST_END, SECOND_END = 2, 0
"""The end tokens of the odd model."""


# --- the scripted server ---


def asks(id_: str, cut: str = "as_given") -> str:
    """The words in a prompt that the scripted server answers with this case's output."""
    return f"<{id_}/{cut}>"


def chunkings(pieces: list[str], special: list[str]) -> dict[str, list[str]]:
    """The same text cut as given, one character a token, and in one token; special tokens stay whole."""
    characters: list[str] = []
    runs: list[str] = []
    for piece in pieces:
        characters += [piece] if piece in special else [*piece]
        if piece in special or not runs or runs[-1] in special:
            runs.append(piece)
        else:
            runs[-1] += piece
    return {"as_given": pieces, "per_char": characters, "all_in_one": runs}


def tokens_of(id_: str, cut: str) -> list[int]:
    """The tokens of one of the scripted server's answers."""
    answers, special = _answers()
    script = {"answers": answers, "special_pieces": sorted(special)}
    _, made = extend_tokenizer(resolve("demo").tokenizer_json, script)
    index = [answer.get("prompt") for answer in answers].index(asks(id_, cut))
    tokens: list[int] = made["answers"][index]["choices"][0]["tokens"]
    return tokens


def _answers() -> tuple[list[dict[str, Any]], set[str]]:
    answers: list[dict[str, Any]] = [{"pieces": ["a", "b", "c"]}]
    special = {SKIPPED}
    for case in cases().values():
        if case.area in READ_AREAS:
            continue
        output = case.input.get("model_output", {})
        ends = {"engine_error": "raise"}
        end = ends.get(output.get("end", ""), "eos")
        if "repeat" not in output and "pieces" in output:
            specials = output.get("special_token_pieces", [])
            special |= set(specials)
            for cut, pieces in chunkings(output["pieces"], specials).items():
                answers.append({"prompt": asks(case.id, cut), "pieces": pieces, "end": end})
        if "token_bytes_hex" in case.input:
            tokens = case.input["token_bytes_hex"]
            answers.append({"prompt": asks(case.id), "bytes_hex": tokens})
            # Prompts by their ids want a token for each of these pieces, too.
            prompt = case.input.get("prompt_token_bytes_hex", [])
            answers.append({"prompt": asks(case.id, "prompt"), "bytes_hex": prompt})
        if "engine_script" in case.input:
            answers.append({"prompt": asks(case.id), "choices": choices_of(case.input["engine_script"])})
    run = cases()["detok-legit-fffd-run"].input["token_bytes_hex"]
    answers.append({"prompt": asks("detok-legit-fffd-run", "ten times"), "bytes_hex": run[:-1] * 10 + run[-1:]})
    return answers, special


def choices_of(script: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A token each for every event: a choice that is not its subject writes nothing meanwhile."""
    choices: list[list[str]] = [[], [], []]
    ended: set[int] = set()
    for event in script:
        subject = event["choice"]
        for index, pieces in enumerate(choices):
            if index == subject and event.get("end") == "eos":
                ended.add(index)
            elif index not in ended:
                pieces.append(event.get("piece", SKIPPED) if index == subject else SKIPPED)
    return [{"pieces": pieces} for pieces in choices]


@contextmanager
def _scripted(folder: Path) -> Iterator[Server]:
    answers, special = _answers()
    file = folder / "script.json"
    file.write_text(json.dumps({"answers": answers, "special_pieces": sorted(special), "step_ms": 0.2}))
    template = folder / "template.jinja"
    template.write_text(TEMPLATE)
    flags = ("--model-runner", "script", "--script", str(file), "--chat-template", str(template))
    with serving("demo", *flags, "--tool-call-parser", "hermes") as server:
        yield server


# --- the slow server ---


@contextmanager
def _slow(_: Path) -> Iterator[Server]:
    """10 ms a token, one sequence at a time."""
    with serving("demo", "--model-runner", "sim", "--sim-step-ms", "10", "--max-num-seqs", "1") as server:
        yield server


# --- the odd model: logits that are known beforehand, through the real runner ---


def odd_logits(tokenizer: Tokenizer) -> torch.Tensor:
    """The logits of the next token (column) after each token (row), whatever stands before it."""
    size = tokenizer.get_vocab_size()
    token, following = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    # Of most tokens every letter may follow.
    logits = 2 * torch.sin(0.7 * following + 1.3 * token)
    spellings = [tokenizer.id_to_token(id_) or "" for id_ in range(size)]
    letter = torch.tensor([len(spelling) == 1 and spelling.isascii() for spelling in spellings])
    logits = torch.where(letter[None, :], logits, torch.tensor(-10.0))
    newline, a = tokenizer.token_to_id("Ċ"), tokenizer.token_to_id("a")
    for row, wanted in (
        # Penalties change the order of two tokens.
        (5, {5: 3.0, 9: 2.5}),
        (7, {5: 3.0, 9: 2.5}),
        (9, {5: 3.0, 9: 2.5}),
        # The first token of an answer would end it.
        (newline, {SECOND_END: 9.0, FIRST_END: 8.0, a: 7.0}),
        (a, {SECOND_END: 9.0, FIRST_END: 8.0, a: 7.0}),
        (SECOND_END, {FIRST_END: 9.0, a: 7.0}),
        (FIRST_END, {SECOND_END: 9.0, a: 7.0}),
    ):
        logits[row] = -10.0
        for id_, value in wanted.items():
            logits[row, id_] = value
    return logits


def make_odd(folder: Path) -> Path:
    """A llama that computes nothing but `odd_logits`: embeddings of one hot value, layers that add zero."""
    make("llama", folder, hidden_size=320, num_hidden_layers=1, intermediate_size=32)
    file = folder / "model.safetensors"
    weights = load_file(file)
    logits = odd_logits(Tokenizer.from_file(str(folder / "tokenizer.json")))
    size, width = weights["model.embed_tokens.weight"].shape
    for name, tensor in weights.items():
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            tensor.zero_()
        elif "norm" in name:
            tensor.fill_(1)
    # Large, so that the norm's epsilon is nothing.
    weights["model.embed_tokens.weight"] = 1000 * torch.eye(size, width)
    head = torch.zeros(size, width)
    head[:, :size] = logits.T / math.sqrt(width)
    weights["lm_head.weight"] = head
    save_file(weights, file, metadata={"format": "pt"})
    return folder


@contextmanager
def _odd(folder: Path) -> Iterator[Server]:
    with serving(str(make_odd(folder / "odd")), "--logprobs-mode", "processed_logprobs") as server:
        yield server


# --- a model with room for little ---


@contextmanager
def _cramped(folder: Path) -> Iterator[Server]:
    """8 blocks of 16 tokens, for four sequences of 80."""
    flags = ("--max-model-len", "96", "--num-gpu-blocks-override", "8", "--no-enable-prefix-caching")
    with serving(str(make("llama", folder / "tiny")), *flags) as server:
        yield server


SERVERS: dict[str, Callable[[Path], Any]] = {
    "scripted": _scripted,
    "slow": _slow,
    "odd": _odd,
    "cramped": _cramped,
}
