"""Tiny random models, and sequences driven through the runner as the engine process does it."""

from collections.abc import Callable
from typing import Any

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, MistralConfig, Qwen3Config
from transformers.models.gemma3 import Gemma3TextConfig

from engine.pack import Packer, Sequence
from overt.engine.logprobs import Mode
from overt.engine.runner import ATTENTION, ModelRunner

VOCAB = 101
SHAPE = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "num_hidden_layers": 3,
    "vocab_size": VOCAB,
    "max_position_embeddings": 512,
    # Larger than usual, so that logits differ clearly.
    "initializer_range": 0.2,
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
}

CONFIGS: dict[str, Any] = {
    "llama": LlamaConfig(**SHAPE),
    "qwen3": Qwen3Config(**SHAPE),
    "mistral": MistralConfig(**SHAPE, sliding_window=21),
    "gemma3": Gemma3TextConfig(
        **SHAPE,
        sliding_window=9,
        query_pre_attn_scalar=8,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
    ),
}


def tiny_model(name: str) -> Any:
    """A random model of a family, ready for the runner."""
    return random_model(CONFIGS[name])


def random_model(config: Any) -> Any:
    """A random model of a configuration, ready for the runner."""
    torch.manual_seed(1)
    return AutoModelForCausalLM.from_config(config, attn_implementation=ATTENTION).eval()


def make_runner(
    model: Any, packer: Packer, *, graphs: bool = True, logprobs_mode: Mode = "raw_logprobs"
) -> ModelRunner:
    """A runner on the CPU with the packer's limits."""
    rows, tokens, blocks = packer.limits
    return ModelRunner(
        model,
        device="cpu",
        layout=packer.layout,
        num_blocks=packer.num_blocks,
        max_rows=rows,
        max_tokens=tokens,
        max_blocks=blocks,
        graphs=graphs,
        logprobs_mode=logprobs_mode,
    )


def drive(
    runner: ModelRunner,
    packer: Packer,
    sequences: list[Sequence],
    *,
    overlap: bool = False,
    edits: Callable[[int], bytes | None] = lambda plan: None,
    told: Callable[[int], None] = lambda plan: None,
) -> list[list[int]]:
    """Runs all sequences to their end; with `overlap` a step is launched before the last one's tokens are read.

    `edits` gives a plan's edits when the one before is known; `told` is called before a plan's tokens are taken.
    """

    def decide(plan: int) -> None:
        tokens = runner.tokens(plan).tolist()
        told(plan)
        packer.apply(plan, tokens)

    waiting = sorted(sequences, key=lambda sequence: sequence.arrives)
    running: int | None = None
    plan = 0
    while waiting or packer.running:
        while waiting and waiting[0].arrives <= plan and packer.free_slots:
            packer.admit(waiting.pop(0))
        launched = plan if packer.pack(plan, runner.arenas[plan % 2]) else None
        if launched is not None:
            runner.launch(launched)
        if running is not None:
            decide(running)
        if launched is not None:
            runner.sample(launched, edits(launched))
            if not overlap:
                decide(launched)
        running = launched if overlap else None
        plan += 1
    return [sequence.made for sequence in sequences]


def generate(model: Any, prompt: list[int], max_new: int) -> list[int]:
    """Greedy tokens of transformers' own loop with eager attention."""
    model.set_attn_implementation("eager")
    try:
        ids = torch.tensor([prompt])
        output = model.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=max_new, do_sample=False
        )
    finally:
        model.set_attn_implementation(ATTENTION)
    return output[0, len(prompt) :].tolist()
