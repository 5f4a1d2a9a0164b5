"""`overt capabilities`: what a server with these flags would do with each field. Loads no weights."""

import json
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from overt.cli.config import ServeConfig
from overt.cli.flags import parse_serve
from overt.cli.show import show

if TYPE_CHECKING:
    from overt.api.state import State

READY_MS = 60_000
"""The front reads the tokenizer meanwhile."""


def capabilities(argv: Sequence[str]) -> int:
    """Prints the document, as text or with --json. Returns the exit code: 1 for a model that cannot be served."""
    from overt.api.app import create_app
    from overt.api.openai.capabilities import mounted
    from overt.contract.capabilities import capabilities as document_of
    from overt.contract.capabilities import render_text
    from overt.models import ModelError

    config = parse_serve([word for word in argv if word != "--json"], command="capabilities")
    for note in config.notes:
        print(f"overt capabilities: {note}", file=sys.stderr)
    try:
        with brought_up(config) as state:
            document = document_of(state.deployment, mounted(create_app(state)))
    except ModelError as error:
        print(f"overt capabilities: {error}", file=sys.stderr)
        return 1
    text = json.dumps(document, indent=2, ensure_ascii=False) if "--json" in argv else render_text(document)
    show(text)
    return 0


@contextmanager
def brought_up(config: ServeConfig) -> "Iterator[State]":
    """A server's state from the model's tokenizer, template and config, with both ends of the link in this process.

    What only the weights' code can tell is taken to be as it is for most models. Raises ModelError.
    """
    from overt import _core
    from overt.api.state import front_config, make_state
    from overt.engine.process import prepare

    ready = prepare(replace(config, model_runner="sim"))
    ours, theirs = socket.socketpair()
    front = _core.Front(ours.detach(), front_config(config))
    try:
        engine = _core.Engine(theirs.detach(), ready.config, ready.tokenizer_json)
        engine.hello(_as_of_a_server(ready.hello, config))
        hello = front.wait_ready(READY_MS)
        assert hello is not None
        yield make_state(front, config, hello, _core.__version__)
    finally:
        front.close()


def _as_of_a_server(hello: bytes, config: ServeConfig) -> bytes:
    """What the engine says, but for what it would only know with the weights: the device is not chosen yet."""
    told = json.loads(hello)
    told["model"] |= {"dtype": config.dtype, "device": "auto"}
    return json.dumps(told).encode()
