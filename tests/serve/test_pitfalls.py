"""What differs from OpenAI's API when clients move to vLLM or SGLang, row by row, on servers with their profiles.

Where an older vLLM did otherwise than the one that the profile is, the test's text says so.
"""

from typing import Any

import pytest

from serve.profile_ask import (
    CHAT,
    COMPLETIONS,
    CONTEXT,
    MODEL,
    PROFILES,
    Case,
    Want,
    at,
    documents_of,
    error_of,
    real,
    said,
    scripted,
    texts_of,
    told,
)
from serve.profile_ask import body_of as _body_of
from serve.server import Server

Answer = tuple[dict[str, Any], dict[str, Any]]
"""The body, and what was told of its fields."""


@pytest.fixture
def vllm(request: pytest.FixtureRequest) -> Server:
    """The demo model with `--profile vllm`."""
    return real(request.config, "vllm")


@pytest.fixture
def sglang(request: pytest.FixtureRequest) -> Server:
    """Scripted answers with `--profile sglang`: most of its rows are decided before a model is asked."""
    return scripted(request.config, "sglang")


@pytest.fixture(params=["vllm", "sglang"])
def either(request: pytest.FixtureRequest) -> tuple[str, Server]:
    """Each of them, with the profile's name."""
    server: Server = request.getfixturevalue(request.param)
    return request.param, server


def body(path: str, **fields: Any) -> dict[str, Any]:
    return _body_of(Case(fields, {profile: Want() for profile in PROFILES}, path))


def accepted(server: Server, path: str = CHAT, **fields: Any) -> Answer:
    answer = server.post(path, body(path, **fields))
    assert answer.status_code == 200, answer.text
    return documents_of(answer)[0], told(answer)


def refused(server: Server, profile: str, path: str = CHAT, status: int = 400, **fields: Any) -> dict[str, Any]:
    answer = server.post(path, body(path, **fields))
    assert answer.status_code == status, answer.text
    return error_of(answer, profile)


def text(server: Server, path: str = CHAT, **fields: Any) -> str:
    return texts_of([accepted(server, path, **fields)[0]])[0]


LONG: dict[str, Any] = {"messages": said("one " * 85), "ignore_eos": True}


def test_max_tokens_overflow_under_vllm(vllm: Server) -> None:
    """Clamped to what the prompt leaves, with 200 and `length`. An older vLLM did so whatever was asked, in silence:
    now it is told, and more than the whole context is a 400."""
    document, effects = accepted(vllm, **LONG, max_tokens=100)
    made = document["usage"]["completion_tokens"]
    assert document["choices"][0]["finish_reason"] == "length"
    assert document["usage"]["total_tokens"] == CONTEXT
    assert effects == {"max_tokens": ("adapted", made)}
    error = refused(vllm, "vllm", **LONG, max_tokens=CONTEXT + 1)
    assert error["param"] == "max_tokens"
    assert str(CONTEXT + 1) in error["message"]


def test_max_tokens_overflow_under_sglang(sglang: Server) -> None:
    """400 with a message that names both counts."""
    prompt = accepted(sglang, **LONG, max_tokens=1)[0]["usage"]["prompt_tokens"]
    error = refused(sglang, "sglang", **LONG, max_tokens=100)
    assert str(prompt) in error["message"]
    assert "100" in error["message"]


CUT: dict[str, Any] = {"top_p": 0.3, "top_k": 5, "min_p": 0.1, "seed": 2}


def test_temperature_zero_under_vllm(vllm: Server) -> None:
    """The greedy path, whatever top_p, top_k and min_p say."""
    greedy = text(vllm, max_tokens=4)
    assert text(vllm, max_tokens=4, **CUT) == greedy
    assert text(vllm, max_tokens=4, **CUT | {"seed": 3}) == greedy


def test_temperature_zero_under_sglang(request: pytest.FixtureRequest) -> None:
    """As temperature 1 with top_k 1."""
    server, headers = real(request.config, "overt"), {"overt-profile": "sglang"}
    bodies = [body(CHAT, max_tokens=4, **cut) for cut in (CUT, {"temperature": 1, "top_k": 1})]
    first, second = [server.client.post(CHAT, json=sent, headers=headers) for sent in bodies]
    assert texts_of(documents_of(first)) == texts_of(documents_of(second))
    assert told(first) == told(second) == {}


def test_temperatures_near_zero(vllm: Server, sglang: Server) -> None:
    """vLLM raises them to 0.01, which is told; SGLang leaves them."""
    assert accepted(vllm, temperature=0.005)[1] == {"temperature": ("adapted", 0.01)}
    assert accepted(sglang, temperature=0.005)[1] == {}
    assert accepted(vllm, temperature=0.01)[1] == accepted(vllm, temperature=0)[1] == {}


def test_many_choices_at_temperature_zero(vllm: Server, sglang: Server) -> None:
    """400 under vLLM; as many choices with one text under SGLang."""
    error = refused(vllm, "vllm", n=2, temperature=0)
    assert error["param"] == "n"
    assert "1" in error["message"]
    document, effects = accepted(sglang, n=3, temperature=0)
    assert len(document["choices"]) == 3
    assert len(set(texts_of([document]).values())) == 1
    assert effects == {}


def test_log_probabilities(either: tuple[str, Server]) -> None:
    """On chat a boolean and `top_logprobs`, on completions a number; the other's kind is refused."""
    profile, server = either
    document, effects = accepted(server, logprobs=True, top_logprobs=2)
    assert len(at(document, "choices.0.logprobs.content.0.top_logprobs")) == 2
    assert effects == {}
    assert at(accepted(server, logprobs=True)[0], "choices.0.logprobs.content.0.top_logprobs") == []
    document, _ = accepted(server, COMPLETIONS, logprobs=2)
    assert len(at(document, "choices.0.logprobs.top_logprobs.0")) >= 2
    assert refused(server, profile, logprobs=2)["param"] == "logprobs"
    assert refused(server, profile, COMPLETIONS, logprobs=True)["param"] == "logprobs"


def test_top_logprobs_alone(vllm: Server, sglang: Server) -> None:
    """400 under vLLM; under SGLang nothing comes of it, which is told."""
    assert refused(vllm, "vllm", top_logprobs=2)["param"] == "top_logprobs"
    document, effects = accepted(sglang, top_logprobs=2)
    assert document["choices"][0]["logprobs"] is None
    assert effects == {"top_logprobs": "inert"}
    assert accepted(sglang, top_logprobs=None)[1] == {}


def test_max_completion_tokens_wins(either: tuple[str, Server]) -> None:
    """And errors name the one that won."""
    profile, server = either
    document, effects = accepted(server, max_completion_tokens=2, max_tokens=5, ignore_eos=True)
    assert document["usage"]["completion_tokens"] == 2
    assert effects == {"max_tokens": "inert"}
    error = refused(server, profile, **LONG, max_completion_tokens=CONTEXT + 1, max_tokens=1)
    assert error["param"] == "max_completion_tokens"
    assert "`max_completion_tokens`" in error["message"]
    assert refused(server, profile, **LONG, max_tokens=CONTEXT + 1)["param"] == "max_tokens"


def test_unknown_model(vllm: Server, sglang: Server) -> None:
    """404 that names it under vLLM; accepted under SGLang, where a colon begins an adapter, and none is loaded."""
    error = refused(vllm, "vllm", status=404, model="X")
    assert error["param"] == "model"
    assert "`X`" in error["message"]
    assert accepted(sglang, model="X")[1] == {"model": ("adapted", MODEL)}
    error = refused(sglang, "sglang", model="X:style")
    assert error["param"] == "model"
    assert "`style`" in error["message"]


@pytest.mark.parametrize("profile", PROFILES)
def test_user_is_read(profile: str, request: pytest.FixtureRequest) -> None:
    """Both servers accept it and ignore it. Here it keys the fair share: it is honoured, and what is no text is
    refused."""
    server = real(request.config, "overt")
    for path in (CHAT, COMPLETIONS):
        sent = body(path, user="alice", overt={"strict": True})
        answer = server.client.post(path, json=sent, headers={"overt-profile": profile})
        assert answer.status_code == 200, answer.text
        assert told(answer) == {}
        answer = server.client.post(path, json=sent | {"user": 5}, headers={"overt-profile": profile})
        assert error_of(answer, profile)["param"] == "user"


def test_suffix(vllm: Server, sglang: Server) -> None:
    """An older vLLM accepted and ignored it; now it fills a gap where the vocabulary can, and is a 400 elsewhere.
    SGLang has no such field: nothing comes of it, which is told."""
    error = refused(vllm, "vllm", COMPLETIONS, suffix="XYZ")
    assert error["param"] == "suffix"
    document, effects = accepted(sglang, COMPLETIONS, suffix="XYZ")
    assert effects == {"suffix": "inert"}
    assert texts_of([document])[0] == text(sglang, COMPLETIONS)


def test_stream_options_without_stream(vllm: Server, sglang: Server) -> None:
    """400 under vLLM; under SGLang nothing comes of it, which is told."""
    options: dict[str, Any] = {"stream_options": {"include_usage": True}}
    for path in (CHAT, COMPLETIONS):
        assert refused(vllm, "vllm", path, **options)["param"] == "stream_options"
        assert accepted(sglang, path, **options)[1] == {"stream_options": "inert"}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_seed_gives_one_text(profile: str, request: pytest.FixtureRequest) -> None:
    """Neither server promises it. Here it holds under every profile, with -1 as well, which vLLM takes for none."""
    server = real(request.config, "overt")
    headers = {"overt-profile": profile}
    asked = {"max_tokens": 4, "temperature": 1.5, "top_k": -1, "ignore_eos": True}

    def said_with(seed: int) -> str:
        answer = server.client.post(COMPLETIONS, json=body(COMPLETIONS, seed=seed, **asked), headers=headers)
        assert answer.status_code == 200, answer.text
        assert told(answer) == {}
        return texts_of(documents_of(answer))[0]

    first = said_with(11)
    assert said_with(11) == first
    assert said_with(12) != first
    assert said_with(-1) == said_with(-1)


def test_stop_strings_are_cut_off(either: tuple[str, Server]) -> None:
    """By default under both; two inverted switches keep them."""
    profile, server = either
    stop, pattern = ("5", "[5-9]") if profile == "vllm" else ("two", "t[vwx]o")
    asked: dict[str, Any] = {"max_tokens": 6, "stop": [stop]}
    cut = text(server, COMPLETIONS, **asked)
    assert cut
    assert stop not in cut
    for keep in ("include_stop_str_in_output", "no_stop_trim"):
        assert text(server, COMPLETIONS, **asked, **{keep: True}) == f"{cut}{stop}"
        assert text(server, COMPLETIONS, **asked, **{keep: False}) == cut
    assert text(server, COMPLETIONS, max_tokens=6, stop_regex=[pattern]) == cut


def test_health_and_metrics_are_there(either: tuple[str, Server]) -> None:
    """Under both profiles: neither needs a flag, and the deep probe is a route of its own."""
    _, server = either
    for path in ("/health", "/health_generate", "/metrics"):
        assert server.client.get(path).status_code == 200
