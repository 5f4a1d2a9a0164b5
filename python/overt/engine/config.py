"""From the command line's settings and the model to the engine's limits."""

import json
import secrets
from dataclasses import asdict, dataclass

from overt.cli.config import ServeConfig
from overt.models import ModelError, ModelFiles

BLOCK_SIZE = 16
"""Tokens a KV block."""

MAX_QUEUED = 4096
"""Sequences that may wait when the command line says nothing."""

STARVATION_US = 10_000_000
"""A request that waited this long goes first, whatever its priority."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a step and a sequence."""

    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    overlap: bool

    @property
    def max_rows(self) -> int:
        """Rows of a step: the health probe has one of its own."""
        return self.max_num_seqs + 1

    @property
    def max_tokens(self) -> int:
        """Tokens of a step, the probe's included."""
        return self.max_num_batched_tokens + 1

    @property
    def max_blocks(self) -> int:
        """Blocks of the longest sequence."""
        return -(-self.max_model_len // BLOCK_SIZE)


def limits(config: ServeConfig, files: ModelFiles, *, device: str) -> Limits:
    """Fills in what the command line left open. Raises ModelError where the two contradict."""
    longest = files.max_model_len
    if config.max_model_len is not None and config.max_model_len > longest:
        raise ModelError(
            f"--max-model-len {config.max_model_len} is more than {files.name} was made for ({longest}); "
            f"use at most {longest}"
        )
    on_gpu = device.startswith("cuda")
    return Limits(
        max_model_len=config.max_model_len or longest,
        max_num_seqs=config.max_num_seqs or 256,
        # On a CPU a step of 256 prompt tokens takes about a second: running streams should not wait longer.
        max_num_batched_tokens=config.max_num_batched_tokens or (2048 if on_gpu else 256),
        overlap=config.async_scheduling if config.async_scheduling is not None else on_gpu,
    )


def core_config(config: ServeConfig, files: ModelFiles, limits: Limits, *, num_blocks: int) -> bytes:
    """The Rust engine's configuration as JSON (see rust/overt-engine)."""
    return json.dumps(
        {
            "block_size": BLOCK_SIZE,
            "num_blocks": num_blocks,
            "max_num_seqs": limits.max_num_seqs,
            "max_num_batched_tokens": limits.max_num_batched_tokens,
            "max_model_len": limits.max_model_len,
            "max_queued": MAX_QUEUED if config.max_num_queued_reqs is None else config.max_num_queued_reqs,
            "prefix_cache": config.enable_prefix_caching,
            "overlap": limits.overlap,
            "hash_seed": secrets.randbits(64),
            "starvation_us": STARVATION_US,
            "eos_token_ids": list(files.eos_token_ids),
        }
    ).encode()


def hello(
    files: ModelFiles,
    limits: Limits,
    *,
    vocab_size: int,
    num_blocks: int,
    dtype: str,
    device: str,
    tells_prompt_logprobs: bool = True,
) -> bytes:
    """What the API process is told when the model is ready, as JSON."""
    architectures = files.config.get("architectures") or ["unknown"]
    template = files.default_template
    return json.dumps(
        {
            "model": {
                "name": files.name,
                "source": files.source,
                "max_model_len": limits.max_model_len,
                "vocab_size": vocab_size,
                "dtype": dtype,
                "device": device,
                "architecture": architectures[0],
                "generation_config": files.generation_config,
                "has_chat_template": template is not None,
                "chat_template_source": "none" if template is None else template.source,
                "prompt_format": files.prompt_format,
                "fingerprint": files.fingerprint,
                "tells_prompt_logprobs": tells_prompt_logprobs,
            },
            "limits": {
                "max_num_seqs": limits.max_num_seqs,
                "max_num_batched_tokens": limits.max_num_batched_tokens,
                "kv_blocks": num_blocks - 1,
                "block_size": BLOCK_SIZE,
            },
            "chat_template": None if template is None else template.text,
            "chat_templates": [asdict(each) for each in files.chat_templates],
            "special_tokens": files.special_tokens,
            "response_template": files.response_template,
        }
    ).encode()
