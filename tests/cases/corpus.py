"""The cases, and which of this package's checks runs which."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from serve.server import Server

FILE = Path(__file__).parents[3] / "shared" / "corpus" / "cases.jsonl"
AREAS = (
    "1-tool-parsing",
    "2-reasoning-parsing",
    "3-streaming-sse",
    "5-detokenization",
    "6-parameters",
    "7-operations",
)

READ_AREAS = AREAS[:2]
"""Whose cases want servers that read one format each."""

WAITING: dict[str, str] = {}
"""Cases that need what the server does not have yet, and refuses by name."""

HELD_WRONG: dict[str, str] = {
    "reason-json-schema-bare-json": "no mode of this server holds JSON from the first token where the prompt has "
    "opened the thinking: the grammar lets the thinking close first",
}
"""Cases whose expectation is not what the server should do, with the reason."""


CORRECTED: dict[str, dict[str, Any]] = {
    # Its pieces say `<tool_box>`.
    "tool-stream-n2-isolated": {"1": "No tool <tool_box>."},
}
"""By case the content of choices whose expected text is not what its pieces say."""


@dataclass(frozen=True)
class Case:
    """One case of the corpus."""

    id: str
    area: str
    input: dict[str, Any]
    expected: dict[str, Any]

    @property
    def path(self) -> str:
        """Where its request goes."""
        path: str = self.input["endpoint"].removeprefix("POST ")
        return path

    @property
    def body(self) -> dict[str, Any]:
        """Its request, to be changed at will."""
        body: dict[str, Any] = json.loads(json.dumps(self.input["request"]))
        return body


@cache
def cases() -> dict[str, Case]:
    """Every case of this package's areas by its id; none where the corpus is absent."""
    if not FILE.exists():
        return {}
    found = [json.loads(line) for line in FILE.read_text().splitlines()]
    return {
        case["id"]: Case(case["id"], case["area"], case["input"], case["expected"])
        for case in found
        if case["area"] in AREAS
    }


Check = Callable[[Server, Case], None]
"""Runs a case against a server."""

Story = Callable[[Path, Case], None]
"""Runs a case that is about the life of a server, and starts its own; the folder is for its files."""

CHECKS: dict[str, tuple[str, Check]] = {}
"""By case: the server it wants, and its check."""

STORIES: dict[str, Story] = {}


def on(server: str, *ids: str) -> Callable[[Check], Check]:
    """The decorated function runs these cases against `server`, a key of `cases.servers.SERVERS`."""

    def note(check: Check) -> Check:
        for id_ in ids:
            assert id_ not in CHECKS, id_
            CHECKS[id_] = server, check
        return check

    return note


def alone(id_: str) -> Callable[[Story], Story]:
    """The decorated function runs the case with servers of its own."""

    def note(story: Story) -> Story:
        assert id_ not in STORIES, id_
        STORIES[id_] = story
        return story

    return note
