"""How byte-level BPE vocabularies cut a text before merging, by GGUF's name for the cut."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PreTokenizer:
    """Steps in the `tokenizers` library's JSON."""

    steps: tuple[dict[str, Any], ...]
    normalizer: dict[str, Any] | None = None
    ignore_merges: bool = False
    """A word that is a token is that token, whatever the merges would make of it."""


def _byte_level(*, use_regex: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def _split(regex: str) -> tuple[dict[str, Any], ...]:
    split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    return split, _byte_level(use_regex=False)


_DIGITS = {"type": "Digits", "individual_digits": True}
_GPT2 = PreTokenizer((_byte_level(use_regex=True),))
# GPT-2's words with every digit alone.
_DIGITS_GPT2 = PreTokenizer((_DIGITS, _byte_level(use_regex=True)))
# Both differ in the digits a word may hold: up to three, or one.
_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

PRE_TOKENIZERS = {
    "default": _GPT2,
    "gpt-2": _GPT2,
    "smollm": _DIGITS_GPT2,
    "starcoder": _DIGITS_GPT2,
    "refact": _DIGITS_GPT2,
    "llama-bpe": PreTokenizer(_split(_WORDS % "{1,3}"), ignore_merges=True),
    "qwen2": PreTokenizer(_split(_WORDS % ""), normalizer={"type": "NFC"}),
}
