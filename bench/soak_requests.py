"""The requests of `soak.py`, one function a kind: each sends one of it and checks what comes back."""

import json
import math
import random
import re
import threading
from collections.abc import Callable
from typing import Any

import httpx
import jsonschema

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"
TEXTS = (
    "Hello!",
    "Name three rivers of Europe.",
    "What is 12 times 12?",
    "Write one line about the sea. 🌊",
    "東京はどこですか。",
    "\tdef f(x):\n\t\treturn",
    "Explain why the sky is blue to a child of six, slowly and with an example from the kitchen.",
)
SYSTEM = "You answer in few words. You never use lists, and you are always polite to whoever asks. " * 2
MODEL = "SmolLM2-135M-Instruct"

_SAID: dict[str, list[str]] = {}
_SAID_LOCK = threading.Lock()


class WrongAnswerError(Exception):
    """An answer that is not what the request asked for."""


def want(condition: object, message: str, body: Any = None) -> None:
    """Raises WrongAnswerError unless `condition` holds."""
    if not condition:
        raise WrongAnswerError(f"{message[:1000]} {json.dumps(body)[:1000] if body is not None else ''}")


def same(body: dict[str, Any], said: list[str]) -> None:
    """Raises WrongAnswerError unless `body` was answered like this every time."""
    with _SAID_LOCK:
        first = _SAID.setdefault(json.dumps(body), said)
    want(said == first, f"{first} was said before and {said} now", body)


def random_body(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """A route, and a request that samples however it likes."""
    text = rng.choice(TEXTS)
    body: dict[str, Any] = {"max_tokens": rng.randint(1, 20), "temperature": rng.choice([0, 0.7, 1, 2])}
    for name, values in (
        ("top_p", (0.5, 0.95)),
        ("top_k", (1, 40, 200)),
        ("min_p", (0.05,)),
        ("typical_p", (0.8,)),
        ("user", ("a", "b")),
        ("model", (MODEL,)),
        ("cache_salt", ("salt",)),
    ):
        if rng.random() < 0.25:
            body[name] = rng.choice(values)
    if rng.random() < 0.5:
        return COMPLETIONS, body | {"prompt": text}
    messages = [{"role": "system", "content": SYSTEM}] if rng.random() < 0.5 else []
    return CHAT, body | {"messages": [*messages, {"role": "user", "content": text}]}


def text_of(choice: dict[str, Any]) -> str:
    """A whole choice's text."""
    text = choice["text"] if "text" in choice else choice["message"]["content"]
    want(isinstance(text, str), "a choice without text", choice)
    return str(text)


def ask(client: httpx.Client, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """A whole answer's choices, checked for shape and counts."""
    answer = client.post(path, json=body)
    want(answer.status_code == 200, f"{answer.status_code} {answer.text}", body)
    told = answer.json()
    choices: list[dict[str, Any]] = told["choices"]
    n = body.get("n", 1)
    want([choice["index"] for choice in choices] == list(range(n)), "choices are missing or out of order", told)
    usage = told["usage"]
    want(usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"], "usage does not add up", told)
    most = max(n, body.get("best_of", n)) * body["max_tokens"]
    want(usage["completion_tokens"] <= most, "more tokens than asked for", told)
    for choice in choices:
        text_of(choice)
        want(choice["finish_reason"] in ("stop", "length"), "an unknown finish reason", told)
    return choices


def read_stream(client: httpx.Client, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """A streamed answer's choices, put together as `ask` gives them: text, finish reason and entries."""
    n = body.get("n", 1)
    joined: list[dict[str, Any]] = [{"text": "", "finish_reason": None, "entries": [], "calls": []} for _ in range(n)]
    frames = []
    with client.stream("POST", path, json=body | {"stream": True}) as response:
        if response.status_code != 200:
            response.read()
        want(response.status_code == 200, f"{response.status_code}", body)
        frames = [line.removeprefix("data: ") for line in response.iter_lines() if line.startswith("data: ")]
    want(frames and frames[-1] == "[DONE]", f"no end of the stream: {frames[-1:]}", body)
    for frame in frames[:-1]:
        chunk = json.loads(frame)
        want("error" not in chunk, frame, body)
        for choice in chunk["choices"]:
            mine = joined[choice["index"]]
            want(mine["finish_reason"] is None, f"a chunk after the finish: {frame}", body)
            mine["text"] += choice["text"] if "text" in choice else choice["delta"].get("content") or ""
            mine["finish_reason"] = choice["finish_reason"]
            for part in choice.get("delta", {}).get("tool_calls", ()):
                if part["index"] == len(mine["calls"]):
                    mine["calls"].append({"name": part["function"]["name"], "arguments": ""})
                mine["calls"][part["index"]]["arguments"] += part["function"].get("arguments", "")
            if path == CHAT and choice["logprobs"]:
                mine["entries"] += choice["logprobs"]["content"]
    for mine in joined:
        finishes = ("stop", "length", "tool_calls")
        want(mine["finish_reason"] in finishes, f"a stream without a finish: {mine}", body)
    return joined


def whole(client: httpx.Client, rng: random.Random) -> None:
    """One body."""
    path, body = random_body(rng)
    ask(client, path, body)


def stream(client: httpx.Client, rng: random.Random) -> None:
    """A stream read to its end."""
    path, body = random_body(rng)
    read_stream(client, path, body | {"n": rng.choice([1, 1, 2])})


def leave_stream(client: httpx.Client, rng: random.Random) -> None:
    """A stream that is left after some lines."""
    path, body = random_body(rng)
    body |= {"stream": True, "max_tokens": 60, "n": rng.choice([1, 1, 3])}
    lines = rng.choice([0, 1, 4, 20])
    with client.stream("POST", path, json=body) as response:
        want(response.status_code == 200, f"{response.status_code}", body)
        for _, _ in zip(range(lines), response.iter_lines(), strict=False):
            pass


def leave_whole(client: httpx.Client, rng: random.Random) -> None:
    """A body that nobody waits for."""
    path, body = random_body(rng)
    body |= {"max_tokens": 100, "ignore_eos": True}
    try:
        client.post(path, json=body, timeout=httpx.Timeout(60, read=rng.uniform(0.01, 1.0)))
    except httpx.ReadTimeout:
        return


def choices(client: httpx.Client, rng: random.Random) -> None:
    """Many choices, or the best of many."""
    path, body = random_body(rng)
    body["n"] = rng.randint(2, 4)
    if path == COMPLETIONS and rng.random() < 0.5:
        body["best_of"] = body["n"] + rng.randint(0, 2)
    ask(client, path, body)


def logprobs(client: httpx.Client, rng: random.Random) -> None:
    """Chat's log probabilities, streamed or not: their bytes are the text."""
    _, body = random_body(rng)
    body = {key: value for key, value in body.items() if key not in ("prompt", "messages")}
    top = rng.choice([0, 1, 5, 20])
    body |= {"messages": [{"role": "user", "content": rng.choice(TEXTS)}], "logprobs": True, "top_logprobs": top}
    if rng.random() < 0.5:
        (choice,) = read_stream(client, CHAT, body)
        text, entries = choice["text"], choice["entries"]
    else:
        (choice,) = ask(client, CHAT, body)
        text, entries = text_of(choice), choice["logprobs"]["content"]
    told = b"".join(bytes(entry["bytes"] or ()) for entry in entries)
    want(told.decode("utf-8", "replace") == text, f"the entries' bytes are not the text {text!r}: {entries}", body)
    for entry in entries:
        want(entry["logprob"] <= 1e-5 and math.isfinite(entry["logprob"]), f"a strange value: {entry}", body)
        want(len(entry["top_logprobs"]) == top, f"not {top} alternatives: {entry}", body)


def prompt_logprobs(client: httpx.Client, rng: random.Random) -> None:
    """The prompt's log probabilities: one entry a token, the first null."""
    text, top = rng.choice(TEXTS), rng.choice([0, 3])
    body = {"prompt": text, "max_tokens": rng.randint(1, 4), "prompt_logprobs": top}
    (choice,) = ask(client, COMPLETIONS, body)
    told = choice["prompt_logprobs"]
    tokens = client.post("/tokenize", json={"prompt": text}).json()["tokens"]
    want(len(told) == len(tokens) and told[0] is None, f"not an entry for each token: {told}", body)
    for token, entries in zip(tokens[1:], told[1:], strict=True):
        want(str(token) in entries and top <= len(entries) <= max(top, 0) + 1, f"not those asked for: {entries}", body)


def echo(client: httpx.Client, rng: random.Random) -> None:
    """The prompt stands before the answer."""
    text = rng.choice(TEXTS)
    body: dict[str, Any] = {"prompt": text, "max_tokens": rng.choice([0, 0, 3]), "echo": True}
    body |= {"logprobs": 1} if rng.random() < 0.5 else {}
    (choice,) = ask(client, COMPLETIONS, body)
    shown = choice["text"]
    want(shown.startswith(text) and (body["max_tokens"] > 0 or shown == text), f"no echo: {shown!r}", body)
    if "logprobs" in body:
        told = choice["logprobs"]
        lengths = {len(told[name]) for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset")}
        want(len(lengths) == 1 and told["token_logprobs"][0] is None, f"lists that do not fit: {told}", body)


def seeds(client: httpx.Client, rng: random.Random) -> None:
    """The same seed says the same as the first time, streamed or not."""
    seed, n, text = rng.randrange(3), rng.choice([1, 1, 3]), rng.choice(TEXTS[:3])
    body = {
        "messages": [{"role": "user", "content": text}],
        "temperature": 1,
        "max_tokens": 12,
        "seed": seed,
        "n": n,
    }
    if rng.random() < 0.5:
        said = [choice["text"] for choice in read_stream(client, CHAT, body)]
    else:
        said = [text_of(choice) for choice in ask(client, CHAT, body)]
    same(body, said)


def penalties(client: httpx.Client, rng: random.Random) -> None:
    """Penalties at random, and words that must not come."""
    path, body = random_body(rng)
    word = rng.choice([" the", " river"])
    body |= {
        "repetition_penalty": rng.choice([0.8, 1.3]),
        "presence_penalty": rng.choice([-1, 0, 1.5]),
        "frequency_penalty": rng.choice([-2, 0, 2]),
        "bad_words": [word],
        "min_tokens": rng.randint(0, body["max_tokens"]),
    }
    # Tokens are banned: another one may begin with the same letters.
    whole = re.compile(re.escape(word) + r"(?![a-z])")
    for choice in ask(client, path, body):
        want(not whole.search(text_of(choice)), f"{word!r} was not to be written: {choice}", body)


def logit_bias(client: httpx.Client, rng: random.Random) -> None:
    """A bias that forces a token, or a set that alone is allowed."""
    path, body = random_body(rng)
    body["max_tokens"] = 3
    word = rng.choice([" banana", " blue", "!"])
    (token,) = client.post("/tokenize", json={"prompt": word}).json()["tokens"]
    forced = {"logit_bias": {str(token): 100}} if rng.random() < 0.5 else {"allowed_token_ids": [token]}
    body |= forced | {"temperature": 0}
    for choice in ask(client, path, body):
        want(text_of(choice) == word * 3, f"not {word * 3!r}: {choice}", body)


def stops(client: httpx.Client, rng: random.Random) -> None:
    """Text that ends a choice is no part of it."""
    path, body = random_body(rng)
    body |= {"stop": rng.sample(["e", " the", "\n", ".", "zzz"], 2), "max_tokens": 20}
    body |= {"stop_regex": "[0-9]{2}"} if rng.random() < 0.5 else {}
    read = read_stream(client, path, body) if rng.random() < 0.5 else ask(client, path, body)
    for choice in read:
        text = choice["text"] if "entries" in choice else text_of(choice)
        want(not any(stop in text for stop in body["stop"]), f"a stop in {text!r}", body)


def beam(client: httpx.Client, rng: random.Random) -> None:
    """A beam search says the same each time."""
    body = {
        "prompt": rng.choice(TEXTS),
        "max_tokens": 5,
        "use_beam_search": True,
        "n": rng.randint(1, 3),
        "length_penalty": rng.choice([0, 1, 2]),
    }
    same(body, [text_of(choice) for choice in ask(client, COMPLETIONS, body)])


BAD: tuple[tuple[str, dict[str, Any], str], ...] = (
    (CHAT, {"temperature": 9}, "temperature"),
    (CHAT, {"messages": []}, "messages"),
    (CHAT, {"messages": "x"}, "messages"),
    (CHAT, {"top_logprobs": 3}, "top_logprobs"),
    (CHAT, {"max_tokens": 0}, "max_tokens"),
    (CHAT, {"logit_bias": {"99999999": 1}}, "logit_bias"),
    (CHAT, {"stop_regex": "("}, "stop_regex"),
    (CHAT, {"n": 10**6}, "n"),
    (CHAT, {"use_beam_search": True, "stream": True}, "stream"),
    (COMPLETIONS, {"prompt": "x", "best_of": 1, "n": 2}, "best_of"),
    (COMPLETIONS, {"prompt": [10**8]}, "prompt"),
    (COMPLETIONS, {"prompt": "x", "max_tokens": 0}, "max_tokens"),
    (COMPLETIONS, {"prompt": "long " * 2000}, "prompt"),
    (COMPLETIONS, {}, "prompt"),
)


SHAPES: tuple[dict[str, Any], ...] = (
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string", "maxLength": 8}}},
    {"type": "array", "items": {"enum": ["x", "y"]}, "maxItems": 3},
    {"type": ["number", "boolean", "null"]},
)
COLOURS = ("red", "green", "blue")


def held(client: httpx.Client, rng: random.Random) -> None:
    """Output that is held: what came to its end is of its form; streams among them that are left in the middle."""
    path, body = random_body(rng)
    shape = rng.choice(SHAPES)
    form = rng.choice(("schema", "choice", "regex"))
    body |= {
        "schema": {"structured_outputs": {"json": shape}},
        "choice": {"guided_choice": list(COLOURS)},
        "regex": {"guided_regex": "[a-c]{3}-[0-9]{2}"},
    }[form]
    body |= {"max_tokens": 60, "n": rng.choice((1, 1, 2))}
    if rng.random() < 0.2:
        with client.stream("POST", path, json=body | {"stream": True}) as answer:
            want(answer.status_code == 200, f"{answer.status_code}", body)
            next(answer.iter_bytes())
        return
    for choice in ask(client, path, body):
        if choice["finish_reason"] == "length":
            continue
        text = text_of(choice)
        if form == "schema":
            jsonschema.validate(json.loads(text), shape)
        else:
            want(text in COLOURS if form == "choice" else re.fullmatch("[a-c]{3}-[0-9]{2}", text), text, body)


def calls(client: httpx.Client, rng: random.Random) -> None:
    """A call that is forced, whole or streamed: its arguments are of the tool's schema."""
    schema = SHAPES[0] | {"required": ["a"], "additionalProperties": False}
    tools = [{"type": "function", "function": {"name": name, "parameters": schema}} for name in ("f", "g")]
    named = {"type": "function", "function": {"name": rng.choice("fg")}}
    body = {"messages": [{"role": "user", "content": rng.choice(TEXTS)}], "tools": tools, "max_tokens": 60}
    body |= {"tool_choice": rng.choice(("required", named)), "parallel_tool_calls": False, "temperature": 1}
    if rng.random() < 0.5:
        answer = client.post(CHAT, json=body)
        want(answer.status_code == 200, f"{answer.status_code} {answer.text}", body)
        (choice,) = answer.json()["choices"]
        said = [call["function"] for call in choice["message"].get("tool_calls", ())]
        finish = choice["finish_reason"]
    else:
        (choice,) = read_stream(client, CHAT, body)
        said, finish = choice["calls"], choice["finish_reason"]
    if finish != "length":
        want(len(said) == 1 and said[0]["name"] in ("f", "g"), f"{said} {finish}", body)
        jsonschema.validate(json.loads(said[0]["arguments"]), schema)


def bad(client: httpx.Client, rng: random.Random) -> None:
    """A request that is refused, with the field that is at fault."""
    path, body, param = rng.choice(BAD)
    if path == CHAT:
        body = {"messages": [{"role": "user", "content": "x"}]} | body
    answer = client.post(path, json=body)
    want(answer.status_code == 400, f"{answer.status_code} {answer.text}", body)
    told = answer.json()["error"]["param"]
    want(re.split("[.[]", str(told))[0] == param, f"blames {told}, not {param}: {answer.text}", body)


def broken(client: httpx.Client, rng: random.Random) -> None:
    """What is no request at all, and models and routes that are not there."""
    raw = json.dumps({"messages": [{"role": "user", "content": "x"}], "model": "no-such-model"})
    content, path, status = rng.choice(
        [
            (raw, CHAT, 404),
            (raw[: rng.randrange(len(raw))], CHAT, 400),
            ("[" * 1000, COMPLETIONS, 400),
            ("\xff\xfe", CHAT, 400),
            ("{}", "/v1/no/such/route", 404),
        ]
    )
    answer = client.post(path, content=content.encode("latin-1"), headers={"content-type": "application/json"})
    want(answer.status_code == status, f"{answer.status_code}, not {status}: {answer.text}", content)
    want(answer.json()["error"]["message"], f"no message: {answer.text}", content)
    want(answer.headers["x-request-id"], "no request id")


def tokens(client: httpx.Client, rng: random.Random) -> None:
    """A text comes back from its tokens."""
    text = "".join(rng.sample(TEXTS, 3))
    ids = client.post("/tokenize", json={"prompt": text}).json()["tokens"]
    back = client.post("/detokenize", json={"tokens": ids}).json()["prompt"]
    want(back == text, f"{text!r} came back as {back!r}")


def others(client: httpx.Client, rng: random.Random) -> None:
    """The routes around."""
    path = rng.choice(["/health", "/ready", "/v1/models", f"/v1/models/{MODEL}", "/metrics"])
    answer = client.get(path)
    want(answer.status_code == 200, f"{path}: {answer.status_code} {answer.text}")


KINDS: dict[str, tuple[float, Callable[[httpx.Client, random.Random], None]]] = {
    "whole": (3, whole),
    "stream": (4, stream),
    "leave_stream": (3, leave_stream),
    "leave_whole": (2, leave_whole),
    "choices": (2, choices),
    "logprobs": (3, logprobs),
    "prompt_logprobs": (1, prompt_logprobs),
    "echo": (1, echo),
    "seeds": (3, seeds),
    "penalties": (2, penalties),
    "logit_bias": (2, logit_bias),
    "stops": (2, stops),
    "beam": (1, beam),
    "held": (4, held),
    "calls": (3, calls),
    "bad": (2, bad),
    "broken": (2, broken),
    "tokens": (1, tokens),
    "others": (1, others),
}
"""Each kind, and how often it comes, in shares of all."""
