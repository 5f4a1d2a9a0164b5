"""What the command line decides, for the API process and the engine process alike."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from overt.contract.limits import Limits

KEY_VARIABLES = ("OVERT_API_KEY", "VLLM_API_KEY")
"""Environment variables with API keys, commas between them."""


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """The settings of one server. None stands for: decided from the model or the machine."""

    model: str = "demo"
    """A folder, a .gguf file, a Hub id or "demo"."""
    served_model_name: list[str] = field(default_factory=list)
    tokenizer: str | None = None
    chat_template: str | None = None
    """A file, the name of one of the checkpoint's templates, or Jinja."""
    default_chat_template_kwargs: dict[str, Any] = field(default_factory=dict)
    """Variables of the chat template; requests' own win."""
    escape_special_tokens: bool = False
    """Special tokens that a client's text spells are plain text."""
    encode_cache_bytes: int = 64 * 2**20
    """Of texts whose tokens are remembered; 0: none."""
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
    root_path: str = ""
    """A path that a proxy in front may leave before every route, such as `/x`."""
    api_key: tuple[str, ...] = field(default=(), repr=False)
    """Keys, one of which a request must bear; none: no request needs one. Known to the API process alone."""
    open_metrics: bool = False
    """`/metrics` needs no key."""
    allowed_origins: list[str] = field(default_factory=list)
    """Pages' origins that browsers may let call; none: no CORS."""
    allowed_methods: list[str] = field(default_factory=lambda: ["*"])
    allowed_headers: list[str] = field(default_factory=lambda: ["*"])
    allow_credentials: bool = False
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
    profile: str = "overt"
    """overt, openai, vllm or sglang: what happens where reasonable servers differ."""
    strict: bool = False
    """A field that would be adapted or changes nothing is refused."""
    report: str = "on_request"
    """on_request or always: when the body tells the effects of a request's fields."""
    tool_call_parser: str = "auto"
    """auto, none or the name of a format."""
    reasoning_parser: str = "auto"
    """auto, none or the name of a format."""
    grammar_backend: str = "auto"
    """none: outputs are never constrained."""
    reasoning_field: str | None = None
    """both, reasoning, reasoning_content or none; None: as the profile has it."""
    generation_config: str = "auto"
    """auto (the model's own), vllm or none (no defaults), or a folder with a generation_config.json."""
    override_generation_config: dict[str, Any] = field(default_factory=dict)
    """Defaults in place of the generation config's."""
    return_tokens_as_token_ids: bool = False
    """Default of the field of that name."""
    force_include_usage: bool = False
    """Every stream tells its usage, and goes on telling it."""
    prompt_tokens_details: bool = False
    """Under the profile vllm: `usage.prompt_tokens_details` is told."""
    request_id_headers: bool = False
    """Under the profile vllm: responses have `X-Request-Id`."""
    max_client_priority: int = 0
    logprobs_mode: str = "raw_logprobs"
    """raw_logprobs or processed_logprobs."""
    limits: Limits = field(default_factory=Limits)
    # --- what operators see ---
    metrics_compat: tuple[str, ...] = ()
    """vllm and sglang: their names of what is counted, beside this server's."""
    metrics_user_secret: str | None = None
    """Requests are counted by user, under a hash with this secret; None: they are not."""
    notes: tuple[str, ...] = ()
    """What is to be said at start: a sentence for each flag that changes nothing."""
    # --- time, in seconds ---
    health_generate_timeout: float = 10.0
    watchdog_timeout: float = 60.0
    first_byte_timeout: float = 15.0
    drain_timeout: float = 30.0

    def to_json(self) -> str:
        """The settings as one JSON object for the engine process: without the secrets, which it has no use for."""
        fields = asdict(self)
        del fields["api_key"], fields["metrics_user_secret"]
        return json.dumps(fields, default=str)

    @staticmethod
    def from_json(text: str) -> "ServeConfig":
        """The settings that `to_json` wrote. Raises ValueError where `text` is not JSON."""
        fields: dict[str, Any] = json.loads(text)
        if fields.get("script") is not None:
            fields["script"] = Path(fields["script"])
        if "limits" in fields:
            fields["limits"] = Limits(**fields["limits"])
        for name in ("metrics_compat", "notes"):
            fields[name] = tuple(fields.get(name, ()))
        return ServeConfig(**fields)
