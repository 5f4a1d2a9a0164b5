"""The model runner: takes a scheduled step from its arena through the model to one token a row."""

import logging
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch

from overt import _core
from overt.engine.arena import (
    FLAG_ALL_GREEDY,
    PARAM_COLUMNS,
    Header,
    Sections,
    Words,
    arena_words,
    pad_rows,
    read_header,
    tensor_views,
    word_views,
)
from overt.engine.attention import ATTENTION, PagedStep, Prefill, Scratch, Step, decode_groups
from overt.engine.config import BLOCK_SIZE
from overt.engine.edits import DeviceEdits, Edits, apply
from overt.engine.graph import GraphError, StepGraph, capture
from overt.engine.kv import KvCache, blocks_that_fit
from overt.engine.logprobs import Mode, PromptHead, RawLogits, of_sampled
from overt.engine.noise import token_words
from overt.engine.probe import forward, layer_shapes
from overt.engine.sampler import BROKEN, Kind, greedy_tokens, log_distribution, row_kinds, sample

__all__ = ["ATTENTION", "ModelRunner", "batch_buckets", "kv_blocks_that_fit"]

_LOG: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class _Launched:
    """What `sample` and `tokens` need of a launched step."""

    header: Header
    words: dict[str, Words]
    logits: torch.Tensor
    """float32 `[rows, vocab]`, edited in place: the next step's are elsewhere or overwrite them."""
    layers: Any = None
    """What the model's layers made of the step's tokens, where a prompt's log probabilities are wanted."""
    done: Any = None
    blocks: Words | None = None
    logprobs: torch.Tensor | None = None
    prompt_logprobs: torch.Tensor | None = None


def batch_buckets(max_rows: int) -> list[int]:
    """Batch sizes that decode steps are rounded up to: 1, 2, 4, 8, then multiples of 8, above 64 of 32."""
    sizes = [1, 2, 4, *range(8, 65, 8), *range(96, max_rows, 32)]
    return [size for size in sizes if size < max_rows] + [max_rows]


def kv_blocks_that_fit(model: torch.nn.Module, *, device: str, memory_bytes: int | None, max_model_len: int) -> int:
    """Number of KV blocks of 16 tokens (the dummy block 0 included) that `memory_bytes` hold.

    None takes 90 % of what is free on a GPU, a quarter of what is available on a CPU. Raises MemoryError where
    not one sequence of `max_model_len` tokens fits, and UnsupportedModel as `probe.layer_shapes` does.
    """
    return blocks_that_fit(
        layer_shapes(model),
        dtype=next(model.parameters()).dtype,
        device=device,
        memory_bytes=memory_bytes,
        max_model_len=max_model_len,
    )


class ModelRunner:
    """Runs steps. `launch`, `sample` and `tokens` of a plan come in this order; the next plan may be launched
    before the tokens of the one before were read.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        *,
        device: str,
        layout: Sections,
        num_blocks: int,
        max_rows: int,
        max_tokens: int,
        max_blocks: int,
        graphs: bool = True,
        logprobs_mode: Mode = "raw_logprobs",
    ) -> None:
        """`layout` is the arena's (`_core.arena_layout`); the limits are those it was made with. `num_blocks` is
        the size of the KV cache, the dummy block 0 included. With `graphs`, decode steps are captured. Sampled
        tokens' log probabilities are the model's own, or (`processed_logprobs`) those of what they were drawn from.
        """
        self._model = model.eval()
        self._device = device
        self._on_cuda = device.startswith("cuda")
        self._max_tokens = max_tokens
        self._buckets = batch_buckets(max_rows)
        self._cache = KvCache(
            layer_shapes(model), num_blocks=num_blocks, dtype=next(model.parameters()).dtype, device=device
        )
        self._scratch = None if self._on_cuda else Scratch(self._cache, max_blocks)
        words = arena_words(layout)
        first, second = (torch.zeros(words, dtype=torch.int32, pin_memory=self._on_cuda) for _ in range(2))
        self.arenas: tuple[torch.Tensor, torch.Tensor] = (first, second)
        """Host int32 tensors that the scheduler fills alternately; pinned on CUDA."""
        self._host = (word_views(first, layout), word_views(second, layout))
        self._host_tensors = (tensor_views(first, layout), tensor_views(second, layout))
        self._arena = torch.zeros(words, dtype=torch.int32, device=device)
        self._step = tensor_views(self._arena, layout)
        # Everything the model reads but the block tables lies before them or is copied with them.
        self._head_words = next(offset for name, offset, _ in layout if name == "block_tables")
        slots = max_rows
        self._params = torch.zeros(slots, len(PARAM_COLUMNS), dtype=torch.int32, device=device)
        self._host_params = np.zeros((slots, len(PARAM_COLUMNS)), dtype=np.int32)
        self._last_tokens = torch.zeros(slots, dtype=torch.int32, device=device)
        self._rows = torch.arange(max_rows, device=device)
        self._results = tuple(torch.zeros(max_rows, dtype=torch.int32, pin_memory=self._on_cuda) for _ in range(2))
        self._launched: list[_Launched | None] = [None, None]
        self._graphs: dict[int, StepGraph] | None = {} if graphs else None
        self._pool = torch.cuda.graph_pool_handle() if self._on_cuda and graphs else None
        self._token_words: torch.Tensor | None = None
        self._logprobs_mode = logprobs_mode
        self._head = PromptHead(self._model)
        self._decode_lengths: list[int] = []

    @property
    def buffers(self) -> tuple[Words, Words]:
        """The arenas as int32 buffers, for the scheduler."""
        first, second = (arena.numpy() for arena in self.arenas)
        return first, second

    @property
    def tells_prompt_logprobs(self) -> bool:
        """Log probabilities of prompts can be had of this model; where they cannot, a step that wants them raises."""
        return self._head.usable

    def launch(self, plan_id: int) -> None:
        """Starts the step in arena `plan_id % 2`: copies it to the device and runs the model."""
        words = self._host[plan_id % 2]
        header = read_header(words)
        rows = header.rows
        decode_only = header.decode_rows == rows
        bucket = rows
        if decode_only:
            bucket = next(size for size in self._buckets if size >= rows)
            pad_rows(words, rows, bucket)
        layers = None
        with torch.inference_mode():
            self._upload(plan_id % 2, header, bucket)
            if decode_only:
                self._decode_lengths = words["seq_lens"][:bucket].tolist()
            if header.flags & _core.FLAG_PROMPT_LOGPROBS:
                # Not a replay, which would not hand out what the layers make.
                with self._head.listening() as heard:
                    logits = self._decode(bucket) if decode_only else self._run_mixed(header, words)
                (layers,) = heard
            elif decode_only:
                logits = self._run_decode(bucket)
            else:
                logits = self._run_mixed(header, words)
        self._launched[plan_id % 2] = _Launched(header, words, logits[:rows], layers)

    def sample(self, plan_id: int, edits: bytes | None = None) -> None:
        """Draws the launched step's tokens; on the device each becomes the next input of its slot.

        `edits` is what the scheduler has to say of the step's logits, and whose log probabilities are wanted
        (`edits.Edits.read`). Raises ValueError where these bytes are not what their header says.
        """
        step = self._step_of(plan_id)
        rows = step.header.rows
        result = self._results[plan_id % 2][:rows]
        with torch.inference_mode():
            wanted = None if edits is None else DeviceEdits(Edits.read(edits), self._device)
            if step.header.samples:
                tokens = self._choose(step, wanted)
                result.copy_(tokens, non_blocking=True)
                step.blocks = step.words["block_tables"][:rows]
            else:
                result.zero_()
            if wanted is not None and len(wanted.host.prompt_positions):
                if step.layers is None:
                    raise RuntimeError(f"log probabilities of a prompt are wanted of step {plan_id}, unannounced")
                step.prompt_logprobs = self._to_host(self._head.describe(step.layers, wanted))
            step.layers = None
            if self._on_cuda:
                step.done = torch.cuda.Event()  # type: ignore[no-untyped-call]
                step.done.record()

    def tokens(self, plan_id: int) -> Words:
        """Waits for the step's tokens: int32 `[rows]`, -1 where the logits were not finite, -2 where the edits left
        no token, 0 for a row that does not sample. Valid until the plan after the next is sampled.
        """
        step = self._step_of(plan_id)
        if step.done is not None:
            step.done.synchronize()
        tokens: Words = self._results[plan_id % 2][: step.header.rows].numpy()
        broken = np.flatnonzero(tokens == BROKEN)
        if broken.size and step.blocks is not None:
            blocks = np.unique(step.blocks[broken]).astype(np.int64)
            with torch.inference_mode():
                self._cache.scrub(torch.from_numpy(blocks).to(self._device))
        return tokens

    def logprobs(self, plan_id: int) -> tuple[Words | None, Words | None]:
        """Log probabilities that the step's edits asked for, once its tokens were read: of sampled tokens,
        int32 `[rows asked for, 2 + 2 * logprob_top]`, and of prompt tokens, `[tokens asked for, 2 + 2 * prompt_top]`,
        as `logprobs.py` tells them; None where none were asked for.
        """
        step = self._step_of(plan_id)
        sampled, prompt = (None if part is None else part.numpy() for part in (step.logprobs, step.prompt_logprobs))
        return sampled, prompt

    def warm_up(self) -> None:
        """Captures the decode graphs (largest first, so that they share memory) and runs a prefill and the sampler.

        A model whose step cannot be captured runs without graphs; a warning says why.
        """
        with torch.inference_mode():
            for buffer in (self._arena, self._last_tokens):
                buffer.zero_()
            self._step["seq_lens"].fill_(1)
            buckets = self._buckets if self._on_cuda else self._buckets[:1]
            for bucket in reversed(buckets):
                self._decode_lengths = [1] * bucket
                logits = self._run_decode(bucket)
            tokens = min(self._max_tokens, 64)
            ids = torch.zeros(tokens, dtype=torch.long, device=self._device)
            step = self._paged(ids, [], [Prefill(0, 0, tokens, tokens)])
            forward(self._model, ids, self._rows.new_tensor(range(tokens)), ids[:1], step)
            kinds = np.full(1, Kind.PLAIN, dtype=np.int8)
            sample(logits[:1], self._params[:1], self._step["seq_lens"][:1], self._words(logits.shape[-1]), kinds)
        if self._on_cuda:
            torch.cuda.synchronize()

    def reset(self) -> None:
        """Makes the runner usable after a step that raised: nothing of earlier steps is kept."""
        self._launched = [None, None]
        with torch.inference_mode():
            for tensor in (*self._cache.tensors(), self._arena, self._last_tokens):
                tensor.zero_()

    def _upload(self, parity: int, header: Header, bucket: int) -> None:
        """Copies what the step uses of its arena to the device, and applies changes of slots."""
        head = slice(0, self._head_words)
        self._arena[head].copy_(self.arenas[parity][head], non_blocking=True)
        host = self._host_tensors[parity]
        for name in ("query_start", "seq_lens", "row_slot", "sample", "input_ids", "positions", "slot_mapping"):
            if self._step[name].storage_offset() >= self._head_words:
                self._step[name].copy_(host[name], non_blocking=True)
        # Whole rows on CUDA, where a copy of parts of rows would go through a staging buffer.
        width = self._step["block_tables"].shape[1]
        columns = width if self._on_cuda else min(width, -(-header.max_seq_len // BLOCK_SIZE))
        self._step["block_tables"][:bucket, :columns].copy_(host["block_tables"][:bucket, :columns], non_blocking=True)
        if count := header.slot_updates:
            updates = self._step["slot_updates"][:count]
            updates.copy_(host["slot_updates"][:count], non_blocking=True)
            self._params.index_copy_(0, updates[:, 0].long(), updates[:, 1:])
            changed = self._host[parity]["slot_updates"][:count]
            self._host_params[changed[:, 0]] = changed[:, 1:]

    def _run_decode(self, bucket: int) -> torch.Tensor:
        """Logits `[bucket, vocab]` of a step with one token a row."""
        if self._graphs is None:
            return self._decode(bucket)
        graph = self._graphs.get(bucket)
        if graph is None:
            try:
                graph = capture(
                    lambda: self._decode(bucket),
                    device=self._device,
                    static=self._static_tensors(),
                    pool=self._pool,
                )
            except GraphError as error:
                _LOG.warning("%s runs without graphs: %s", type(self._model).__name__, error)
                self._graphs = None
                return self._decode(bucket)
            self._graphs[bucket] = graph
        return graph.replay()

    def _decode(self, bucket: int) -> torch.Tensor:
        """The function that graphs capture: reads the device arena, `_last_tokens`, weights and KV."""
        step = self._paged(self._step["slot_mapping"][:bucket].long(), self._decode_lengths, [])
        return self._forward(bucket, self._step["row_slot"][:bucket], self._rows[:bucket], step)

    def _run_mixed(self, header: Header, words: dict[str, Words]) -> torch.Tensor:
        """Logits `[rows, vocab]`, at each row's last token, of a step with prompt tokens."""
        rows, tokens, decode = header.rows, header.tokens, header.decode_rows
        starts = words["query_start"][: rows + 1].tolist()
        lengths = words["seq_lens"][:rows].tolist()
        prefills = [Prefill(row, starts[row], starts[row + 1], lengths[row]) for row in range(decode, rows)]
        step = self._paged(self._step["slot_mapping"][:tokens].long(), lengths[:decode], prefills)
        ends = self._step["query_start"][1 : rows + 1].long()
        # Only decode rows take their token from the device, but every token needs a slot to look at.
        slots = torch.zeros(tokens, dtype=torch.int32, device=self._device)
        slots[:decode] = self._step["row_slot"][:decode]
        return self._forward(tokens, slots, ends - 1, step)

    def _forward(self, tokens: int, slots: torch.Tensor, keep: torch.Tensor, step: Step) -> torch.Tensor:
        ids = self._step["input_ids"][:tokens]
        ids = torch.where(ids < 0, self._last_tokens.index_select(0, slots), ids).long()
        return forward(self._model, ids, self._step["positions"][:tokens].long(), keep, step).float()

    def _paged(self, slot_mapping: torch.Tensor, lengths: list[int], prefills: list[Prefill]) -> Step:
        if self._scratch is None:
            from overt.engine.attention_cuda import CudaStep

            return CudaStep(
                cache=self._cache,
                slot_mapping=slot_mapping,
                block_tables=self._step["block_tables"],
                seq_lens=self._step["seq_lens"],
                decode_rows=len(lengths),
                prefills=prefills,
            )
        return PagedStep(
            cache=self._cache,
            scratch=self._scratch,
            slot_mapping=slot_mapping,
            block_tables=self._step["block_tables"],
            seq_lens=self._step["seq_lens"],
            groups=decode_groups(lengths),
            prefills=prefills,
        )

    def _step_of(self, plan_id: int) -> _Launched:
        step = self._launched[plan_id % 2]
        if step is None:
            raise RuntimeError(f"step {plan_id} was not launched")
        return step

    def _choose(self, step: _Launched, edits: DeviceEdits | None) -> torch.Tensor:
        """The tokens of a step's rows, int32 `[rows]`; slots' last tokens and the log probabilities are kept."""
        rows, logits = step.header.rows, step.logits
        slots = self._step["row_slot"][:rows]
        if edits is None and step.header.flags & FLAG_ALL_GREEDY:
            _, tokens = greedy_tokens(logits)
        else:
            params = self._params.index_select(0, slots)
            kinds = row_kinds(self._host_params[step.words["row_slot"][:rows]], step.words["sample"][:rows])
            asked = edits is not None and len(edits.host.logprob_rows) > 0
            processed = self._logprobs_mode == "processed_logprobs"
            raw = RawLogits(logits, edits) if edits is not None and asked and not processed else None
            before = apply(edits, logits, params) if edits is not None and len(edits.host.rows) else None
            tokens = sample(logits, params, self._step["seq_lens"][:rows], self._words(logits.shape[-1]), kinds, before)
            if edits is not None and asked:

                def drawn_from(some: list[int], index: torch.Tensor) -> torch.Tensor:
                    return log_distribution(logits[index], params[index], kinds[some])

                take = drawn_from if raw is None else raw.take
                step.logprobs = self._to_host(of_sampled(take, tokens, edits))
        sampling = self._step["sample"][:rows] != 0
        tokens = torch.where(sampling, tokens, 0).to(torch.int32)
        # A row that samples nothing keeps its slot's last token; a broken row's must stay a valid id.
        kept = torch.where(sampling, tokens.clamp(min=0), self._last_tokens.index_select(0, slots))
        self._last_tokens.index_copy_(0, slots.long(), kept)
        return tokens

    def _to_host(self, values: torch.Tensor) -> torch.Tensor:
        """A copy that is there once the step's event is; it belongs to the step, as launched ones come in pairs."""
        if not self._on_cuda:
            return values
        return torch.empty(values.shape, dtype=values.dtype, pin_memory=True).copy_(values, non_blocking=True)

    def _words(self, vocab_size: int) -> torch.Tensor:
        if self._token_words is None:
            self._token_words = token_words(vocab_size, self._device)
        return self._token_words

    def _static_tensors(self) -> list[torch.Tensor]:
        """What a captured step may read."""
        scratch = [] if self._scratch is None else [self._scratch.key, self._scratch.value]
        return [
            self._arena,
            self._last_tokens,
            self._rows,
            *scratch,
            *self._cache.tensors(),
            *self._model.parameters(),
            *self._model.buffers(),
        ]
