"""The Rust core: scheduler, link, text and frames. Everything here releases the GIL while it works."""

from collections.abc import Sequence
from typing import Any, Final, final

__all__ = [
    "FLAG_ALL_GREEDY",
    "FLAG_PROMPT_LOGPROBS",
    "HEADER",
    "PARAM_COLUMNS",
    "Engine",
    "Front",
    "Parser",
    "Prompts",
    "RequestError",
    "Template",
    "TemplateError",
    "Tokenizer",
    "__version__",
    "arena_layout",
    "bench",
    "cannot_start",
    "error_body",
    "grammar",
    "json_outline",
    "normalisations",
    "reasoning_parsers",
    "register_format",
    "tool_parsers",
    "write_calls",
]

__version__: Final[str]

# --- text -----------------------------------------------------------------------------------------

@final
class Tokenizer:
    """A tokenizer made from the bytes of a `tokenizer.json`. Raises ValueError where they are not one."""

    def __new__(cls, tokenizer_json: bytes) -> Tokenizer: ...
    def encode(self, text: str, add_special_tokens: bool = ...) -> list[int]:
        """Token ids of `text`; special tokens written out in it are recognised."""

    def encode_cached(self, text: str) -> list[int]:
        """As `encode` without adding special tokens; pieces of text encoded before cost a look-up."""

    def encode_plain(self, text: str, ranges: Sequence[tuple[int, int]]) -> list[int]:
        """As `encode_cached`, but no special token is recognised that has a byte in one of `ranges`.

        They are bytes of `text` in UTF-8, from and to, in any order.
        """

    def encode_offsets(self, text: str, add_special_tokens: bool = ...) -> tuple[list[int], list[tuple[int, int]]]:
        """As `encode`, with the bytes of `text` in UTF-8 that each token stands for, from and to.

        Whole characters always: tokens that share a character have the same range. Tokens that the tokenizer adds
        have an empty one, at 0 or at the end.
        """

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = ...) -> str:
        """Text of `ids`. Raises ValueError for an id outside the vocabulary."""

    def token_bytes(self, id: int) -> bytes:
        """The bytes one token stands for. Raises ValueError for an id outside the vocabulary."""

    @property
    def vocab_size(self) -> int:
        """Number of ids the tokenizer knows, added tokens included."""

@final
class Template:
    """A compiled chat template. Raises TemplateError for a source that is no Jinja."""

    def __new__(cls, source: str) -> Template: ...
    @property
    def variables(self) -> list[str]:
        """Names that it takes from outside, sorted."""

    def reads_key(self, key: str) -> bool:
        """Whether it may read a message's key of this name."""

    def normalisations(self, special_tokens: bytes) -> list[str]:
        """Names of what may be changed in messages and tools for its sake, found out by rendering probes.
        `special_tokens` is JSON such as `{"bos_token": "<s>"}`.
        """

    def render(self, request: bytes) -> str:
        """The prompt's text. `request` is JSON with `messages` and, optionally, `tools`, `documents`,
        `add_generation_prompt`, `continue_final_message`, `chat_template_kwargs`, `special_tokens` and `clock`
        (seconds since 1970 as the local wall clock shows them; now if it is absent).

        Raises TemplateError.
        """

    def trace(self, request: bytes) -> bytes:
        """The same with where every part came from, as JSON: `text`, `spans` (in characters), `exact`, `used`."""

class TemplateError(ValueError):
    """A template that does not compile or render: `args` is (message, line or None, reason)."""

def normalisations() -> list[tuple[str, str, bool]]:
    """(name, meaning, whether it changes the meaning) of all that may be changed in messages and tools for a template's
    sake before it renders.
    """

def error_body(
    message: str, type: str, param: str | None, code: str | None, status: int = ..., shape: str = ...
) -> bytes:
    """An error as JSON. `shape` is "openai" (the default), "vllm" or "sglang": the last two tell the HTTP `status`
    (400 by default) in place of `code`, and name types their own way.
    """

def json_outline(body: bytes) -> tuple[int, str | None]:
    """The most arrays and objects within each other, and a name that the outermost object has twice.

    Brackets and strings alone are looked at; whether `body` is JSON otherwise is not checked.
    """

# --- engine process -------------------------------------------------------------------------------

PARAM_COLUMNS: Final[tuple[str, ...]]
"""Columns of a slot's parameters, in order; columns named `*_f32` are float bits in an int32."""

HEADER: Final[tuple[str, ...]]
"""Names of the arena's header words, in order."""

FLAG_ALL_GREEDY: Final[int]
"""Bit of the header's `flags`: every row of the step is greedy."""

FLAG_PROMPT_LOGPROBS: Final[int]
"""Bit of the header's `flags`: log probabilities of prompt tokens will be asked of the step."""

def arena_layout(max_rows: int, max_tokens: int, max_blocks: int) -> list[tuple[str, int, tuple[int, ...]]]:
    """Sections of a step arena: (name, offset in int32 words, shape). The last entry is ("end", words, ())."""

@final
class Engine:
    """The engine side: admission, slots, schedule, decide."""

    def __new__(cls, fd: int, config: bytes, tokenizer_json: bytes) -> Engine:
        """`fd` is this process's end of the link (owned from now on); `config` is JSON (see engine/config.py)."""

    def hello(self, meta: bytes) -> None:
        """Tells the API process that the model is ready; `meta` is JSON."""

    def bind(self, first: Any, second: Any) -> None:
        """Lends two arenas that `schedule` fills alternately: writable, contiguous int32 buffers."""

    def layout(self) -> list[tuple[str, int, tuple[int, ...]]]:
        """The layout of the arenas to bind, as `arena_layout` gives it."""

    def schedule(self, now_us: int) -> int:
        """Fills the next arena. Returns the plan's id (its arena is `id % 2`), or -1 when nothing can run."""

    def wait(self, timeout_ms: int) -> bool:
        """Sleeps until a message arrives or the time is over. False when the API process is gone."""

    def edits(self, plan_id: int) -> bytes | None:
        """What the plan's sampling changes of its rows' logits and has to tell of them (see engine/edits.py); None:
        nothing. To be asked for when the plan before it is decided.
        """

    def decide(self, plan_id: int, tokens: Any, logprobs: Any | None = ..., prompt_logprobs: Any | None = ...) -> None:
        """Applies an int32 buffer with one token a row (-1: the row's logits were not finite, -2: no token was
        allowed); one message goes out. `logprobs` and `prompt_logprobs` answer the plan's edits: int32 buffers with a
        row of (log probability, rank, ids…, log probabilities…) for each logprob row and prompt entry.
        """

    def fail(self) -> None:
        """The running steps raised: their requests end with an error, KV and prefix cache are dropped."""

    def row(self, plan_id: int, row: int) -> tuple[int, int, list[int], int]:
        """(request, choice, prompt ids, tokens made so far) of a row: for the simulated and scripted runners.

        Raises ValueError for a row that ended or was aborted since.
        """

def cannot_start(fd: int, message: str) -> None:
    """Tells the API process, over its link (owned from now on), why the model cannot be served."""

# --- parsers --------------------------------------------------------------------------------------

@final
class Parser:
    """Reads the output of one choice (see overt/parsers.py)."""

    def __new__(
        cls,
        tool_parser: str | None,
        reasoning_parser: str | None,
        tools: bytes,
        tool_choice: str,
        named: str | None,
        prompt_tail: str,
        seed: int,
    ) -> Parser:
        """`tools` is a JSON list; `tool_choice` is "none", "auto", "required" or, with its name in `named`, "named".

        Raises ValueError for what is unknown or no JSON.
        """

    def push(self, text: str, special: bool) -> list[tuple[str, int | None, str | None, str | None, str]]:
        """(kind, index, id, name, text) of what a piece said."""

    def finish(self) -> list[tuple[str, int | None, str | None, str | None, str]]:
        """The same of what was held back."""

def register_format(description: str) -> str:
    """Makes a format known by its names, for the life of the process; returns its name. `description` is JSON (see
    docs/answers.md). Raises ValueError for what it cannot be.
    """

def tool_parsers() -> list[str]:
    """Names of the formats of tool calls, sorted."""

def reasoning_parsers() -> list[str]:
    """Names of the formats of reasoning, sorted."""

def write_calls(parser: str, calls: bytes, tools: bytes) -> str:
    """Calls as a model of this format writes them; `calls` is a JSON list of `{"name", "arguments"}`, `tools` one of
    tools. Raises ValueError for an unknown format and for what is no such JSON.
    """

def grammar() -> bytes:
    """What constrained outputs are held to, as JSON: white space, limits, keywords of schemas."""

# --- API process ----------------------------------------------------------------------------------

@final
class Front:
    """The API side: requests in, frames out."""

    def __new__(cls, fd: int, config: bytes) -> Front:
        """`fd` is this process's end of the link (owned from now on); `config` is JSON (see api/state.py)."""

    def wait_ready(self, timeout_ms: int) -> bytes | None:
        """The engine's hello as JSON; None when the time is over.

        Raises RuntimeError when the engine refused or died.
        """

    @property
    def parser(self) -> str | None:
        """The format that tool calls are read in, once ready; None: they stay text."""

    @property
    def reading(self) -> bytes | None:
        """The formats that outputs are read in, and why, as JSON, once ready."""

    def pieces(self, text: str) -> list[tuple[str, bool]]:
        """`text` cut into special tokens of the model (true) and the texts between them."""

    @property
    def wake_fd(self) -> int:
        """Readable when `take_ready` has something; reading it is `take_ready`'s business."""

    def submit(self, handle: int, protocol: str, body: bytes, params: Any, chunked: bool) -> None:
        """Starts a request. `protocol` is "chat" or "completions"; `body` the request's raw JSON bytes, from which
        messages, tools and prompts are read; `params` an object with the attributes of
        contract.params.GenerationParams. `handle` is the caller's, unique among live requests. With `chunked`
        a stream's bytes carry HTTP/1.1 chunk framing (not the last, empty chunk). All failures arrive by `take_ready`.
        """

    def probe(self, handle: int) -> None:
        """Starts a request of one token that passes the queue; its answer, a completion in one piece, arrives by
        `take_ready`.
        """

    @property
    def fills_gaps(self) -> bool:
        """Whether the model's vocabulary has tokens for prompts with a gap (`suffix`), once ready."""

    def start(self, handle: int) -> list[tuple[str, int | str, str, str]]:
        """The headers go out before the first token: later errors are frames.

        Returns (field, applied, reason, label to count it under) of the fields that were changed for the prompt's
        sake.
        """

    def abort(self, handle: int) -> None:
        """The client left: everything of the request is freed. No further item for this handle is returned."""

    def hold(self, handle: int, on: bool) -> None:
        """The connection is (no longer) writable: bytes wait in the request's outbox meanwhile."""

    def take_ready(self) -> list[tuple[int, bool, int, bytes, list[tuple[str, int | str, str, str]]]]:
        """(handle, ended, status, bytes, adapted) for every request with something to write.

        status is 200 or an error's status on the first item of a handle, 0 on later ones. An error before the headers
        is one ended item whose bytes are the JSON error; a non-streamed answer is one ended item. adapted is empty
        but with the first item of a handle that `start` was not called for: what that would have returned.
        """

    def tokenize(
        self, protocol: str, body: bytes, params: Any
    ) -> tuple[list[int], list[tuple[str, int | str, str, str]]]:
        """Token ids of a body's `messages` ("chat") or `prompt` ("completions"), and the fields that were changed, as
        `start` tells them; `params` as for `submit`. Run it off the loop.

        Raises RequestError.
        """

    def show(self, protocol: str, body: bytes, params: Any) -> bytes:
        """A body's prompts as the model would see them and the fields that were changed for them (`prompts` and
        `adapted`), as JSON (see api/openai/render.py). Run it off the loop.

        Raises RequestError where an answer would be refused for its prompt.
        """

    def detokenize(self, ids: Sequence[int]) -> str:
        """Text of ids. Raises RequestError for an id outside the vocabulary."""

    def token_strings(self, ids: Sequence[int]) -> list[str]:
        """Each token's own spelling in the vocabulary."""

    def stats(self) -> bytes:
        """Gauges, counters and histograms as JSON (see api/ops/metrics.py)."""

    def health(self) -> tuple[bool, str]:
        """(alive and making progress, reason). False once the engine died or no step finished within the watchdog."""

    def close(self) -> None:
        """Ends every live request with an error and the link with it."""

@final
class Prompts:
    """A model's tokenizer and templates without the model."""

    def __new__(cls, meta: bytes, tokenizer_json: bytes, reading: bytes) -> Prompts:
        """`meta` is JSON like the engine's hello, `reading` JSON with members of the front's config that tell how
        text is read. Raises ValueError for a tokenizer or a template that is broken.
        """

    def show(self, protocol: str, body: bytes, params: Any) -> bytes:
        """As `Front.show`."""

class RequestError(Exception):
    """A request that cannot be served: `args` is (status, message, type, param, code)."""

# --- tools ----------------------------------------------------------------------------------------

def bench(options: bytes) -> bytes:
    """Runs the load generator (options and result as JSON; see rust/overt-bench)."""
