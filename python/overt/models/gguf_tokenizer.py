"""Rebuilds tokenizer.json from a GGUF file's metadata."""

import json
from dataclasses import dataclass
from typing import Any

from overt.models.files import END_TOKENS, ModelError, Tokenizer
from overt.models.gguf_file import GgufFile
from overt.models.pretokenizers import PRE_TOKENIZERS

# Token types as GGUF numbers them.
UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 2, 3, 4, 5
# The mark SentencePiece writes for a space.
SPACE = "▁"


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    tokens: list[str]
    kinds: list[int]

    def ids(self) -> dict[str, int]:
        """Token to id. Unused entries only fill the embedding up to its size."""
        ids: dict[str, int] = {}
        for index, (token, kind) in enumerate(zip(self.tokens, self.kinds, strict=True)):
            if kind != UNUSED:
                ids.setdefault(token, index)
        return ids

    def added(self, special: tuple[int, ...]) -> list[dict[str, Any]]:
        """Entries that are matched in the text as a whole."""
        return [
            {
                "id": index,
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": kind in special,
            }
            for index, (token, kind) in enumerate(zip(self.tokens, self.kinds, strict=True))
            if (kind in special or kind == USER_DEFINED) and token
        ]


def tokenizer_of(file: GgufFile) -> Tokenizer:
    """The file's tokenizer. Raises ModelError where it lacks one or has one of an unknown kind."""
    vocabulary = _vocabulary(file)
    model = file.get("tokenizer.ggml.model", str)
    if model == "gpt2":
        document, add_bos_default = _byte_level(file, vocabulary), False
    elif model == "llama":
        document, add_bos_default = _sentencepiece(file, vocabulary), True
    else:
        raise ModelError(
            f"{file.path}: tokenizer {model!r} is not known (known: gpt2, llama); give the model's own with --tokenizer"
        )
    special, indices = {}, {}
    named = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
    for ours, theirs in named.items():
        index = file.get(f"tokenizer.ggml.{theirs}_token_id", int)
        # Some converters write 2^32 - 1 for "none".
        if index is not None and 0 <= index < len(vocabulary.tokens):
            special[ours], indices[ours] = vocabulary.tokens[index], index
    add_bos = file.get("tokenizer.ggml.add_bos_token", bool, add_bos_default) and "bos_token" in special
    add_eos = file.get("tokenizer.ggml.add_eos_token", bool, False) and "eos_token" in special
    around = [name for name, there in (("bos_token", add_bos), ("eos_token", add_eos)) if there]
    document["post_processor"] = _template({name: (special[name], indices[name]) for name in around})
    ids = vocabulary.ids()
    return Tokenizer(
        tokenizer_json=json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"),
        special_tokens=special,
        add_bos=add_bos,
        ends=_ends(file, vocabulary),
        end_ids={text: ids[text] for text in END_TOKENS if text in ids},
        largest_id=len(vocabulary.tokens) - 1,
    )


def ends_of(file: GgufFile) -> tuple[int, ...]:
    """The tokens that end a text by the file's own vocabulary. Raises ModelError where it has none."""
    return _ends(file, _vocabulary(file))


def _vocabulary(file: GgufFile) -> _Vocabulary:
    tokens = file.values("tokenizer.ggml.tokens", str)
    if not tokens:
        raise ModelError(
            f"{file.path} holds no vocabulary (tokenizer.ggml.tokens); give the model's own tokenizer with --tokenizer"
        )
    kinds = file.values("tokenizer.ggml.token_type", int)
    if kinds is None:
        kinds = [1] * len(tokens)
    if len(kinds) != len(tokens):
        raise ModelError(f"{file.path}: {len(tokens)} tokens but {len(kinds)} token types: it is damaged")
    return _Vocabulary(tokens, kinds)


def _ends(file: GgufFile, vocabulary: _Vocabulary) -> tuple[int, ...]:
    named = (file.get(f"tokenizer.ggml.{key}_token_id", int) for key in ("eos", "eot", "eom"))
    ends = [index for index in named if index is not None and 0 <= index < len(vocabulary.tokens)]
    ids = vocabulary.ids()
    ends += [ids[text] for text in END_TOKENS if text in ids and vocabulary.kinds[ids[text]] == CONTROL]
    return tuple(dict.fromkeys(ends))


def _byte_level(file: GgufFile, vocabulary: _Vocabulary) -> dict[str, Any]:
    name = file.get("tokenizer.ggml.pre", str, "default")
    pre = PRE_TOKENIZERS.get(name)
    if pre is None:
        raise ModelError(
            f"{file.path}: pre-tokenizer {name!r} is not known (known: {', '.join(sorted(PRE_TOKENIZERS))}); "
            f"give the model's own tokenizer with --tokenizer"
        )
    merges = file.values("tokenizer.ggml.merges", str)
    if merges is None:
        raise ModelError(
            f"{file.path} holds no merges (tokenizer.ggml.merges); give the model's own tokenizer with --tokenizer"
        )
    pairs = [merge.split(" ", 1) for merge in merges]
    broken = next((merge for merge, pair in zip(merges, pairs, strict=True) if len(pair) != 2), None)
    if broken is not None:
        raise ModelError(f"{file.path}: merge {broken!r} is no pair of tokens; the file is damaged")
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": vocabulary.added((CONTROL,)),
        "normalizer": pre.normalizer,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": list(pre.steps)},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": pre.ignore_merges,
            "vocab": vocabulary.ids(),
            "merges": pairs,
        },
    }


def _sentencepiece(file: GgufFile, vocabulary: _Vocabulary) -> dict[str, Any]:
    scores = file.values("tokenizer.ggml.scores", float)
    if scores is None or len(scores) != len(vocabulary.tokens):
        raise ModelError(
            f"{file.path}: the vocabulary's scores (tokenizer.ggml.scores) are missing or incomplete; give a "
            f"tokenizer with --tokenizer"
        )
    ids = vocabulary.ids()
    prefix = file.get("tokenizer.ggml.add_space_prefix", bool, True)
    unknown = next((index for index, kind in enumerate(vocabulary.kinds) if kind == UNKNOWN), None)
    spaces = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    before = [{"type": "Prepend", "prepend": SPACE}] if prefix else []
    after = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefix else []
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": vocabulary.added((CONTROL, UNKNOWN)),
        "normalizer": {"type": "Sequence", "normalizers": [*before, spaces]},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                *after,
            ],
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None if unknown is None else vocabulary.tokens[unknown],
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": ids,
            "merges": _merges(vocabulary, scores, ids),
        },
    }


def _merges(vocabulary: _Vocabulary, scores: list[float], ids: dict[str, int]) -> list[tuple[str, str]]:
    """Every way to join two pieces into a third, the best-scored third first, as SentencePiece picks them."""
    found: list[tuple[float, int, int, str, str]] = []
    for token, kind, score in zip(vocabulary.tokens, vocabulary.kinds, scores, strict=True):
        # Only ordinary pieces and user-defined ones are made by joining; the rest is matched as a whole.
        if kind not in (1, USER_DEFINED):
            continue
        for cut in range(1, len(token)):
            left, right = token[:cut], token[cut:]
            if left in ids and right in ids:
                found.append((-score, ids[left], ids[right], left, right))
    found.sort()
    return [(left, right) for *_, left, right in found]


def _template(tokens: dict[str, tuple[str, int]]) -> dict[str, Any] | None:
    """A post-processor that puts bos_token before a text and eos_token behind it, those of them that are in `tokens`,
    with their ids."""
    if not tokens:
        return None

    def around(sequence: str, kind: int) -> list[dict[str, Any]]:
        parts = [
            ("SpecialToken", tokens.get("bos_token", (None, 0))[0]),
            ("Sequence", sequence),
            ("SpecialToken", tokens.get("eos_token", (None, 0))[0]),
        ]
        return [{part: {"id": name, "type_id": kind}} for part, name in parts if name is not None]

    return {
        "type": "TemplateProcessing",
        "single": around("A", 0),
        "pair": around("A", 0) + around("B", 1),
        # Ids as the file has them: a vocabulary may have a token's text twice, or call the token unused.
        "special_tokens": {token: {"id": token, "ids": [index], "tokens": [token]} for token, index in tokens.values()},
    }
