"""Brings a model up in the engine process and runs it."""

import contextlib
import json
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, cast

from overt import _core
from overt.cli.config import ServeConfig
from overt.engine.config import BLOCK_SIZE, Limits, core_config, hello, limits
from overt.engine.loop import Runner, run
from overt.models import ModelError, ModelFiles, resolve

Dtype = Literal["auto", "float32", "bfloat16", "float16"]
LogprobsMode = Literal["raw_logprobs", "processed_logprobs"]


@dataclass(frozen=True, slots=True)
class Ready:
    """A model that can be served: nothing of what follows is expected to fail."""

    config: bytes
    """The Rust engine's configuration."""
    tokenizer_json: bytes
    hello: bytes
    overlap: bool
    runner: Callable[[_core.Engine], Runner]
    """Gives the runner, once there is an engine whose rows it may ask about."""


def serve(fd: int, config: ServeConfig) -> int:
    """Serves until the API process closes the link. Returns the process's exit code.

    What cannot be served is told to the API process with what to do about it.
    """
    try:
        ready = prepare(config)
    except Exception as error:
        # Anything may go wrong with a model: it is told in one line. Only what was not foreseen needs its details.
        reason = str(error)
        if not isinstance(error, (ModelError, MemoryError)):
            traceback.print_exc()
            reason = f"{config.model} could not be brought up: {type(error).__name__}: {error}"
        with contextlib.suppress(BrokenPipeError):
            _core.cannot_start(fd, reason)
        return 1
    try:
        core = _core.Engine(fd, ready.config, ready.tokenizer_json)
        runner = ready.runner(core)
        core.bind(*runner.buffers)
        core.hello(ready.hello)
    except BrokenPipeError:
        return 0
    return run(core, runner, overlap=ready.overlap)


def prepare(config: ServeConfig) -> Ready:
    """Loads what `config` names. Raises ModelError with what to do, MemoryError, or whatever modelling code raises."""
    files = resolve(config.model, tokenizer=config.tokenizer, chat_template=config.chat_template)
    try:
        _core.Tokenizer(files.tokenizer_json)
    except ValueError as error:
        raise ModelError(f"the tokenizer of {files.name} cannot be used: {error}") from error
    return _with_model(config, files) if config.model_runner == "torch" else _without_weights(config, files)


def _with_model(config: ServeConfig, files: ModelFiles) -> Ready:
    import torch

    from overt.engine.probe import UnsupportedModel, check_model
    from overt.engine.progress import Progress
    from overt.engine.runner import ATTENTION, ModelRunner, kv_blocks_that_fit
    from overt.models import load

    device = "cuda" if torch.cuda.is_available() else "cpu"
    bounds = limits(config, files, device=device)
    with Progress(f"loading {files.name}") as progress:
        model = load(
            files,
            dtype=cast("Dtype", config.dtype),
            device=device,
            progress=progress.update,
            attn_implementation=ATTENTION,
        )
    try:
        check_model(model, max_model_len=bounds.max_model_len)
    except UnsupportedModel as error:
        raise ModelError(str(error)) from error
    num_blocks = _override(config, bounds) or kv_blocks_that_fit(
        model,
        device=device,
        memory_bytes=config.kv_cache_memory_bytes,
        max_model_len=bounds.max_model_len,
    )
    runner = ModelRunner(
        model,
        device=device,
        layout=_core.arena_layout(bounds.max_rows, bounds.max_tokens, bounds.max_blocks),
        num_blocks=num_blocks,
        max_rows=bounds.max_rows,
        max_tokens=bounds.max_tokens,
        max_blocks=bounds.max_blocks,
        graphs=not config.enforce_eager,
        logprobs_mode=cast("LogprobsMode", config.logprobs_mode),
    )
    runner.warm_up()
    dtype = str(next(model.parameters()).dtype).removeprefix("torch.")
    return Ready(
        config=core_config(config, files, bounds, num_blocks=num_blocks),
        tokenizer_json=files.tokenizer_json,
        hello=hello(
            files,
            bounds,
            vocab_size=files.vocab_size,
            num_blocks=num_blocks,
            dtype=dtype,
            device=device,
            tells_prompt_logprobs=runner.tells_prompt_logprobs,
        ),
        overlap=bounds.overlap,
        runner=lambda core: runner,
    )


def _without_weights(config: ServeConfig, files: ModelFiles) -> Ready:
    from overt.engine.script import ScriptRunner, extend_tokenizer
    from overt.engine.sim import SimRunner

    bounds = limits(config, files, device="cpu")
    if config.max_num_batched_tokens is None:
        bounds = replace(bounds, max_num_batched_tokens=8192)
    num_blocks = _override(config, bounds) or bounds.max_num_seqs * bounds.max_blocks + 2
    tokenizer_json = files.tokenizer_json
    runner: Callable[[_core.Engine], Runner]
    if config.model_runner == "script":
        tokenizer_json, script = extend_tokenizer(tokenizer_json, _read_script(config))
        size = _core.Tokenizer(tokenizer_json).vocab_size
        runner = lambda core: ScriptRunner(core, script, eos=files.eos_token_ids[0], vocab_size=size)  # noqa: E731
    else:
        tokenizer = _core.Tokenizer(tokenizer_json)
        runner = lambda core: SimRunner(  # noqa: E731
            core, tokenizer, step_ms=config.sim_step_ms, gil_ms=config.sim_gil_ms
        )
    vocab_size = max(files.vocab_size, _core.Tokenizer(tokenizer_json).vocab_size)
    return Ready(
        config=core_config(config, files, bounds, num_blocks=num_blocks),
        tokenizer_json=tokenizer_json,
        hello=hello(
            files, bounds, vocab_size=vocab_size, num_blocks=num_blocks, dtype="none", device=config.model_runner
        ),
        overlap=bounds.overlap,
        runner=runner,
    )


def _read_script(config: ServeConfig) -> dict[str, object]:
    if config.script is None:
        raise ModelError("--model-runner script needs --script FILE: the answers to give, as JSON")
    try:
        script: dict[str, object] = json.loads(config.script.read_text())
    except (OSError, ValueError) as error:
        raise ModelError(f"--script {config.script} cannot be read as JSON: {error}") from error
    return script


def _override(config: ServeConfig, bounds: Limits) -> int | None:
    """The operator's number of KV blocks. Raises ModelError where not one sequence of the context fits into it."""
    blocks = config.num_gpu_blocks_override
    # The dummy block and the health probe's.
    needed = bounds.max_blocks + 2
    if blocks is not None and blocks < needed:
        raise ModelError(
            f"--num-gpu-blocks-override {blocks} holds fewer tokens than a sequence of {bounds.max_model_len} needs: "
            f"give at least {needed} blocks of {BLOCK_SIZE} tokens, or lower --max-model-len"
        )
    return blocks
