"""Looks at a model before it is served: what its layers keep, and whether paged attention computes what it should."""

from typing import Any, Final, cast

import torch

from overt.engine.attention import (
    ATTENTION,
    STEP_KEYWORD,
    PagedStep,
    Prefill,
    Rule,
    Scratch,
    Step,
    UnsupportedModel,
    decode_groups,
)
from overt.engine.config import BLOCK_SIZE
from overt.engine.kv import KvCache, LayerShape

__all__ = ["UnsupportedModel", "check_model", "forward", "layer_shapes"]

TOLERANCE: Final = 1e-3
"""Largest difference from the logits of the model's own eager attention, as a share of the largest of these."""

ROUGH_TOLERANCE: Final = 0.05
"""The same in bfloat16 and float16."""

_PROMPTS: Final = (11, 7)
"""Lengths of the two sequences of the check."""

_FOLLOWING: Final = ("longrope", "dynamic")
"""Kinds of rotary embedding whose frequencies follow the longest sequence of a step."""


def forward(
    model: torch.nn.Module, ids: torch.Tensor, positions: torch.Tensor, keep: torch.Tensor, step: Step
) -> torch.Tensor:
    """Logits `[len(keep), vocab]` of the packed tokens `ids` `[tokens]` at `positions`, for the tokens `keep`."""
    output = model(
        input_ids=ids[None],
        position_ids=positions[None],
        use_cache=False,
        logits_to_keep=keep,
        **{STEP_KEYWORD: step},
    )
    return cast("torch.Tensor", output.logits)[0]


class _Recorder:
    """A step that only notes what each layer's attention is called with."""

    def __init__(self) -> None:
        self.shapes: dict[int, LayerShape] = {}
        self.windows: dict[int, int | None] = {}

    def attend(
        self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, rule: Rule
    ) -> torch.Tensor:
        """See attention.Step."""
        if layer in self.shapes:
            raise UnsupportedModel(f"layer {layer} calls its attention twice, and a layer has one KV cache")
        if query.shape[1] % key.shape[1] or key.shape[:2] != value.shape[:2]:
            raise UnsupportedModel(
                f"layer {layer} has {query.shape[1]} query heads on {key.shape[1]} key and {value.shape[1]} value heads"
            )
        self.windows[layer] = rule.window
        self.shapes[layer] = LayerShape(key.shape[1], key.shape[2], value.shape[2])
        return query.new_zeros(query.shape[0], query.shape[1], value.shape[2])


def layer_shapes(model: torch.nn.Module) -> list[LayerShape]:
    """What each layer keeps of a token, found by a forward of two tokens.

    Raises UnsupportedModel, naming the architecture, where a layer does not come to our attention.
    """
    name = type(model).__name__
    recorder = _Recorder()
    device = next(model.parameters()).device
    ids = torch.zeros(2, dtype=torch.long, device=device)
    try:
        with torch.inference_mode():
            forward(model, ids, torch.arange(2, device=device), torch.tensor([1], device=device), recorder)
    except UnsupportedModel as error:
        raise UnsupportedModel(f"{name} cannot be served: {error}") from error
    except Exception as error:
        raise UnsupportedModel(
            f"{name} cannot be served: its modelling code does not run on packed tokens ({error})"
        ) from error
    expected = _text_config(model).num_hidden_layers
    missing = sorted(set(range(expected)) - set(recorder.shapes))
    if missing or len(recorder.shapes) != expected:
        raise UnsupportedModel(
            f"{name} cannot be served: of its {expected} layers only {len(recorder.shapes)} use transformers' "
            f"attention interface (the first that does not is layer {missing[0] if missing else expected})"
        )
    _check_windows(name, _text_config(model), recorder.windows)
    return [recorder.shapes[layer] for layer in range(expected)]


def _check_windows(name: str, config: Any, windows: dict[int, int | None]) -> None:
    """Refuses what a probe of a few tokens cannot see: limits on attention that live in a mask only."""
    kinds = getattr(config, "layer_types", None) or []
    for layer, kind in enumerate(kinds):
        if kind == "chunked_attention" or (kind == "sliding_attention" and windows.get(layer) is None):
            raise UnsupportedModel(
                f"{name} cannot be served: layer {layer} is of kind {kind!r} and does not tell its attention so"
            )


def _hold_frequencies(model: torch.nn.Module, max_model_len: int | None) -> None:
    """Fixes rotary frequencies that would follow the longest sequence of a step to those of short sequences.

    Raises UnsupportedModel where sequences may be longer: one request would change another's tokens.
    """
    config = _text_config(model)
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    for part in (rope, *(value for value in rope.values() if isinstance(value, dict))):
        kind = part.get("rope_type") or part.get("type")
        if kind not in _FOLLOWING:
            continue
        short = config.max_position_embeddings
        if kind == "longrope":
            short = part.get("original_max_position_embeddings") or short
        if max_model_len is None or max_model_len > short:
            raise UnsupportedModel(
                f"{type(model).__name__} cannot be served with sequences of more than {short} tokens: its rotary "
                f"embedding ({kind}) then depends on the longest sequence of a step, so one request would change "
                f"another's tokens; use --max-model-len {short}"
            )
    modules: list[Any] = list(model.modules())
    for module in modules:
        kinds = getattr(module, "rope_type", None)
        # Its frequencies are those of short sequences since it was made; as "default" nothing computes them again.
        if isinstance(kinds, dict):
            module.rope_type = {layer: "default" if kind in _FOLLOWING else kind for layer, kind in kinds.items()}
        elif kinds in _FOLLOWING:
            module.rope_type = "default"


def check_model(model: torch.nn.Module, *, max_model_len: int | None = None) -> None:
    """Runs two short sequences, in chunks and mixed steps, against the model's own eager attention.

    `max_model_len` bounds the sequences that will be served; None stands for all that the model was made for.
    A model that is only right up to such a length is made to compute as it does below it. Raises
    UnsupportedModel, naming the architecture, where the model cannot be served or the logits differ.
    """
    _hold_frequencies(model, max_model_len)
    shapes = layer_shapes(model)
    vocab = _text_config(model).vocab_size
    generator = torch.Generator().manual_seed(7)
    device = next(model.parameters()).device
    prompts = [torch.randint(0, vocab, (length,), generator=generator).to(device) for length in _PROMPTS]
    with torch.inference_mode():
        ours = _paged_logits(model, shapes, prompts)
        theirs = _eager_logits(model, prompts)
    difference = float((ours - theirs).abs().max())
    exact = next(model.parameters()).dtype == torch.float32
    allowed = TOLERANCE if exact else ROUGH_TOLERANCE * float(theirs.abs().max())
    if not difference <= allowed:
        raise UnsupportedModel(
            f"{type(model).__name__} cannot be served: with paged attention its logits differ by {difference:.3g} from "
            f"those of its own attention (allowed {allowed:.3g}), so it does something that is not supported"
        )


def _paged_logits(model: torch.nn.Module, shapes: list[LayerShape], prompts: list[torch.Tensor]) -> torch.Tensor:
    """Last logits of two sequences after a prefill in two chunks, a mixed step, and a decode step."""
    parameter = next(model.parameters())
    device = str(parameter.device)
    cache = KvCache(shapes, num_blocks=3, dtype=parameter.dtype, device=device)
    scratch = Scratch(cache, 1)
    first, second = prompts
    tables = torch.tensor([[2], [1]], dtype=torch.int32, device=device)
    # (row, start, end) of every piece; decode rows come first.
    steps = (
        [(0, 0, 6)],
        [(0, 6, len(first) - 2), (1, 0, len(second) - 1)],
        [(0, len(first) - 2, len(first) - 1)],
        [(0, len(first) - 1, len(first)), (1, len(second) - 1, len(second))],
    )
    logits = torch.empty(0)
    for pieces in steps:
        ids: list[torch.Tensor] = []
        slots: list[int] = []
        positions: list[int] = []
        ends: list[int] = []
        prefills: list[Prefill] = []
        decode: list[int] = []
        for row, start, end in pieces:
            if end - start == 1:
                decode.append(end)
            else:
                prefills.append(Prefill(row, len(positions), len(positions) + end - start, end))
            ids.append(prompts[row][start:end])
            positions += range(start, end)
            slots += [int(tables[row, 0]) * BLOCK_SIZE + at for at in range(start, end)]
            ends.append(len(positions) - 1)
        step = PagedStep(
            cache=cache,
            scratch=scratch,
            slot_mapping=torch.tensor(slots, device=device),
            block_tables=tables,
            seq_lens=torch.tensor([end for _, _, end in pieces], dtype=torch.int32, device=device),
            groups=decode_groups(decode),
            prefills=prefills,
        )
        at = torch.tensor(positions, device=device)
        logits = forward(model, torch.cat(ids), at, torch.tensor(ends, device=device), step)
    return logits.float()


def _eager_logits(model: torch.nn.Module, prompts: list[torch.Tensor]) -> torch.Tensor:
    """The same from the model's own attention, one sequence at a time."""
    anything = cast("Any", model)
    anything.set_attn_implementation("eager")
    try:
        rows = [model(input_ids=prompt[None], use_cache=False).logits[0, -1] for prompt in prompts]
    except Exception as error:
        raise UnsupportedModel(
            f"{type(model).__name__} cannot be checked: its eager attention raises ({error})"
        ) from error
    finally:
        anything.set_attn_implementation(ATTENTION)
    return torch.stack(rows).float()


def _text_config(model: torch.nn.Module) -> Any:
    config = cast("Any", model).config
    return config.get_text_config()
