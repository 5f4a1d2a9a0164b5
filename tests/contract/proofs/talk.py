"""Requests to the servers of the proofs, and what their answers say."""

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

import httpx
from http_sfv.list import List
from http_sfv.types import Token

from overt.contract.field import Route
from serve.server import text_of

PATHS: Final[dict[Route, str]] = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "tokenize": "/tokenize",
    "detokenize": "/detokenize",
    "parse": "/v1/parse",
}
QUESTION = "Name a river."

_MASKED = re.compile(rb'"(id|created|system_fingerprint)":("[^"]*"|\d+)')


class Absent:
    """A field that is not sent."""

    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = Absent()


@dataclass(frozen=True)
class Step:
    """One token of an answer and its log probabilities by token id."""

    token: int
    logprob: float
    likeliest: dict[int, float]


@dataclass(frozen=True)
class Answer:
    """A response, whole or streamed."""

    status: int
    headers: httpx.Headers
    raw: bytes
    route: Route

    @property
    def streamed(self) -> bool:
        return self.headers["content-type"].startswith("text/event-stream")

    @cached_property
    def json(self) -> dict[str, Any]:
        body: dict[str, Any] = json.loads(self.raw)
        return body

    @cached_property
    def chunks(self) -> list[dict[str, Any]]:
        """Of a stream that ended well."""
        frames = [line.removeprefix("data: ") for line in self.raw.decode().split("\n") if line.startswith("data: ")]
        assert frames[-1] == "[DONE]"
        return [json.loads(frame) for frame in frames[:-1]]

    def ok(self) -> "Answer":
        """Itself, if it is a success."""
        assert self.status == 200, self.raw
        return self

    # --- success ---

    @property
    def texts(self) -> list[str]:
        """Of each choice."""
        self.ok()
        if self.streamed:
            indices = {choice["index"] for chunk in self.chunks for choice in chunk["choices"]}
            return [text_of(self.chunks, index) for index in sorted(indices)]
        return [
            choice["text"] if "text" in choice else choice["message"]["content"] or ""
            for choice in self.json["choices"]
        ]

    @property
    def text(self) -> str:
        (text,) = self.texts
        return text

    @property
    def choice(self) -> dict[str, Any]:
        (choice,) = self.ok().json["choices"]
        result: dict[str, Any] = choice
        return result

    @property
    def finish(self) -> str:
        reason: str = self.choice["finish_reason"]
        return reason

    @property
    def tokens(self) -> list[list[int]]:
        """Ids of each choice; asked for with `return_token_ids`."""
        return [choice["token_ids"] for choice in self.ok().json["choices"]]

    @property
    def prompt(self) -> list[int]:
        """Ids of the one prompt: of `return_token_ids`, or what /tokenize told."""
        body = self.ok().json
        if self.route == "tokenize":
            found: list[int] = body["tokens"]
        elif self.route == "completions":
            found = self.choice["prompt_token_ids"]
        else:
            found = body["prompt_token_ids"]
        return found

    @property
    def made(self) -> int:
        """Tokens of the answer, all choices together."""
        count: int = self.ok().json["usage"]["completion_tokens"]
        return count

    @property
    def cached(self) -> int:
        """Tokens of the prompt whose KV was found in the prefix cache."""
        count: int = self.ok().json["usage"]["prompt_tokens_details"]["cached_tokens"]
        return count

    def steps(self, index: int = 0) -> list[Step]:
        """Log probabilities of a choice whose tokens are told as ids."""
        told = self.ok().json["choices"][index]["logprobs"]
        if self.route == "chat":
            return [
                Step(_id(e["token"]), e["logprob"], {_id(t["token"]): t["logprob"] for t in e["top_logprobs"]})
                for e in told["content"]
            ]
        tops = told["top_logprobs"] or [{}] * len(told["tokens"])
        return [
            Step(_id(token), logprob, {_id(key): value for key, value in top.items()})
            for token, logprob, top in zip(told["tokens"], told["token_logprobs"], tops, strict=True)
        ]

    # --- what is told of fields ---

    @cached_property
    def effects(self) -> dict[str, dict[str, Any]]:
        """The header `overt-effects`: parameters by field."""
        told = List()
        if (raw := self.headers.get("overt-effects")) is not None:
            told.parse(raw.encode())
        return {str(item.value): {key: _plain(value) for key, value in item.params.items()} for item in told}

    @property
    def reported(self) -> dict[str, dict[str, Any]]:
        """The effects of a body that reports, by field."""
        body = self.chunks[0] if self.streamed else self.json
        return {effect["field"]: effect for effect in body["overt"]["effects"]}

    @property
    def masked(self) -> bytes:
        """The body without what differs from one answer to the next."""
        return _MASKED.sub(rb'"\1":_', self.ok().raw)

    # --- failure ---

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = self.json["error"]
        return error

    def refuses(self, param: str | None, code: str | None = None, status: int = 400) -> None:
        """It is an error of `param`."""
        assert self.status == status, (self.status, self.raw)
        assert self.error["param"] == param, self.error
        if code is not None:
            assert self.error["code"] == code, self.error


def _id(token: str) -> int:
    return int(token.removeprefix("token_id:"))


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return str(value) if isinstance(value, Token) else value
