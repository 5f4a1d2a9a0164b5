"""Makes tiny random models in the Hub's layout, one for each family we test with."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM

SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = (
    "Ġ t",
    "Ġ a",
    "h e",
    "i n",
    "r e",
    "o n",
    "Ġt he",
    "e r",
    "Ġ s",
    "a t",
    "Ġ c",
    "n d",
    "Ġ o",
    "e s",
    "o r",
    "e n",
    "Ġ w",
    "Ġ f",
    "i s",
    "i t",
    "o u",
    "a n",
    "Ġ i",
    "in g",
    "Ġo f",
    "Ġa nd",
    "a l",
    "a s",
    "u s",
    "us er",
    "as s",
    "is t",
    "ass ist",
    "an t",
    "assist ant",
)
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CONTEXT = 2048
COMMON: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": CONTEXT,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama", "tie_word_embeddings": False},
    "qwen2": {"model_type": "qwen2", "tie_word_embeddings": False},
    "qwen3": {"model_type": "qwen3", "tie_word_embeddings": True},
    "mistral": {"model_type": "mistral", "tie_word_embeddings": False, "sliding_window": 16},
    # Five layers with a window, then one without.
    "gemma3": {
        "model_type": "gemma3_text",
        "tie_word_embeddings": True,
        "num_hidden_layers": 6,
        "sliding_window": 16,
        "query_pre_attn_scalar": 16,
    },
    # Its checkpoints hold the experts one by one, the model all in one tensor.
    "mixtral": {
        "model_type": "mixtral",
        "tie_word_embeddings": False,
        "num_hidden_layers": 2,
        "num_local_experts": 4,
        "sliding_window": None,
    },
}


def make(kind: str, folder: Path, *, shards: int = 1, seed: int = 0) -> Path:
    """Writes a random fp32 model of the family `kind` (a key of `FAMILIES`) into `folder`; returns `folder`.

    The weights follow from `seed` alone; they are spread over `shards` files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|im_start|>",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "unk_token": "<|endoftext|>",
        "chat_template": TEMPLATE,
        "model_max_length": CONTEXT,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2))
    model = build(kind, vocab_size=tokenizer.get_vocab_size(), seed=seed)
    model.config.architectures = [type(model).__name__]
    if kind == "mixtral":
        assert shards == 1, "transformers decides the shards of what it converts"
        model.save_pretrained(folder)
    else:
        model.config.save_pretrained(folder)
        state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
        if model.config.tie_word_embeddings:
            del state["lm_head.weight"]
        _save(state, folder, shards)
    generation = {"bos_token_id": 1, "eos_token_id": [2, 0], "pad_token_id": 0}
    (folder / "generation_config.json").write_text(json.dumps(generation))
    return folder


def build(kind: str, *, vocab_size: int, seed: int = 0) -> Any:
    """The model itself, in memory."""
    config = AutoConfig.for_model(**(COMMON | FAMILIES[kind]), vocab_size=vocab_size, dtype="float32")
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    generator = torch.Generator().manual_seed(seed)
    # Gemma's norms multiply by one plus their weight.
    one = 0.0 if kind == "gemma3" else 1.0
    tied = config.tie_word_embeddings
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if tied and name == "model.embed_tokens.weight":
                # A tied head favours the token that came in, unless the layers outweigh its embedding.
                parameter.copy_(0.05 * noise)
            elif tied and name == "model.norm.weight":
                parameter.copy_(one + 3.0 + 0.1 * noise)
            elif "norm" in name:
                parameter.copy_(one + 0.1 * noise)
            else:
                parameter.copy_(0.2 * noise)
    return model


def make_tokenizer() -> Tokenizer:
    """A byte-level BPE with a few merges; its special tokens come first."""
    pairs = [(left, right) for left, right in (merge.split(" ") for merge in dict.fromkeys(MERGES))]
    tokens = [*SPECIALS, *sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in pairs)]
    vocabulary = {token: index for index, token in enumerate(dict.fromkeys(tokens))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in SPECIALS])
    return tokenizer


def _save(state: dict[str, torch.Tensor], folder: Path, shards: int) -> None:
    if shards == 1:
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
        return
    weight_map: dict[str, str] = {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        part = dict(list(state.items())[shard::shards])
        save_file(part, folder / file, metadata={"format": "pt"})
        weight_map |= dict.fromkeys(part, file)
    size = sum(tensor.numel() * tensor.element_size() for tensor in state.values())
    index = {"metadata": {"total_size": size}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
