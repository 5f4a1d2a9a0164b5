"""Decode and prefill speed of the model runner, beside transformers' generate() and the bare matrix products.

    python bench/engine.py [--model demo] [--batches 1 8 32] [--context 200] [--steps 16] [--rounds 3] [--json FILE]

All three run in one process, interleaved round by round, on the same weights and threads; a figure is the median of
all its steps. "products" multiplies by every weight matrix once a step and does nothing else: no server of
these weights in this precision is faster with these matrix routines.
"""

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overt.cli.launch import ENGINE_ENV

# Read when torch loads its thread pool: as `serve` starts its engine.
os.environ |= ENGINE_ENV | os.environ

if TYPE_CHECKING:
    from overt.engine.runner import ModelRunner

BLOCK = 16
PREFILL_TOKENS = 256
"""Prompt tokens of a step, as `serve` has it on a CPU."""


class Batch:
    """Sequences of equal length, run through the runner step by step."""

    def __init__(self, runner: "ModelRunner", layout: Any, rows: int, context: int, steps: int, vocab: int) -> None:
        from overt.engine.arena import word_views

        self.runner = runner
        self.words = [word_views(arena, layout) for arena in runner.arenas]
        self.rows, self.context, self.plan = rows, context, 0
        self.prompts = [[random.randrange(vocab) for _ in range(context)] for _ in range(rows)]
        blocks = -(-(context + steps) // BLOCK)
        ids = list(range(1, rows * blocks + 1))
        random.shuffle(ids)
        self.tables = [ids[row * blocks : (row + 1) * blocks] for row in range(rows)]

    def step(self, pieces: list[tuple[int, int, list[int]]], *, decode: bool) -> float:
        """Runs (row, start, tokens) pieces; -1 stands for the token just sampled. Returns seconds."""
        from overt.engine.arena import FLAG_ALL_GREEDY, HEADER

        words = self.words[self.plan % 2]
        at = 0
        for index, (row, start, tokens) in enumerate(pieces):
            end = start + len(tokens)
            for offset, token in enumerate(tokens):
                position = start + offset
                words["input_ids"][at + offset] = token
                words["positions"][at + offset] = position
                words["slot_mapping"][at + offset] = self.tables[row][position // BLOCK] * BLOCK + position % BLOCK
            words["query_start"][index : index + 2] = [at, at + len(tokens)]
            words["seq_lens"][index] = end
            words["row_slot"][index] = row
            words["sample"][index] = end >= self.context
            words["block_tables"][index, : len(self.tables[row])] = self.tables[row]
            at += len(tokens)
        header = {
            "plan": self.plan,
            "rows": len(pieces),
            "tokens": at,
            "decode_rows": len(pieces) if decode else 0,
            "max_seq_len": max(start + len(tokens) for _, start, tokens in pieces),
            "samples": len(pieces),
            "flags": FLAG_ALL_GREEDY,
        }
        words["header"][: len(HEADER)] = [header.get(name, 0) for name in HEADER]
        begin = time.perf_counter()
        self.runner.launch(self.plan)
        self.runner.sample(self.plan)
        self.runner.tokens(self.plan)
        self.plan += 1
        return time.perf_counter() - begin

    def run(self, steps: int) -> tuple[float, list[float]]:
        """Seconds of the whole prefill, and of each of `steps` decode steps."""
        prefill = 0.0
        for row, prompt in enumerate(self.prompts):
            for start in range(0, self.context, PREFILL_TOKENS):
                prefill += self.step([(row, start, prompt[start : start + PREFILL_TOKENS])], decode=False)
        rows = range(self.rows)
        decode = [self.step([(row, self.context + n, [-1]) for row in rows], decode=True) for n in range(steps)]
        return prefill, decode


def generate(model: Any, prompts: list[list[int]], steps: int) -> tuple[float, list[float]]:
    """The same of transformers' generate() with its SDPA attention and dynamic cache, greedy."""
    import torch
    from transformers import StoppingCriteria, StoppingCriteriaList

    from overt.engine.runner import ATTENTION

    times: list[float] = []

    class Clock(StoppingCriteria):  # type: ignore[misc]
        """Notes when each token was there; stops nothing."""

        def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
            times.append(time.perf_counter())
            return torch.zeros(input_ids.shape[0], dtype=torch.bool)

    ids = torch.tensor(prompts)
    model.set_attn_implementation("sdpa")
    try:
        begin = time.perf_counter()
        model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=steps + 1,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
            stopping_criteria=StoppingCriteriaList([Clock()]),
        )
    finally:
        model.set_attn_implementation(ATTENTION)
    return times[0] - begin, [later - earlier for earlier, later in pairwise(times)]


def products(model: Any, tokens: int) -> Callable[[], float]:
    """Seconds of multiplying `tokens` vectors by every matrix of the model."""
    import torch

    layers = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
    inputs = {layer.in_features: torch.randn(tokens, layer.in_features) for layer in layers}

    def once() -> float:
        begin = time.perf_counter()
        with torch.inference_mode():
            for layer in layers:
                layer(inputs[layer.in_features])
        return time.perf_counter() - begin

    return once


def measure(model: Any, rows: int, options: argparse.Namespace) -> dict[str, float]:
    """Tokens a second of every contender at one batch size."""
    from overt._core import arena_layout
    from overt.engine.runner import ModelRunner

    context, steps = options.context, options.steps
    layout = arena_layout(rows, max(PREFILL_TOKENS, rows), -(-(context + steps) // BLOCK))
    runner = ModelRunner(
        model,
        device="cpu",
        layout=layout,
        num_blocks=rows * -(-(context + steps) // BLOCK) + 1,
        max_rows=rows,
        max_tokens=max(PREFILL_TOKENS, rows),
        max_blocks=-(-(context + steps) // BLOCK),
    )
    runner.warm_up()
    bound = products(model, rows)
    vocab = model.config.get_text_config().vocab_size
    decode: dict[str, list[float]] = {"overt": [], "generate": [], "products": []}
    prefill: dict[str, list[float]] = {"overt": [], "generate": []}
    for _ in range(options.rounds):
        batch = Batch(runner, layout, rows, context, steps, vocab)
        for name, run in (
            ("overt", lambda batch=batch: batch.run(steps)),
            ("generate", lambda batch=batch: generate(model, batch.prompts, steps)),
        ):
            first, rest = run()
            prefill[name].append(first)
            # The first decode step meets new shapes.
            decode[name] += rest[1:]
        bound()
        decode["products"] += [bound() for _ in range(steps - 1)]
    figures = {f"decode {name}": rows / statistics.median(times) for name, times in decode.items()}
    figures |= {f"prefill {name}": rows * context / statistics.median(times) for name, times in prefill.items()}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="demo")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--context", type=int, default=200, help="prompt tokens of each sequence")
    parser.add_argument("--steps", type=int, default=16, help="decode steps a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    if options.steps < 2 or options.rounds < 1 or min(options.batches) < 1 or options.context < 1:
        parser.error("--steps must be at least 2; --rounds, --batches and --context at least 1")

    import torch

    from overt.engine.runner import ATTENTION
    from overt.models import load, resolve

    torch.set_num_threads(options.threads)
    model = load(resolve(options.model), dtype="float32", device="cpu", attn_implementation=ATTENTION)
    results: dict[str, dict[str, float]] = {}
    print(f"{options.model}, float32, {options.threads} threads, context {options.context}; tokens a second")
    columns = ("decode overt", "decode generate", "decode products", "prefill overt", "prefill generate")
    print("batch  " + "  ".join(columns) + "  overt/generate")
    for rows in options.batches:
        figures = measure(model, rows, options)
        results[str(rows)] = figures
        ratio = figures["decode overt"] / figures["decode generate"]
        cells = "  ".join(f"{figures[name]:{len(name)}.1f}" for name in columns)
        print(f"{rows:5d}  {cells}  {ratio:14.2f}", flush=True)
    if options.json:
        settings = {name: getattr(options, name) for name in ("model", "context", "steps", "rounds", "threads")}
        options.json.write_text(json.dumps({"settings": settings, "tokens_per_second": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
