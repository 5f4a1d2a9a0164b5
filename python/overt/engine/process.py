"""Brings a model up in the engine process and runs it."""

import json
import sys
from typing import TYPE_CHECKING, Literal, cast

from overt import _core
from overt.cli.config import ServeConfig
from overt.engine.config import Limits, core_config, hello, limits
from overt.engine.loop import Runner, run
from overt.models import ModelError, ModelFiles, resolve

if TYPE_CHECKING:
    import torch

Dtype = Literal["auto", "float32", "bfloat16", "float16"]


def serve(fd: int, config: ServeConfig) -> int:
    """Serves until the API process closes the link. Returns the process's exit code.

    What cannot be served is told to the API process with what to do about it.
    """
    try:
        files = resolve(config.model, tokenizer=config.tokenizer, chat_template=config.chat_template)
        if config.model_runner == "torch":
            return _serve_torch(fd, config, files)
        return _serve_without_weights(fd, config, files)
    except ModelError as error:
        _core.cannot_start(fd, str(error))
        return 1
    except MemoryError:
        _core.cannot_start(
            fd,
            "the model and its KV cache do not fit into memory; lower --max-model-len or --kv-cache-memory-bytes",
        )
        return 1


def _serve_torch(fd: int, config: ServeConfig, files: ModelFiles) -> int:
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
        check_model(model)
    except UnsupportedModel as error:
        raise ModelError(str(error)) from error
    num_blocks = config.num_gpu_blocks_override or kv_blocks_that_fit(
        model,
        device=device,
        memory_bytes=config.kv_cache_memory_bytes,
        max_model_len=bounds.max_model_len,
    )
    core = _core.Engine(fd, core_config(config, files, bounds, num_blocks=num_blocks), files.tokenizer_json)
    runner = ModelRunner(
        model,
        device=device,
        layout=core.layout(),
        num_blocks=num_blocks,
        max_rows=bounds.max_rows,
        max_tokens=bounds.max_tokens,
        max_blocks=bounds.max_blocks,
        graphs=not config.enforce_eager,
    )
    runner.warm_up()
    first, second = (arena.numpy() for arena in runner.arenas)
    core.bind(first, second)
    dtype = str(_dtype_of(model)).removeprefix("torch.")
    return _run(
        core,
        runner,
        files,
        bounds,
        vocab_size=files.vocab_size,
        num_blocks=num_blocks,
        dtype=dtype,
        device=device,
    )


def _serve_without_weights(fd: int, config: ServeConfig, files: ModelFiles) -> int:
    from overt.engine.script import ScriptRunner, extend_tokenizer
    from overt.engine.sim import SimRunner

    bounds = limits(config, files, device="cuda" if config.async_scheduling else "cpu")
    bounds = Limits(
        max_model_len=bounds.max_model_len,
        max_num_seqs=bounds.max_num_seqs,
        max_num_batched_tokens=config.max_num_batched_tokens or 8192,
        overlap=bounds.overlap,
    )
    num_blocks = config.num_gpu_blocks_override or bounds.max_num_seqs * bounds.max_blocks + 2
    script = None
    tokenizer_json = files.tokenizer_json
    if config.model_runner == "script":
        if config.script is None:
            raise ModelError("--model-runner script needs --script FILE: the answers to give, as JSON")
        try:
            script = json.loads(config.script.read_text())
        except (OSError, ValueError) as error:
            raise ModelError(f"--script {config.script} cannot be read as JSON: {error}") from error
        tokenizer_json, script = extend_tokenizer(tokenizer_json, script)
    core = _core.Engine(fd, core_config(config, files, bounds, num_blocks=num_blocks), tokenizer_json)
    vocab_size = max(files.vocab_size, _core.Tokenizer(tokenizer_json).vocab_size)
    runner: Runner
    if script is None:
        tokenizer = _core.Tokenizer(tokenizer_json)
        runner = SimRunner(core, tokenizer, step_ms=config.sim_step_ms, gil_ms=config.sim_gil_ms)
    else:
        runner = ScriptRunner(core, script, eos=files.eos_token_ids[0])
    core.bind(*runner.arenas)
    return _run(
        core,
        runner,
        files,
        bounds,
        vocab_size=vocab_size,
        num_blocks=num_blocks,
        dtype="none",
        device=config.model_runner,
    )


def _run(
    core: _core.Engine,
    runner: Runner,
    files: ModelFiles,
    bounds: Limits,
    *,
    vocab_size: int,
    num_blocks: int,
    dtype: str,
    device: str,
) -> int:
    core.hello(hello(files, bounds, vocab_size=vocab_size, num_blocks=num_blocks, dtype=dtype, device=device))
    code = run(core, runner, overlap=bounds.overlap)
    sys.stderr.flush()
    return code


def _dtype_of(model: "torch.nn.Module") -> "torch.dtype":
    return next(model.parameters()).dtype
