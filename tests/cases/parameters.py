"""Parameters of a request: their ranges, what they reach, what they are told of."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cases.corpus import Case, on
from cases.servers import FIRST_END, SECOND_END
from cases.streams import told
from cases.talk import CHAT, COMPLETIONS, accepted, both, refused, still_serves, streamed, strict_json, whole
from serve.server import Server


def _text(server: Server, path: str, body: dict[str, Any]) -> str:
    return whole(server, path, body).choices[0].text


@on("odd", "param-logit-bias-oov", "param-logit-bias-non-numeric")
def _bias(server: Server, case: Case) -> None:
    for key, value in case.body["logit_bias"].items():
        for stream in (False, True):
            body = case.body | {"logit_bias": {key: value}, "stream": stream}
            refused(server, CHAT, body, "logit_bias", param="logit_bias", status=case.expected["status"])
    refused(server, CHAT, case.body, "logit_bias", param="logit_bias")
    still_serves(server)


@on("odd", "param-logprobs-no-top")
def _logprobs_alone(server: Server, case: Case) -> None:
    body = case.body | {"ignore_eos": True}
    document = accepted(server, CHAT, body).json()
    chunks = streamed(server, CHAT, body).raw
    entries = document["choices"][0]["logprobs"]["content"]
    assert len(entries) == document["usage"]["completion_tokens"] == 4
    for entry in entries:
        assert set(entry) == {"token", "logprob", "bytes", "top_logprobs"}
        assert isinstance(entry["token"], str)
        assert entry["logprob"] <= 0
        assert entry["bytes"] is None or all(0 <= byte < 256 for byte in entry["bytes"])
        assert entry["top_logprobs"] == []
    sent = [c["choices"][0].get("logprobs") for c in chunks]
    assert [entry for logprobs in sent if logprobs for entry in logprobs["content"]] == entries


@on("odd", "param-completions-logprobs-0")
def _logprobs_zero(server: Server, case: Case) -> None:
    document = accepted(server, COMPLETIONS, case.body).json()
    (choice,) = document["choices"]
    logprobs = choice["logprobs"]
    lengths = [len(logprobs[name]) for name in ("tokens", "token_logprobs", "text_offset")]
    assert lengths == [3, 3, 3]
    assert "".join(logprobs["tokens"]) == choice["text"]
    assert all(value <= 0 for value in logprobs["token_logprobs"])
    tops = logprobs["top_logprobs"]
    if tops is not None:
        assert len(tops) == 3
        for token, top in zip(logprobs["tokens"], tops, strict=True):
            assert set(top) <= {token}


@on("odd", "param-logprobs-inf")
def _infinite_logprobs(server: Server, case: Case) -> None:
    body = case.body | {"ignore_eos": True}
    document = strict_json(accepted(server, CHAT, body).text)
    for entry in document["choices"][0]["logprobs"]["content"]:
        # One token alone may be chosen: every other one is masked.
        assert entry["logprob"] == pytest.approx(0, abs=1e-3)
        for top in entry["top_logprobs"]:
            masked = top["token"] != entry["token"]
            assert top["logprob"] == (-9999.0 if masked else pytest.approx(0, abs=1e-3))
    frames = server.frames(CHAT, body)
    assert [strict_json(frame) for frame in frames[:-1]]
    one = {"prompt": "x", "max_tokens": 4, "logprobs": 5, "top_k": 1, "temperature": 1}
    values = strict_json(accepted(server, COMPLETIONS, one).text)["choices"][0]["logprobs"]["top_logprobs"]
    assert all(value == -9999.0 or value > -1 for top in values for value in top.values())


def memory_kib(server: Server) -> int:
    """Resident memory of the server and its engine."""
    total = 0
    for pid in (server.process.pid, server.engine_pid()):
        status = Path(f"/proc/{pid}/status").read_text()
        total += int(status.partition("VmRSS:")[2].split()[0])
    return total


@on("odd", "param-prompt-logprobs-cap")
def _prompt_logprobs(server: Server, case: Case) -> None:
    prompt = case.body["prompt"]
    before = memory_kib(server)
    for changes in ({}, *case.expected["variants"]):
        body = {"prompt": prompt, "max_tokens": 1} | (changes or {"prompt_logprobs": -1})
        refused(server, COMPLETIONS, body, param=next(name for name in body if name.endswith("logprobs")))
        # The value is at fault, whatever the prompt.
        refused(server, COMPLETIONS, body | {"prompt": "x"}, param=list(body)[-1])
    still_serves(server)
    assert memory_kib(server) - before < 64 * 1024


@on("odd", "param-seed-mixed-batch")
def _seed_in_company(server: Server, case: Case) -> None:
    (other,) = case.input["concurrent"]
    texts = set()
    for _ in range(4):
        with ThreadPoolExecutor(3) as pool:
            company = [pool.submit(_text, server, COMPLETIONS, other) for _ in range(2)]
            texts.add(_text(server, COMPLETIONS, case.body))
            for one in company:
                one.result()
    assert len(texts) == 1
    assert texts.pop() != _text(server, COMPLETIONS, case.body | {"seed": 43}), "the seed changes nothing"


@on("odd", "param-seed-same-concurrent")
def _seed_twice_at_once(server: Server, case: Case) -> None:
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: _text(server, COMPLETIONS, case.body), range(2))
    assert first == second
    pairs = [[choice.text for choice in whole(server, COMPLETIONS, case.body | {"n": 2}).choices] for _ in range(2)]
    assert pairs[0] == pairs[1]
    assert len({*pairs[0]}) == 2
    assert pairs[0][0] == first


@on("odd", "param-seed-huge")
def _seed_beyond_64_bits(server: Server, case: Case) -> None:
    for changes in ({}, *case.expected["variants"]):
        for stream in (False, True):
            refused(server, CHAT, case.body | changes | {"stream": stream}, "seed", param="seed")
    still_serves(server)
    for seed in (-1, 2**63 - 1, -(2**63), 0):
        body = case.body | {"seed": seed, "ignore_eos": True}
        assert _text(server, CHAT, body) == _text(server, CHAT, body)


# --- several end tokens ---


@on("odd", "param-min-tokens-all-eos")
def _min_tokens(server: Server, case: Case) -> None:
    body = case.body | {"temperature": 0}
    (free,) = whole(server, CHAT, body | {"min_tokens": 0}).choices
    assert (free.text, free.finish) == ("", "stop"), "this model ends at once, left to itself"
    answer = both(server, CHAT, body)
    (choice,) = answer.choices
    assert (choice.text, choice.finish) == ("aaa", "stop")
    assert answer.usage is not None
    assert answer.usage["completion_tokens"] >= case.expected["content_token_count_at_least"]
    # Stop tokens of the request's own are end tokens, too.
    (choice,) = whole(server, CHAT, body | {"stop_token_ids": [_id(server, "a")], "ignore_eos": True}).choices
    tokens = whole(server, CHAT, body | {"stop_token_ids": [_id(server, "a")], "ignore_eos": True}).usage
    assert tokens is not None
    assert "a" not in choice.text
    assert tokens["completion_tokens"] >= 3


def _id(server: Server, text: str) -> int:
    (token,) = server.post("/tokenize", {"prompt": text}).json()["tokens"]
    return int(token)


@on("odd", "param-ignore-eos-all")
def _ignore_eos(server: Server, case: Case) -> None:
    body = case.body | {"temperature": 0, "skip_special_tokens": False}
    answer = both(server, CHAT, body)
    (choice,) = answer.choices
    assert answer.usage is not None
    assert answer.usage["completion_tokens"] == case.expected["usage"]["completion_tokens"]
    assert choice.finish == case.expected["finish_reason"]
    ends = server.post("/detokenize", {"tokens": [SECOND_END, FIRST_END] * 3}).json()["prompt"]
    assert choice.text == ends, "the ends alternate"
    (choice,) = both(server, CHAT, body | {"stop_token_ids": [FIRST_END]}).choices
    assert (choice.finish, choice.stop_reason) == ("stop", FIRST_END)


# --- what is told of fields ---


@on("odd", "param-nulls")
def _nulls(server: Server, case: Case) -> None:
    nulls = case.body
    plain = {name: value for name, value in nulls.items() if value is not None}
    assert len(plain) < len(nulls) - 10
    with_nulls, without = accepted(server, CHAT, nulls), accepted(server, CHAT, plain)
    assert with_nulls.headers.get("overt-effects") == without.headers.get("overt-effects")
    # Where a text ends is left to chance here.
    assert with_nulls.json()["usage"]["prompt_tokens"] == without.json()["usage"]["prompt_tokens"]
    greedy = {"temperature": 0, "ignore_eos": True}
    assert both(server, CHAT, nulls | greedy).choices == both(server, CHAT, plain | greedy).choices
    legacy = dict.fromkeys(nulls, None) | {"prompt": "x", "max_tokens": 4, "seed": 1, "temperature": 0}
    legacy = {name: legacy[name] for name in legacy if name not in ("messages", "tools", "tool_choice")}
    plain = {name: value for name, value in legacy.items() if value is not None}
    assert _text(server, COMPLETIONS, legacy) == _text(server, COMPLETIONS, plain)


@on("odd", "param-unknown-fields")
def _unknown_fields(server: Server, case: Case) -> None:
    for stream in (False, True):
        answer = accepted(server, CHAT, case.body | {"stream": stream})
        assert '"made_up_field";e=inert' in answer.headers["overt-effects"]
    assert "made_up_field" not in accepted(server, CHAT, {"messages": case.body["messages"]}).headers.get(
        "overt-effects", ""
    )


@on("scripted", "param-tools-empty")
def _empty_tools(server: Server, case: Case) -> None:
    # The template of this server shows tools, and would show an empty list of them.
    plain = {"messages": case.body["messages"]}
    tools = [{"type": "function", "function": {"name": "x", "parameters": {"type": "object"}}}]
    extras: tuple[dict[str, Any], ...] = ({"tools": []}, {}, {"tools": tools})
    ids, absent, shown = (server.post("/tokenize", plain | extra).json()["tokens"] for extra in extras)
    assert ids == absent
    assert shown != absent
    usages = [whole(server, CHAT, body).usage for body in (case.body, plain | {"max_tokens": 4})]
    assert usages[0] == usages[1]
    assert both(server, CHAT, case.body).choices[0].text
    for changes in case.expected["variants_400"]:
        for stream in (False, True):
            refused(server, CHAT, case.body | changes | {"stream": stream}, param="tool_choice")


@on("odd", "param-required-empty-tools")
def _required_without_tools(server: Server, case: Case) -> None:
    for stream in (False, True):
        refused(server, CHAT, case.body | {"stream": stream}, *case.expected["message_contains"], param="tool_choice")
    still_serves(server)


@on("odd", "param-schema-unicode")
def _schema_of_other_scripts(server: Server, case: Case) -> None:
    for seed in range(3):
        (choice,) = both(server, CHAT, case.body | {"seed": seed, "temperature": 1}).choices
        assert choice.finish == "stop"
        ((name, schema),) = case.body["response_format"]["json_schema"]["schema"]["properties"].items()
        said = strict_json(choice.text)
        assert set(said) == {name}
        assert said[name] in schema["enum"]


# --- values that are no numbers, or too large ---


@on("odd", "param-nan-json")
def _not_a_number(server: Server, case: Case) -> None:
    for raw in (case.input["raw_body"], *case.expected["variants_raw"]):
        refused(server, CHAT, raw)
        refused(server, CHAT, raw[:-1] + ',"stream":true}')
    still_serves(server)


@on("odd", "param-extremes")
def _extremes(server: Server, case: Case) -> None:
    refused(server, CHAT, case.body)
    plain = {"messages": case.body["messages"], "max_tokens": 4}
    variants = (*case.expected["variants"], {"temperature": 999999.0}, {"top_p": -1.0})
    for changes in variants:
        (name,) = changes
        refused(server, CHAT, plain | changes, name, param=name)
    still_serves(server)
    for edge in ({"temperature": 2}, {"top_p": 1}, {"top_p": 1e-9}, {"presence_penalty": -2}, {"min_p": 1}):
        accepted(server, CHAT, plain | edge)


@on("odd", "param-top-k-int")
def _top_k(server: Server, case: Case) -> None:
    accepted(server, CHAT, case.body)
    for changes in case.expected["variants_400"]:
        refused(server, CHAT, case.body | changes, "top_k", param="top_k")
    still_serves(server)
    free = {"prompt": "Once", "max_tokens": 12, "temperature": 1, "seed": 3}
    everything = _text(server, COMPLETIONS, free)
    for off in (2**31 - 1, 2**40, 0, -1):
        assert _text(server, COMPLETIONS, free | {"top_k": off}) == everything
    assert _text(server, COMPLETIONS, free | {"top_k": 1}) != everything


@on("odd", "param-lone-surrogate")
def _lone_surrogate(server: Server, case: Case) -> None:
    for raw in (case.input["raw_body"], *case.expected["variants_raw"]):
        answer = server.client.post(CHAT, content=raw, headers={"content-type": "application/json"})
        told_as = (raw, answer.status_code, answer.text)
        assert answer.status_code in (200, 400), told_as
        if answer.status_code == 400:
            refused(server, CHAT, raw)
    pair = b'{"messages":[{"role":"user","content":"\\ud83d\\ude00"}],"max_tokens":2}'
    answer = server.client.post(CHAT, content=pair, headers={"content-type": "application/json"})
    assert answer.status_code == 200
    plain = {"messages": [{"role": "user", "content": "\U0001f600"}], "max_tokens": 2}
    assert answer.json()["usage"]["prompt_tokens"] == accepted(server, CHAT, plain).json()["usage"]["prompt_tokens"]
    still_serves(server)


# --- penalties ---


def _logits(server: Server, body: dict[str, Any]) -> list[tuple[list[str], dict[str, float]]]:
    """Of each choice its tokens, and the log probabilities of its last token and that token's alternatives."""
    choices = accepted(server, COMPLETIONS, body).json()["choices"]
    return [(choice["logprobs"]["tokens"], choice["logprobs"]["top_logprobs"][-1]) for choice in choices]


@on("odd", "param-penalties-output-only")
def _penalties(server: Server, case: Case) -> None:
    five, nine = (server.post("/detokenize", {"tokens": [token]}).json()["prompt"] for token in (5, 9))
    body = case.body | {"prompt": [5, 5, 5, 7]}
    ((tokens, _),) = _logits(server, body)
    assert tokens == [five], "the prompt's tokens were penalised"
    # The difference of two log probabilities is that of their logits, which the case gives.
    ((_, tops),) = _logits(server, body | {"temperature": 1, "seed": 1})
    assert tops[five] - tops[nine] == pytest.approx(3.0 - 2.5, abs=1e-2)
    variant = body | case.expected["variant_repetition_penalty"]["request"]
    ((tokens, _),) = _logits(server, variant)
    assert tokens == [nine]
    ((_, tops),) = _logits(server, variant | {"temperature": 1, "seed": 1})
    assert tops[five] - tops[nine] == pytest.approx(1.5 - 2.5, abs=1e-2)
    # After 9, 9: of many samples some begin so.
    output = case.expected["variant_output"]
    penalties = {name: output[name] for name in ("presence_penalty", "frequency_penalty")}
    sampled = body | penalties | {"temperature": 1, "seed": 1, "n": 64, "max_tokens": 3}
    found = [tops for tokens, tops in _logits(server, sampled) if tokens[:2] == [nine, nine]]
    assert found, "none of the samples began with the same token twice"
    for tops in found:
        assert tops[five] - tops[nine] == pytest.approx(3.0 - 1.5, abs=1e-2)


# --- the context, schemas, counts ---


@on("odd", "param-context-overflow")
def _context(server: Server, case: Case) -> None:
    limit = case.input["server"]["max_model_len"]
    card = server.client.get("/v1/models").json()["data"][0]
    assert card["max_model_len"] == limit
    # The contract clamps by default, and refuses as OpenAI does under its profile.
    body = {"prompt": [70] * 8, "max_tokens": 2045, "seed": 1}
    cut = accepted(server, COMPLETIONS, body | {"stop": ["a", "b", "c", "d", "e"]})
    assert f'"max_tokens";e=adapted;applied={limit - 8}' in cut.headers["overt-effects"]
    named = body | {"model": card["id"]}
    for profile in ("openai", "sglang"):
        for stream in (False, True):
            answer = server.client.post(
                COMPLETIONS, json=named | {"stream": stream}, headers={"overt-profile": profile}
            )
            assert answer.status_code == case.expected["status"], (profile, answer.text)
            error = answer.json().get("error", answer.json())
            assert all(number in error["message"] for number in case.expected["message_contains"]), error
            assert error["code"] in case.expected["error_code_any_of"], error
    for variant in case.expected["variants"]:
        asked = {"prompt": [70] * variant["prompt_tokens"], "max_tokens": variant["max_tokens"], "ignore_eos": True}
        for stream in (False, True):
            if variant["status"] == 400:
                refused(server, COMPLETIONS, asked | {"stream": stream}, "2048", param="prompt")
                continue
            accepted(server, COMPLETIONS, asked | {"stream": stream})
        if variant["status"] == 200:
            made = both(server, COMPLETIONS, asked | {"seed": 1})
            assert made.usage is not None
            assert made.usage["completion_tokens"] == 8
            assert made.choices[0].finish == "length"


@on("odd", "param-schema-recursive-ref")
def _recursive_schema(server: Server, case: Case) -> None:
    for stream in (False, True):
        body = case.body | {"stream": stream}
        answer = server.post(CHAT, body)
        assert answer.status_code in (200, 400), answer.text
        if answer.status_code == 400:
            refused(server, CHAT, body, "response_format", param="response_format")
        elif not stream:
            (choice,) = answer.json()["choices"]
            # The model is made up: nothing makes it come to an end.
            assert choice["finish_reason"] in ("stop", "length")
            assert choice["message"]["content"].startswith("{")
    closers = server.post("/tokenize", {"prompt": "]}", "add_special_tokens": False}).json()["tokens"]
    closing = case.body | {"temperature": 0, "logit_bias": {str(id_): 100 for id_ in closers}}
    (choice,) = server.post(CHAT, closing).json()["choices"]
    assert choice["finish_reason"] == "stop"
    schema = case.body["response_format"]["json_schema"]["schema"]
    jsonschema.validate(json.loads(choice["message"]["content"]), schema)
    itself = case.body
    itself["response_format"]["json_schema"]["schema"] = case.expected["variant_400"]["schema"]
    refused(server, CHAT, itself, "response_format", param="response_format")
    still_serves(server)


@on("odd", "param-regex-alternation-empty")
def _empty_alternative(server: Server, case: Case) -> None:
    for body in (case.expected["before"], case.body):
        for stream in (False, True):
            answer = server.post(CHAT, body | {"stream": stream})
            assert answer.status_code in (200, 400), answer.text
            if answer.status_code == 400:
                refused(server, CHAT, body | {"stream": stream}, "structured_outputs", param="structured_outputs")
            still_serves(server)


@on("scripted", "param-max-tokens-1")
def _max_tokens_one(server: Server, case: Case) -> None:
    wanted = [{"max_tokens": 1} | case.expected["usage"], *case.expected["variants"]]
    for variant in wanted:
        for cut in ("as_given", "per_char"):
            answer = both(server, CHAT, told(case, cut) | {"max_tokens": variant["max_tokens"]})
            assert answer.usage is not None
            assert answer.usage["completion_tokens"] == variant["completion_tokens"]
            assert answer.choices[0].finish == case.expected["finish_reason"]
            assert answer.choices[0].text == "abcdef"[: variant["max_tokens"]]
