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
    "llama3": {
        "model_type": "llama",
        "tie_word_embeddings": False,
        "rope_parameters": {
            "rope_type": "llama3",
            "rope_theta": 10_000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 256,
        },
    },
    "qwen2": {"model_type": "qwen2", "tie_word_embeddings": False},
    "qwen2-yarn": {
        "model_type": "qwen2",
        "tie_word_embeddings": False,
        "rope_parameters": {
            "rope_type": "yarn",
            "rope_theta": 10_000.0,
            "factor": 4.0,
            "original_max_position_embeddings": CONTEXT // 4,
        },
    },
    "qwen3": {"model_type": "qwen3", "tie_word_embeddings": True},
    "mistral": {"model_type": "mistral", "tie_word_embeddings": False, "sliding_window": 16},
    "phi3": {"model_type": "phi3", "tie_word_embeddings": False, "sliding_window": 16},
    # Phi-4-mini: RoPE over a part of each head.
    "phi4": {
        "model_type": "phi3",
        "tie_word_embeddings": True,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.75},
    },
    "phi3-long": {
        "model_type": "phi3",
        "tie_word_embeddings": False,
        "original_max_position_embeddings": CONTEXT // 4,
        "rope_parameters": {
            "rope_type": "longrope",
            "rope_theta": 10_000.0,
            "short_factor": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7],
            "long_factor": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
            "original_max_position_embeddings": CONTEXT // 4,
        },
    },
    # Scores and logits large enough for the caps to bend them.
    "gemma2": {
        "model_type": "gemma2",
        "tie_word_embeddings": True,
        "sliding_window": 16,
        "query_pre_attn_scalar": 16,
        "attn_logit_softcapping": 4.0,
        "final_logit_softcapping": 8.0,
    },
    # Five layers with a window, then one without.
    "gemma3": {
        "model_type": "gemma3_text",
        "tie_word_embeddings": True,
        "num_hidden_layers": 6,
        "sliding_window": 16,
        "query_pre_attn_scalar": 16,
    },
    # Every fourth layer goes without RoPE.
    "smollm3": {"model_type": "smollm3", "tie_word_embeddings": True},
    "olmo2": {"model_type": "olmo2", "tie_word_embeddings": False},
    "olmo3": {"model_type": "olmo3", "tie_word_embeddings": False, "sliding_window": 16},
    "granite": {
        "model_type": "granite",
        "tie_word_embeddings": True,
        "embedding_multiplier": 3.0,
        "residual_multiplier": 0.5,
        "attention_multiplier": 0.2,
        "logits_scaling": 2.0,
    },
    "glm4": {"model_type": "glm4", "tie_word_embeddings": False},
    # Checkpoints of these two hold the experts one by one, the models all in one tensor.
    "qwen3-moe": {
        "model_type": "qwen3_moe",
        "tie_word_embeddings": False,
        "num_hidden_layers": 2,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
    },
    "mixtral": {
        "model_type": "mixtral",
        "tie_word_embeddings": False,
        "num_hidden_layers": 2,
        "num_local_experts": 4,
        "sliding_window": None,
    },
    # Sinks in every layer, a window in every second.
    "gpt-oss": {
        "model_type": "gpt_oss",
        "tie_word_embeddings": False,
        "num_hidden_layers": 2,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "sliding_window": 16,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0},
    },
}


def make(
    kind: str,
    folder: Path,
    *,
    shards: int = 1,
    seed: int = 0,
    tied: bool | None = None,
    dtype: torch.dtype = torch.float32,
    **changes: Any,
) -> Path:
    """Writes a random model of the family `kind` (a key of `FAMILIES`) into `folder`; returns `folder`.

    The weights follow from `seed` alone; they are stored as `dtype` in `shards` files. `tied` makes the head the
    embedding or not, None as the family does; `changes` are made to its configuration.
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
    model = build(kind, vocab_size=tokenizer.get_vocab_size(), seed=seed, tied=tied, **changes).to(dtype)
    if shards == 1:
        model.save_pretrained(folder)
    else:
        model.config.architectures = [type(model).__name__]
        model.config.save_pretrained(folder)
        state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
        if model.config.tie_word_embeddings:
            del state["lm_head.weight"]
        _save(state, folder, shards)
    generation = {"bos_token_id": 1, "eos_token_id": [2, 0], "pad_token_id": 0}
    (folder / "generation_config.json").write_text(json.dumps(generation))
    return folder


def build(kind: str, *, vocab_size: int, seed: int = 0, tied: bool | None = None, **changes: Any) -> Any:
    """The model itself, in memory."""
    settings = COMMON | FAMILIES[kind] | changes | ({} if tied is None else {"tie_word_embeddings": tied})
    config = AutoConfig.for_model(**settings, vocab_size=vocab_size, dtype="float32")
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    generator = torch.Generator().manual_seed(seed)
    # Gemma's norms multiply by one plus their weight.
    one = 0.0 if kind.startswith("gemma") else 1.0
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if config.tie_word_embeddings and name == "model.embed_tokens.weight":
                # A tied head favours the token that came in, unless the layers outweigh its embedding.
                parameter.copy_(0.05 * noise)
            elif config.tie_word_embeddings and name == "model.norm.weight":
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
    weight_map: dict[str, str] = {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        part = dict(list(state.items())[shard::shards])
        save_file(part, folder / file, metadata={"format": "pt"})
        weight_map |= dict.fromkeys(part, file)
    size = sum(tensor.numel() * tensor.element_size() for tensor in state.values())
    index = {"metadata": {"total_size": size}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
