"""Models with their oracles, made once."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
import torch

from equality.harness import MAX_MODEL_LEN
from equality.oracle import Expected, generate
from models.tiny import make
from overt import _core
from overt.engine.probe import check_model
from overt.engine.runner import ATTENTION
from overt.models import ModelFiles, load, resolve

LONG = "OVERT_LONG_TESTS"
"""Set, SmolLM2 makes as many tokens as the tiny models: minutes instead of seconds on two cores."""
QUESTIONS = (
    "What is the capital of France?",
    "Name three rivers of Europe.",
    "Why is the sky blue?",
    "Write a line about the sea.",
    "Count from one to ten.",
    "Who wrote Hamlet?",
    "What is 12 times 12?",
    "Translate 'good morning' to Spanish.",
    "List four colours.",
    "What does a baker do?",
    "Explain gravity to a child.",
    "Give a synonym of 'happy'.",
    "What is the tallest mountain?",
    "Describe a cat in one sentence.",
    "How many days has a leap year?",
    "What is the opposite of cold?",
    "Tell me about the moon.",
    "Which animal is the fastest?",
    "What is water made of?",
    "Recommend a hobby.",
)
CHATS = [f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n" for question in QUESTIONS]


@dataclass
class Case:
    """A model, its prompts and what is expected of it."""

    name: str
    model: torch.nn.Module
    files: ModelFiles
    prompts: list[list[int]]
    expected: list[Expected]
    count: int
    """Tokens a prompt."""


def make_case(name: str, source: str, count: int, texts: Sequence[str] = CHATS) -> Case:
    """The case of the model that `source` names: `count` tokens after each of `texts`."""
    torch.manual_seed(0)
    files = resolve(source)
    tokenizer = _core.Tokenizer(files.tokenizer_json)
    prompts = [tokenizer.encode(text, True) for text in texts]
    # Longer than a block and a prefill chunk, so that every mode has something to cut.
    prompts = [prompt * (3 if index % 4 == 0 else 1) for index, prompt in enumerate(prompts)]
    model = load(files, dtype="float32", device="cpu", attn_implementation="eager")
    expected = generate(model, prompts, count)
    model.set_attn_implementation(ATTENTION)  # type: ignore[operator]
    check_model(model, max_model_len=MAX_MODEL_LEN)
    return Case(name, model, files, prompts, expected, count)


@pytest.fixture(scope="module", params=["smollm2", "llama", "qwen3", "mistral", "gemma3"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """SmolLM2 and tiny random models of four families."""
    name: str = request.param
    if name == "smollm2":
        return make_case(name, "demo", 48 if LONG in os.environ else 12)
    return make_case(name, str(make(name, tmp_path_factory.mktemp(name))), 48)
