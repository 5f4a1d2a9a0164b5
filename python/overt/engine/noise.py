"""Noise of the sampler: a hash of (seed, choice, position, token id), so that a draw does not depend on its batch.

Integer arithmetic wraps around at 32 bits. A row's seed, choice and position are mixed into two keys; a token's
id is mixed once into a word; a draw needs two multiplications a token.
"""

from typing import Final

import torch

# Odd multipliers of a well-tried 32-bit finaliser, as signed numbers.
_MIX_1: Final = 0x7FEB352D
_MIX_2: Final = 0x846CA68B - (1 << 32)
_GOLDEN: Final = 0x9E3779B9 - (1 << 32)
_SALTS: Final = (0x2545F491, 0x68E31DA4)
_TWO_31: Final = float(1 << 31)


def _shift_right(x: torch.Tensor, bits: int) -> torch.Tensor:
    """Shifts int32 words right, filling with zeros."""
    return (x >> bits).bitwise_and_((1 << (32 - bits)) - 1)


def _mix(x: torch.Tensor) -> torch.Tensor:
    """A bijection of int32 words in which every input bit moves every output bit."""
    x = x ^ _shift_right(x, 16)
    x = x * _MIX_1
    x ^= _shift_right(x, 15)
    x *= _MIX_2
    x ^= _shift_right(x, 16)
    return x


def row_keys(
    seed_lo: torch.Tensor, seed_hi: torch.Tensor, choice: torch.Tensor, position: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Two int32 keys a row, from int32 columns of the same shape."""
    # Stacked, since what costs is the number of operations.
    key = _mix(torch.stack([seed_lo ^ salt for salt in _SALTS]))
    words = torch.stack([seed_hi, choice, position])
    for word in _mix(torch.stack([words + salt for salt in _SALTS], 1)):
        key = _mix((key + _GOLDEN) ^ word)
    return key[0], key[1]


def token_words(vocab_size: int, device: torch.device | str) -> torch.Tensor:
    """One int32 word for each token id: `[vocab_size]`."""
    return _mix(torch.arange(vocab_size, dtype=torch.int32, device=device) * _GOLDEN + 1)


def gumbel(words: torch.Tensor, key_1: torch.Tensor, key_2: torch.Tensor) -> torch.Tensor:
    """Standard Gumbel noise, float32, for token words and row keys that broadcast against each other.

    31 bits of the hash become u in (0, 1] with full float precision near 0, so that the upper tail, which
    decides about unlikely tokens, reaches to 22.
    """
    x = words ^ key_1
    x *= _MIX_1
    x ^= _shift_right(x, 15)
    x ^= key_2
    x *= _MIX_2
    x ^= _shift_right(x, 16)
    uniform = x.bitwise_and_(0x7FFFFFFF).to(torch.float32).add_(0.5).div_(_TWO_31)
    return uniform.neg_().log1p_().neg_().log_().neg_()
