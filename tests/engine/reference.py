"""The sampler by its definitions: one row at a time, in float64, with Python's own loops and sorts."""

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from engine.pack import RowEdits, param_row
from overt.engine.arena import PARAM_COLUMNS
from overt.engine.noise import gumbel, row_keys, token_words

Row = dict[str, Any]
"""Keywords of `pack.param_row`."""

Floats = NDArray[np.float64]


def log_softmax(scores: Floats) -> Floats:
    """Log probabilities, -inf where the score is."""
    shifted = scores - scores.max()
    result: Floats = shifted - math.log(np.exp(shifted).sum())
    return result


def edited(logits: torch.Tensor, row: Row, edits: RowEdits) -> Floats:
    """A row's logits after its edits."""
    scores: Floats = logits.double().numpy().copy()
    for only in (edits.masked, edits.allowed):
        if only is not None:
            scores = np.array([score if token in only else -np.inf for token, score in enumerate(scores)])
    for token, value in edits.bias.items():
        scores[token] += value
    repetition = row.get("repetition_penalty", 1.0)
    for token, count in edits.counts.items():
        scores[token] = scores[token] / repetition if scores[token] > 0 else scores[token] * repetition
        scores[token] -= row.get("frequency_penalty", 0.0) * count
        scores[token] -= row.get("presence_penalty", 0.0) * (count > 0)
    return scores


def distribution(logits: torch.Tensor, row: Row, edits: RowEdits | None = None) -> Floats:
    """Log probabilities that a row draws from, -inf for tokens that it cannot make."""
    scores = edited(logits, row, edits or RowEdits())
    if row.get("greedy"):
        return log_softmax(scores)
    scores = scores / row.get("temperature", 1.0)
    # min_p: tokens of at least that share of the likeliest one's probability.
    if min_p := row.get("min_p", 0.0):
        scores = np.where(scores >= scores.max() + math.log(min_p), scores, -np.inf)
    # top_k: the k likeliest, and what equals the last of them.
    if 0 < (top_k := row.get("top_k", 0)) < len(scores):
        scores = np.where(scores >= sorted(scores, reverse=True)[top_k - 1], scores, -np.inf)
    # top_p: the shortest row of likeliest tokens that reaches the mass, and what equals the last of them.
    if row.get("top_p", 1.0) < 1:
        last, mass = np.inf, 0.0
        probabilities = np.exp(log_softmax(scores))
        for token in np.argsort(-scores):
            if mass >= row["top_p"] and last < np.inf:
                break
            mass, last = mass + probabilities[token], scores[token]
        scores = np.where(scores >= last, scores, -np.inf)
    # typical_p: the same by nearness of a token's information to the entropy.
    if row.get("typical_p", 1.0) < 1:
        logs = log_softmax(scores)
        inside = [token for token in range(len(logs)) if logs[token] > -np.inf]
        entropy = -sum(math.exp(logs[token]) * logs[token] for token in inside)
        distance = {token: abs(-logs[token] - entropy) for token in inside}
        last, mass = -1.0, 0.0
        for token in sorted(inside, key=lambda token: distance[token]):
            if mass >= row["typical_p"] and last >= 0:
                break
            mass, last = mass + math.exp(logs[token]), distance[token]
        scores = np.array([score if distance.get(at, np.inf) <= last else -np.inf for at, score in enumerate(scores)])
    return log_softmax(scores)


def table(rows: list[Row]) -> torch.Tensor:
    """Parameters `[rows, columns]`."""
    return torch.tensor([param_row(**row) for row in rows], dtype=torch.int32)


def noise(row: Row, position: int, vocab: int) -> Floats:
    """The row's noise at a position."""
    params = dict(zip(PARAM_COLUMNS, table([row]).unbind(-1), strict=True))
    keys = row_keys(params["seed_lo"], params["seed_hi"], params["choice"], torch.tensor([position], dtype=torch.int32))
    values: Floats = gumbel(token_words(vocab, "cpu"), *keys).double().numpy()
    return values


def token(logits: torch.Tensor, row: Row, position: int, edits: RowEdits | None = None) -> int:
    """The token that a row draws."""
    scores = distribution(logits, row, edits)
    if not row.get("greedy"):
        scores = scores + noise(row, position, len(scores))
    return int(np.argmax(scores))
