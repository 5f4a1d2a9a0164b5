"""Log probabilities: of the tokens that a step made, and of tokens that stand in a prompt.

They are told as int32 rows `[2 + 2 * top]`: the float bits of the token's log probability, its rank (1: the
likeliest), the `top` likeliest tokens, the likeliest first, and the float bits of their log probabilities. An
alternative is -1, of log probability -inf, where no further token has a probability.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal, cast

import torch

from overt.engine.edits import DeviceEdits
from overt.engine.probe import forward
from overt.engine.sampler import on_device

Mode = Literal["raw_logprobs", "processed_logprobs"]

CHUNK: Final = 128
"""Prompt tokens whose logits exist at once."""

_AT_ONCE: Final = 64
"""Rows that a GPU looks at together; on a CPU one at a time stays in its cache."""


def describe(logits: torch.Tensor, tokens: torch.Tensor, top: int) -> torch.Tensor:
    """What the module says of `tokens`, int64 `[rows]`, by `logits`, float32 `[rows, vocab]`.

    A negative token, which stands for an error, has log probability NaN and rank 0.
    """
    step = _AT_ONCE if logits.is_cuda else 1
    pieces = zip(torch.split(logits, step), torch.split(tokens, step), strict=True)
    return torch.cat([_describe(some, token, top) for some, token in pieces])


def _describe(logits: torch.Tensor, tokens: torch.Tensor, top: int) -> torch.Tensor:
    tokens = tokens[:, None]
    known = tokens >= 0
    whole = logits.logsumexp(-1, keepdim=True)
    own = logits.gather(-1, tokens.clamp(min=0))
    rank = torch.where(known, (logits > own).sum(-1, keepdim=True) + 1, 0)
    logprob = torch.where(known, own - whole, torch.nan)
    if not top:
        return torch.cat([_bits(logprob), rank.int()], -1)
    count = min(top, logits.shape[-1])
    best, ids = logits.topk(count)
    best -= whole
    likely = best > -torch.inf
    pad = (0, top - count)
    ids = torch.nn.functional.pad(torch.where(likely, ids, -1), pad, value=-1)
    best = torch.nn.functional.pad(torch.where(likely, best, -torch.inf), pad, value=-torch.inf)
    return torch.cat([_bits(logprob), rank.int(), ids.int(), _bits(best)], -1)


def _bits(values: torch.Tensor) -> torch.Tensor:
    return values.float().view(torch.int32)


class RawLogits:
    """The logits as they were before their edits: copies are made of rows that are edited and asked about."""

    def __init__(self, logits: torch.Tensor, edits: DeviceEdits) -> None:
        asked, edited = edits.host.logprob_rows.tolist(), set(edits.host.rows.tolist())
        self._logits = logits
        rows = sorted(edited.intersection(asked))
        self._place = {row: place for place, row in enumerate(rows)}
        self._copies = logits[on_device(rows, logits)] if rows else logits[:0]

    def take(self, rows: list[int], index: torch.Tensor) -> torch.Tensor:
        """Logits of `rows`, which `index` holds as well: `[len(rows), vocab]`."""
        if len(rows) == 1:
            place = self._place.get(rows[0])
            return self._logits[rows[0], None] if place is None else self._copies[place, None]
        taken = self._logits[index]
        if edited := [at for at, row in enumerate(rows) if row in self._place]:
            places = [self._place[rows[at]] for at in edited]
            taken[on_device(edited, taken)] = self._copies[on_device(places, taken)]
        return taken


def of_sampled(
    take: Callable[[list[int], torch.Tensor], torch.Tensor], tokens: torch.Tensor, edits: DeviceEdits
) -> torch.Tensor:
    """What the module says of the tokens (`[rows]`, of the whole step) that the edits ask about; `take` gives the
    logits, or log probabilities, of some rows.
    """
    rows, index, top = edits.host.logprob_rows.tolist(), edits.logprob_rows.long(), edits.host.logprob_top
    step = _AT_ONCE if tokens.is_cuda else 1
    pieces = []
    for start in range(0, len(rows), step):
        some = index[start : start + step]
        pieces.append(describe(take(rows[start : start + step], some), tokens[some], top))
    return torch.cat(pieces)


class PromptHead:
    """Runs a model's head, with all it does to logits, again over what its layers made of a step's tokens."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        base = getattr(model, getattr(model, "base_model_prefix", ""), None)
        self._base = base if isinstance(base, torch.nn.Module) else None

    @property
    def usable(self) -> bool:
        """The model has its layers in a module of their own, without the head."""
        return self._base is not None

    @contextmanager
    def listening(self) -> Iterator[list[Any]]:
        """The output of the layers, of every forward meanwhile. Raises RuntimeError where it is not `usable`."""
        if self._base is None:
            raise RuntimeError(
                f"{type(self._model).__name__} tells no log probabilities of prompts: its layers are not a module "
                "apart from its head"
            )
        heard: list[Any] = []
        hook = self._base.register_forward_hook(lambda _module, _arguments, output: heard.append(output))
        try:
            yield heard
        finally:
            hook.remove()

    def describe(self, output: Any, edits: DeviceEdits) -> torch.Tensor:
        """What the module says of the edits' prompt targets; `output` is what was heard in their step."""
        positions, targets = (part.long() for part in edits.prompt)
        top = edits.host.prompt_top
        pieces = zip(torch.split(positions, CHUNK), torch.split(targets, CHUNK), strict=True)
        return torch.cat([describe(self._logits(output, some), target, top) for some, target in pieces])

    def _logits(self, output: Any, keep: torch.Tensor) -> torch.Tensor:
        base = cast("Any", self._base)
        own = base.__dict__.get("forward")
        base.forward = lambda *_arguments, **_keywords: output
        try:
            # The model hands the tokens on to its layers and, in their place, gets what these made of them before.
            nothing = torch.zeros(output[0].shape[1], dtype=torch.long, device=keep.device)
            return forward(self._model, nothing, nothing, keep, cast("Any", None)).float()
        finally:
            if own is None:
                del base.forward
            else:
                base.forward = own
