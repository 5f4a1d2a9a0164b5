"""transformers' generate() in fp32, and how far apart its two best tokens were."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

GAP = 1e-3
"""Two tokens closer than this are a tie: rounding, which differs between batch shapes, decides."""

MAX_TIES = 2


@dataclass(frozen=True)
class Expected:
    """What generate() says to one prompt."""

    tokens: list[int]
    gaps: list[float]
    """Difference of the two highest logits at each token."""


@torch.inference_mode()
def generate(model: torch.nn.Module, prompts: Sequence[Sequence[int]], count: int) -> list[Expected]:
    """`count` greedy tokens for each prompt, alone; nothing ends it early."""
    expected = []
    for prompt in prompts:
        ids = torch.tensor([list(prompt)])
        output = model.generate(  # type: ignore[operator]
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=count,
            min_new_tokens=count,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
            output_logits=True,
            return_dict_in_generate=True,
        )
        best = torch.cat(output.logits).float().topk(2).values
        tokens = output.sequences[0, len(prompt) :].tolist()
        expected.append(Expected(tokens, (best[:, 0] - best[:, 1]).tolist()))
    return expected


def compare(mode: str, expected: Sequence[Expected], got: Sequence[Sequence[int]]) -> None:
    """Fails unless every text is the same, or differs first where the oracle itself was undecided."""
    ties = []
    for index, (want, have) in enumerate(zip(expected, got, strict=True)):
        if want.tokens == list(have):
            continue
        pairs = zip(want.tokens, have, strict=False)
        first = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(want.tokens), len(have)))
        assert first < len(want.tokens), f"{mode}: prompt {index} made {len(have)} tokens"
        gap = want.gaps[first]
        assert gap < GAP, (
            f"{mode}: prompt {index} differs at token {first}: {want.tokens[first]} was wanted, "
            f"{have[first] if first < len(have) else 'nothing'} came, and the gap was {gap:.5f}"
        )
        ties.append((index, first, gap))
    for index, first, gap in ties:
        print(f"{mode}: prompt {index} differs at token {first}, where the oracle's gap is {gap:.6f}")
    assert len(ties) <= MAX_TIES, f"{mode}: {len(ties)} prompts differ"
