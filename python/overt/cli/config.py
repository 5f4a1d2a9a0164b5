"""What the command line decides, for the API process and the engine process alike."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from overt.contract.limits import Limits


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """The settings of one server. None stands for: decided from the model or the machine."""

    model: str = "demo"
    """A folder, a .gguf file, a Hub id or "demo"."""
    served_model_name: list[str] = field(default_factory=list)
    tokenizer: str | None = None
    chat_template: str | None = None
    dtype: str = "auto"
    """auto, float32, bfloat16 or float16."""
    max_model_len: int | None = None
    """Tokens."""
    seed: int | None = None
    """Requests that have none draw theirs from it."""
    # --- listening ---
    host: str = "127.0.0.1"
    port: int = 8000
    """0: any free one."""
    # --- engine ---
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    """Tokens of a step."""
    max_num_queued_reqs: int | None = None
    num_gpu_blocks_override: int | None = None
    kv_cache_memory_bytes: int | None = None
    enable_prefix_caching: bool = True
    enforce_eager: bool = False
    async_scheduling: bool | None = None
    model_runner: str = "torch"
    """torch, sim or script."""
    sim_step_ms: float = 10.0
    sim_gil_ms: float = 0.0
    script: Path | None = None
    # --- requests ---
    tool_call_parser: str = "auto"
    """auto, none or hermes."""
    max_client_priority: int = 0
    logprobs_mode: str = "raw_logprobs"
    """raw_logprobs or processed_logprobs."""
    limits: Limits = field(default_factory=Limits)
    # --- time, in seconds ---
    watchdog_timeout: float = 60.0
    first_byte_timeout: float = 15.0
    drain_timeout: float = 30.0

    def to_json(self) -> str:
        """All settings as one JSON object."""
        return json.dumps(asdict(self), default=str)

    @staticmethod
    def from_json(text: str) -> "ServeConfig":
        """The settings that `to_json` wrote. Raises ValueError where `text` is not JSON."""
        fields: dict[str, Any] = json.loads(text)
        if fields.get("script") is not None:
            fields["script"] = Path(fields["script"])
        if "limits" in fields:
            fields["limits"] = Limits(**fields["limits"])
        return ServeConfig(**fields)
