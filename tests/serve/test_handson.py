"""A tour of the API by hand: the commands that a reader of its documentation types, and the questions after them.

The commands run in a shell as they are written, but for the port and the model's name, against a server with
`--profile vllm`. Where an older vLLM than that profile's did otherwise, the test's text says so.
"""

import json
import os
import shutil
import signal
import subprocess
import threading
import warnings
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from serve.profile_ask import (
    CHAT,
    COMPLETIONS,
    MODEL,
    PROFILES,
    documents_of,
    error_of,
    members,
    real,
    said,
    scripted,
    told,
)
from serve.schema import SPEC
from serve.server import Server, serving

ROUTES = r"""
curl -s localhost:8000/openapi.json | python3 -c \
'import json,sys; [print(m.upper(), p) for p,v in sorted(json.load(sys.stdin)["paths"].items()) for m in v]'
"""
IGNORED = r"""
curl -s localhost:8000/v1/completions -H 'content-type: application/json' \
-d '{"model":"M","prompt":"hi","max_tokens":5,"seed":1,"user":"alice","suffix":"XYZ"}' | jq .choices[0].text
"""
CLAMPED = r"""
curl -s localhost:8000/v1/chat/completions -H 'content-type: application/json' \
-d '{"model":"M","messages":[{"role":"user","content":"count to 500"}],"max_tokens":999999}' \
| jq '.choices[0].finish_reason, .usage'
"""
GREEDY = r"""
curl -s -o /dev/null -w '%{http_code}\n' localhost:8000/v1/chat/completions \
-H 'content-type: application/json' \
-d '{"model":"M","messages":[{"role":"user","content":"hi"}],"n":4,"temperature":0}'
"""
RENDERED = r"""
curl -s localhost:8000/v1/chat/completions/render -H 'content-type: application/json' \
-d '{"model":"M","messages":[{"role":"user","content":"hi"}],"return_prompt_text":true}'
"""
FRAMES = r"""
curl -sN localhost:8000/v1/chat/completions -H 'content-type: application/json' \
-d '{"model":"M","messages":[{"role":"user","content":"hi"}],"stream":true,
"stream_options":{"include_usage":true}}'
"""

_CHOICE = 'import json,sys; d=json.load(sys.stdin); c=(d.get("choices") or [{}])[0]; '
_WITHOUT_JQ = {
    "jq .choices[0].text": f"python3 -c '{_CHOICE}print(json.dumps(c.get(\"text\")))'",
    "jq '.choices[0].finish_reason, .usage'": f"python3 -c '{_CHOICE}"
    'print(json.dumps(c.get("finish_reason")), json.dumps(d.get("usage")))\'',
}


def shell(server: Server, command: str) -> str:
    """What a command prints."""
    command = command.strip().replace("localhost:8000", f"localhost:{server.port}").replace('"M"', f'"{MODEL}"')
    if shutil.which("jq") is None:
        for written, instead in _WITHOUT_JQ.items():
            if written in command:
                warnings.warn("jq is not installed: python3 takes its place", stacklevel=2)
                command = command.replace(written, instead)
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def with_headers(server: Server, command: str, folder: Path) -> tuple[str, dict[str, Any]]:
    """The same, and what `overt-effects` told."""
    file = folder / "headers"
    printed = shell(server, command.replace("curl -s", f"curl -D {file} -s", 1))
    lines = [line.partition(": ") for line in file.read_text().splitlines()[1:] if line]
    return printed, told(httpx.Response(200, headers=[(name, value) for name, _, value in lines]))


def values(printed: str) -> list[Any]:
    """JSON values, one behind the other."""
    decoder, found = json.JSONDecoder(), []
    while printed := printed.strip():
        value, end = decoder.raw_decode(printed)
        found.append(value)
        printed = printed[end:]
    return found


@pytest.fixture
def vllm(request: pytest.FixtureRequest) -> Server:
    """The demo model with `--profile vllm`."""
    return real(request.config, "vllm")


@pytest.fixture
def overt(request: pytest.FixtureRequest) -> Server:
    """Scripted answers with the profile overt."""
    return scripted(request.config)


# --- commands ---


def test_1_the_routes_that_are_mounted(vllm: Server) -> None:
    lines = shell(vllm, ROUTES).splitlines()
    for route in (f"POST {CHAT}", f"POST {COMPLETIONS}", "GET /v1/models", "POST /tokenize", "GET /health"):
        assert route in lines
    for line in lines:
        method, path = line.split(" ")
        if "{" not in path and path not in ("/health_generate", "/v1/embeddings"):
            # What takes a body wants another one.
            answer = vllm.client.request(method, path, content=b"")
            assert answer.status_code in (200, 400), (line, answer.text)


def test_2_fields_that_were_ignored(vllm: Server) -> None:
    """An older vLLM ignored `user` and `suffix`. Now a suffix is a 400 where the vocabulary cannot fill gaps, and
    `user` keys the fair share, which changes no text."""
    assert values(shell(vllm, IGNORED)) == [None]
    (body,) = values(shell(vllm, IGNORED.partition("| jq")[0]))
    assert members(body, "vllm", 400)["param"] == "suffix"
    without = IGNORED.replace(',"suffix":"XYZ"', "")
    (text,) = values(shell(vllm, without))
    assert isinstance(text, str)
    assert text
    assert values(shell(vllm, without.replace(',"user":"alice"', ""))) == [text]


def test_2_tells_under_overt(overt: Server, tmp_path: Path) -> None:
    """There a vocabulary that has the tokens fills the gap; where it is ignored, it is told."""
    printed, effects = with_headers(overt, IGNORED, tmp_path)
    assert (values(printed), effects) == (["One two three One two "], {})
    ignored = IGNORED.replace("-d ", "-H 'overt-profile: sglang' -d ")
    assert with_headers(overt, ignored, tmp_path)[1] == {"suffix": "inert"}


def test_3_more_than_fits(vllm: Server) -> None:
    """An older vLLM clamped whatever was asked to the rest of the context: 200 and `length`. Now more than the whole
    context is a 400."""
    assert values(shell(vllm, CLAMPED)) == [None, None]
    (body,) = values(shell(vllm, CLAMPED.partition("| jq")[0].replace("\\\n", " ")))
    error = members(body, "vllm", 400)
    assert error["param"] == "max_tokens"
    assert "999999" in error["message"]


def test_3_tells_under_overt(overt: Server, tmp_path: Path) -> None:
    """There the clamp stays, and is told."""
    printed, effects = with_headers(overt, CLAMPED, tmp_path)
    finish, usage = values(printed)
    assert finish == "length"
    assert effects == {"max_tokens": ("adapted", usage["completion_tokens"])}
    assert usage["total_tokens"] == overt.client.get("/v1/models").json()["data"][0]["max_model_len"]


def test_4_many_greedy_choices(vllm: Server, overt: Server, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    assert shell(vllm, GREEDY) == "400\n"
    assert shell(scripted(request.config, "sglang"), GREEDY) == "200\n"
    assert with_headers(overt, GREEDY, tmp_path) == ("200\n", {"n": ("adapted", 1)})


def test_5_the_prompt_that_the_model_sees(vllm: Server) -> None:
    (body,) = values(shell(vllm, RENDERED))
    assert "hi" in body["prompt_text"]


@pytest.mark.parametrize("name", ["vllm", "overt"])
def test_6_the_frames(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    printed, effects = with_headers(request.getfixturevalue(name), FRAMES, tmp_path)
    assert effects == {}
    frames = printed.split("\n\n")
    assert frames.pop() == ""
    assert all(frame.startswith("data: ") and "\n" not in frame for frame in frames)
    assert frames.pop() == "data: [DONE]"
    first, *tokens, end, usage = [json.loads(frame.removeprefix("data: ")) for frame in frames]
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(frame["choices"][0]["delta"]["content"] for frame in tokens)
    assert all(frame["choices"][0]["finish_reason"] is None for frame in [first, *tokens])
    assert end["choices"][0]["finish_reason"] in ("stop", "length")
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] > 0
    assert all(frame["usage"] is None for frame in [first, *tokens, end])


# --- questions ---

_ASKED: dict[str, Any] = {"model": MODEL, "messages": said("hi"), "max_tokens": 2}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_variable_that_the_template_does_not_have(profile: str, overt: Server) -> None:
    """`enable_thinking` where the template declares `thinking`: 200, the prompt stays as it is, and it is told with
    the name that was probably meant."""
    headers = {"overt-profile": profile}

    def asked(**kwargs: Any) -> httpx.Response:
        body = _ASKED | {"return_token_ids": True, "chat_template_kwargs": kwargs, "overt": {"report": True}}
        return overt.client.post(CHAT, json=body, headers=headers)

    plain, other, meant = asked(), asked(enable_thinking=False), asked(thinking=True)
    assert [answer.status_code for answer in (plain, other, meant)] == [200, 200, 200]
    assert other.json()["prompt_token_ids"] == plain.json()["prompt_token_ids"] != meant.json()["prompt_token_ids"]
    name = "chat_template_kwargs.enable_thinking"
    assert told(other) == {name: "inert"}
    assert 'nearest="chat_template_kwargs.thinking"' in other.headers["overt-effects"]
    (effect,) = other.json()["overt"]["effects"]
    assert (effect["field"], effect["effect"], effect["requested"]) == (name, "inert", False)
    assert "`thinking`" in effect["reason"]
    assert told(plain) == told(meant) == {}
    # What the server's operator alone decides is refused, under any profile.
    assert error_of(asked(chat_template="x"), profile)["param"] == "chat_template_kwargs.chat_template"


def test_the_engine_dies_after_40_tokens(tmp_path: Path) -> None:
    """Every client has its 200 by then. What comes is an error frame in its profile's shape and [DONE], no finish;
    the SDK raises."""
    (tmp_path / "script.json").write_text(
        json.dumps({"answers": [{"pieces": ["so ", "it "], "end": "repeat"}], "step_ms": 10})
    )
    ready = threading.Barrier(len(PROFILES) + 2)
    statuses: dict[str, int] = {}
    lines: dict[str, list[str]] = {profile: [] for profile in PROFILES}
    raised: list[openai.APIError] = []
    body = _ASKED | {"stream": True, "max_tokens": 4000}

    def stream(server: Server, profile: str) -> None:
        with httpx.stream(
            "POST", f"{server.url}{CHAT}", json=body, headers={"overt-profile": profile}, timeout=60
        ) as response:
            statuses[profile] = response.status_code
            for line in response.iter_lines():
                if line.startswith("data: "):
                    lines[profile].append(line.removeprefix("data: "))
                    if len(lines[profile]) == 41:
                        ready.wait(60)

    def sdk(server: Server) -> None:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
        chunks = client.chat.completions.create(model=MODEL, messages=said("hi"), max_tokens=4000, stream=True)  # type: ignore[arg-type]
        try:
            for number, _ in enumerate(chunks):
                if number == 40:
                    ready.wait(60)
        except openai.APIError as error:
            raised.append(error)

    flags = ("--model-runner", "script", "--script", str(tmp_path / "script.json"), "--served-model-name", MODEL)
    with serving("demo", *flags) as server:
        threads = [threading.Thread(target=stream, args=(server, profile)) for profile in PROFILES]
        threads.append(threading.Thread(target=sdk, args=(server,)))
        for thread in threads:
            thread.start()
        ready.wait(60)
        os.kill(server.engine_pid(), signal.SIGKILL)
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive(), "a stream hangs"
    assert statuses == dict.fromkeys(PROFILES, 200)
    for profile in PROFILES:
        *chunks, error, done = lines[profile]
        assert done == "[DONE]"
        assert len(chunks) > 40
        assert all(json.loads(chunk)["choices"][0]["finish_reason"] is None for chunk in chunks)
        frame = json.loads(error)
        # In streams SGLang's object stands in an envelope, too.
        told_of = members(frame["error"] if profile == "sglang" else frame, profile, None)
        assert profile in ("overt", "openai") or told_of["code"] >= 500
    (one,) = raised
    assert not isinstance(one, openai.APIConnectionError)
    assert one.message


# --- every field of OpenAI's is consumed or reported ---

_TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
SAMPLES: dict[str, Any] = {
    "messages": said("hi"),
    "model": MODEL,
    "metadata": {"ticket": "1"},
    "top_logprobs": 2,
    "temperature": 0.5,
    "top_p": 0.5,
    "user": "someone",
    "safety_identifier": "someone",
    "prompt_cache_key": "k",
    "prompt_cache_retention": "24h",
    "prompt_cache_options": {"ttl": "30m"},
    "service_tier": "priority",
    "modalities": ["text", "audio"],
    "verbosity": "low",
    "reasoning_effort": "low",
    "max_completion_tokens": 2,
    "frequency_penalty": 0.5,
    "presence_penalty": 0.5,
    "web_search_options": {},
    "response_format": {"type": "json_object"},
    "audio": {"voice": "alloy", "format": "wav"},
    "store": True,
    "moderation": {"model": "omni-moderation-latest"},
    "stream": True,
    "stop": ["three"],
    "logit_bias": {"70": 5},
    "logprobs": True,
    "max_tokens": 2,
    "n": 2,
    "prediction": {"type": "content", "content": "One"},
    "seed": 1,
    "stream_options": {"include_usage": True},
    "tools": [_TOOL],
    "tool_choice": "none",
    "parallel_tool_calls": False,
    "function_call": "auto",
    "functions": [_TOOL["function"]],
}
"""A value of each that is not its default."""

NEEDS: dict[str, dict[str, Any]] = {
    "top_logprobs": {"logprobs": True},
    "stream_options": {"stream": True},
    "tool_choice": {"tools": [_TOOL]},
    "parallel_tool_calls": {"tools": [_TOOL]},
}


@pytest.mark.skipif(not SPEC.exists(), reason=f"OpenAI's schema is not at {SPEC}")
def test_there_is_a_sample_of_each_field() -> None:
    schemas = json.loads(SPEC.read_text())["components"]["schemas"]

    def fields(schema: dict[str, Any]) -> set[str]:
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rpartition("/")[2]]
        return set(schema.get("properties", ())).union(*map(fields, schema.get("allOf", ())))

    assert fields(schemas["CreateChatCompletionRequest"]) == set(SAMPLES)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_field_is_consumed_or_reported(profile: str, overt: Server) -> None:
    """A field is refused by its name, or told as adapted or inert, or is honoured: then a strict request with it is
    served, and what it cannot be is refused."""
    declared = {
        row["name"]: row["effect"]
        for row in overt.client.get("/v1/capabilities").json()["fields"]
        if "chat" in row["routes"]
    }
    headers, found = {"overt-profile": profile}, {}

    def asked(**fields: Any) -> httpx.Response:
        return overt.client.post(CHAT, json=_ASKED | {"temperature": 1} | fields, headers=headers)

    for name, value in SAMPLES.items():
        fields = NEEDS.get(name, {}) | {name: value}
        answer = asked(**fields)
        if answer.status_code != 200:
            assert answer.status_code == 400, (name, answer.text)
            assert error_of(answer, profile)["param"] == name, answer.text
            found[name] = "refused"
        elif effects := told(answer):
            assert set(effects) == {name}, effects
            found[name] = "reported"
        else:
            assert documents_of(answer)
            assert asked(**fields, overt={"strict": True}).status_code == 200, name
            wrong = asked(**fields | {name: 5 if isinstance(value, (str, list, dict, bool)) else "five"})
            assert wrong.status_code in (400, 404), (name, wrong.text)
            assert error_of(wrong, profile)["param"] == name, wrong.text
            assert declared[name] in ("honoured", "adapted"), name
            found[name] = "honoured"
    assert set(found.values()) == {"honoured", "reported", "refused"}
    assert all(declared[name] == "refused" for name, outcome in found.items() if outcome == "refused")
