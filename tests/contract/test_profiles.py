"""Where servers differ: each row of the table, held against what is made of requests."""

from dataclasses import replace
from typing import Any

import pytest

from contract.ask import BASE, DEPLOYMENT, ask, refused, told
from overt.contract.deployment import Deployment
from overt.contract.errors import ApiError
from overt.contract.params import GenerationParams
from overt.contract.profiles import NAMES, OVERT, PROFILES, ROWS, Profile

TOOLS: dict[str, Any] = {"tools": [{"type": "function", "function": {"name": "f"}}]}
LAST = {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}


def under(profile: str, route: Any, deployment: Deployment = DEPLOYMENT, /, **fields: Any) -> Any:
    """Parameters and told effects, or the error."""
    try:
        params, effects = ask(route, fields, deployment, overt_profile=profile)
    except ApiError as error:
        return error
    return params, told(effects)


def error(profile: str, route: Any, /, **fields: Any) -> ApiError:
    answer = under(profile, route, **fields)
    assert isinstance(answer, ApiError), f"{profile} answers {fields}"
    assert answer.status == 400
    return answer


def params(profile: str, route: Any, deployment: Deployment = DEPLOYMENT, /, **fields: Any) -> GenerationParams:
    answer = under(profile, route, deployment, **fields)
    assert not isinstance(answer, ApiError), answer
    return answer[0]


def test_the_table_is_whole() -> None:
    members = set(Profile.__dataclass_fields__) - {"name"}
    assert members <= set(ROWS)
    constant = {name for name in ROWS if all(getattr(ROWS[name], other) is None for other in NAMES[1:])}
    # What no profile changes needs no member.
    assert set(ROWS) - members <= constant | {"request_id_header"}
    for name, row in ROWS.items():
        for profile in NAMES:
            assert isinstance(row.text(profile), str), name
        assert row.text("overt"), name
        assert row.cell("openai") == (row.overt if row.openai is None else row.openai)


def test_an_unknown_profile_is_refused_by_name() -> None:
    caught = refused("chat", {}, overt_profile="llama")
    assert (caught.status, caught.param) == (400, "overt-profile")
    assert all(f"`{name}`" in caught.message for name in NAMES)
    assert ask("chat", {}, overt_profile=" vLLM ")[0].error_shape == "vllm"


def test_the_operator_s_profile_holds_where_the_request_names_none() -> None:
    deployment = replace(DEPLOYMENT, default_profile="sglang")
    assert ask("chat", {}, deployment)[0].error_shape == "sglang"
    assert deployment.error_shape == "sglang"
    assert ask("chat", {}, deployment, overt_profile="overt")[0].error_shape == "openai"


@pytest.mark.parametrize(
    ("member", "values"),
    [
        ("overflow", ("clamp", "refuse", "clamp_within", "refuse")),
        ("error_shape", ("openai", "openai", "vllm", "sglang")),
        ("reasoning_field", ("both", "none", "reasoning", "reasoning_content")),
        ("stop_field", ("stop_reason", "none", "stop_reason", "matched_stop")),
        ("cached_tokens", (True, True, False, True)),
        ("empty_content", (False, False, False, True)),
        ("tell_ends", (False, False, True, False)),
    ],
)
def test_what_the_core_is_told(member: str, values: tuple[Any, ...]) -> None:
    assert tuple(getattr(params(name, "chat"), member) for name in NAMES) == values


def test_temperature() -> None:
    assert params("vllm", "chat", temperature=0.001).temperature == 0.01
    assert under("vllm", "chat", temperature=0.001)[1] == [("temperature", "adapted", 0.01)]
    assert under("vllm", "chat", temperature=0)[1] == []
    assert params("overt", "chat", temperature=0.001).temperature == 0.001
    for name in ("overt", "openai", "vllm"):
        assert error(name, "chat", temperature=2.1).param == "temperature"
    assert params("sglang", "chat", temperature=5.5).temperature == 5.5
    assert params("sglang", "chat", temperature=1e300).temperature == 3e38


def test_many_choices_at_temperature_zero() -> None:
    computed = params("overt", "chat", n=3, temperature=0)
    assert (computed.copies, computed.n) == (True, 3)
    assert under("overt", "chat", n=3, temperature=0)[1] == [("n", "adapted", 1)]
    for name in ("openai", "sglang"):
        assert not params(name, "chat", n=3, temperature=0).copies
        assert under(name, "chat", n=3, temperature=0)[1] == []
    assert error("vllm", "chat", n=3, temperature=0).param == "n"
    # The model's own default counts as well; beams and drawn choices differ from each other.
    greedy = replace(DEPLOYMENT, generation_config={"temperature": 0})
    assert params("overt", "chat", greedy, n=2).copies
    assert not params("overt", "chat", n=3, temperature=0.1).copies
    assert not params("overt", "chat", n=3, use_beam_search=True).copies
    assert not params("overt", "completions", n=2, best_of=3, temperature=0).copies


def test_log_probabilities() -> None:
    for name in ("overt", "openai", "vllm"):
        assert error(name, "chat", top_logprobs=3).param == "top_logprobs"
        assert error(name, "chat", logprobs=True, top_logprobs=21).param == "top_logprobs"
    assert under("sglang", "chat", top_logprobs=3)[1] == [("top_logprobs", "inert", None)]
    assert params("sglang", "chat", logprobs=True, top_logprobs=25).logprobs == 20
    assert under("sglang", "chat", logprobs=True, top_logprobs=25)[1] == [("top_logprobs", "adapted", 20)]
    roomy = replace(DEPLOYMENT, limits=replace(DEPLOYMENT.limits, max_logprobs=30))
    assert params("overt", "chat", roomy, logprobs=True, top_logprobs=30).logprobs == 30
    assert isinstance(under("openai", "chat", roomy, logprobs=True, top_logprobs=30), ApiError)


def test_models() -> None:
    for name in ("overt", "openai", "vllm"):
        caught = refused("chat", {"model": "other"}, overt_profile=name)
        assert (caught.status, caught.param, caught.code) == (404, "model", "model_not_found")
        assert "`a`, `b`" in caught.message
    assert params("sglang", "chat", model="other").model == "other"
    assert under("sglang", "chat", model="other")[1] == [("model", "adapted", "a")]
    for name in ("overt", "vllm", "sglang"):
        assert under(name, "chat", model=None)[1] == [("model", "adapted", "a")]
    caught = error("openai", "chat", model=None)
    assert (caught.param, caught.code) == ("model", "missing_required_parameter")


def test_adapters() -> None:
    caught = refused("chat", {"model": "a:style"})
    assert (caught.status, caught.param) == (404, "model")
    assert "`style`" in caught.message
    assert "`style`" in error("sglang", "chat", model="x:style").message
    for name in ("openai", "vllm"):
        assert "adapter" not in refused("chat", {"model": "a:style"}, overt_profile=name).message
    assert "adapter" not in refused("chat", {"model": "x:style"}).message
    # A served name with a colon is that name.
    assert ask("chat", {"model": "a:b"}, replace(DEPLOYMENT, served=("a", "a:b")))[0].model == "a:b"


def test_streams() -> None:
    options = {"stream_options": {"include_usage": True}}
    for name in ("overt", "openai", "vllm"):
        assert error(name, "chat", **options).param == "stream_options"
    assert under("sglang", "chat", **options)[1] == [("stream_options", "inert", None)]
    lone = {"stream": True, "stream_options": {"continuous_usage_stats": True}}
    for name in ("overt", "openai"):
        both = params(name, "chat", **lone)
        assert (both.include_usage, both.continuous_usage) == (True, True)
        assert under(name, "chat", **lone)[1] == [("stream_options.include_usage", "adapted", True)]
    off, on = params("vllm", "chat", **lone), params("sglang", "chat", **lone)
    assert (off.include_usage, off.continuous_usage) == (False, False)
    assert under("vllm", "chat", **lone)[1] == [("stream_options.continuous_usage_stats", "inert", None)]
    assert (on.include_usage, on.continuous_usage) == (False, True)
    assert under("sglang", "chat", **lone)[1] == []
    both_asked = {"stream": True, "stream_options": {"continuous_usage_stats": True, "include_usage": True}}
    assert under("vllm", "chat", **both_asked)[0].continuous_usage


@pytest.mark.parametrize(
    ("profile", "asked", "padded", "effects"),
    [
        ("overt", None, False, []),
        ("overt", True, True, []),
        ("openai", None, True, []),
        ("openai", False, False, []),
        ("vllm", True, False, [("stream_options.include_obfuscation", "inert", None)]),
        ("sglang", None, False, []),
    ],
)
def test_padding(profile: str, asked: bool | None, padded: bool, effects: list[Any]) -> None:
    options = {} if asked is None else {"stream_options": {"include_obfuscation": asked}}
    answer = under(profile, "chat", stream=True, **options)
    assert (answer[0].obfuscation, answer[1]) == (padded, effects)
    assert not params(profile, "chat").obfuscation


def test_tools() -> None:
    for name in ("openai", "vllm"):
        assert error(name, "chat", tools=[]).param == "tools"
    for name in ("overt", "sglang"):
        assert under(name, "chat", tools=[])[1] == [("tools", "inert", None)]
    for name in NAMES:
        assert error(name, "chat", tool_choice="required").param == "tool_choice"
        choice = {"type": "function", "function": {"name": "g"}}
        assert "not in `tools`" in error(name, "chat", tool_choice=choice, **TOOLS).message
        assert error(name, "chat", messages=[]).param == "messages"


def test_suffix() -> None:
    for name in ("overt", "openai", "vllm"):
        assert params(name, "completions", suffix="end").suffix == "end"
        assert error(name, "completions", suffix="end", echo=True).param == "suffix"
    assert params("sglang", "completions", suffix="end", echo=True).suffix is None
    assert under("sglang", "completions", suffix="end")[1] == [("suffix", "inert", None)]


def test_biases() -> None:
    wide = {"logit_bias": {"5": 300, "7": -100}}
    for name in ("overt", "openai"):
        assert error(name, "chat", **wide).param == "logit_bias"
    assert params("vllm", "chat", **wide).logit_bias == [(5, 100), (7, -100)]
    assert under("vllm", "chat", **wide)[1] == [("logit_bias.5", "adapted", 100)]
    assert params("sglang", "chat", **wide).logit_bias == [(5, 300), (7, -100)]
    assert error("sglang", "chat", logit_bias={"5": float("nan")}).param == "logit_bias"


def test_a_last_message_of_the_assistant() -> None:
    for name in ("overt", "openai", "vllm"):
        answer = under(name, "chat", **LAST)
        assert (answer[0].assistant_to_user, answer[1]) == (False, [("messages[1]", "adapted", "new turn")])
    answer = under("sglang", "chat", **LAST)
    assert (answer[0].assistant_to_user, answer[1]) == (True, [("messages[1].role", "adapted", "user")])
    for name in NAMES:
        assert under(name, "chat", continue_final_message=True, **LAST)[1] == []
    assert under("overt", "chat", add_generation_prompt=False, **LAST)[1] == []


def test_bounds() -> None:
    assert params("overt", "chat", top_k=0).top_k == 0
    assert error("sglang", "chat", top_k=0).param == "top_k"
    assert params("sglang", "chat", top_k=-1).top_k == 0
    for name in ("openai", "vllm"):
        assert error(name, "chat", stop=["a"] * 5).param == "stop"
    for name in ("overt", "sglang"):
        assert len(params(name, "chat", stop=["a"] * 32).stop) == 32
        assert error(name, "chat", stop=["a"] * 33).param == "stop"


def test_defaults() -> None:
    deployment = replace(DEPLOYMENT, generation_config={"temperature": 0.6, "max_new_tokens": 50})
    given = {name: [params(name, route, deployment).temperature for route in ("chat", "completions")] for name in NAMES}
    assert given == {"overt": [0.6, 0.6], "openai": [1, 1], "vllm": [0.6, 0.6], "sglang": [0.6, 1]}
    lengths = {name: params(name, "chat", deployment).max_tokens for name in NAMES}
    assert lengths == {"overt": None, "openai": None, "vllm": 50, "sglang": None}
    assert all(params(name, "completions", deployment).max_tokens == 16 for name in NAMES)


def test_nulls() -> None:
    for name in ("overt", "openai", "vllm"):
        assert under(name, "completions", temperature=None, max_tokens=None)[1] == []
    assert error("sglang", "completions", temperature=None).param == "temperature"
    assert error("sglang", "completions", max_tokens=None).param == "max_tokens"
    assert under("sglang", "chat", temperature=None)[1] == []


def test_ids() -> None:
    ids = {name: params(name, "chat").id for name in NAMES}
    assert ids == {"overt": "chatcmpl-r", "openai": "chatcmpl-r", "vllm": "chatcmpl-r", "sglang": "r"}
    assert params("overt", "completions").id == "cmpl-r"


def test_fingerprints_differ_where_answers_may() -> None:
    seen = {DEPLOYMENT.fingerprint(profile) for profile in PROFILES.values()}
    for change in (
        {"parser": None},
        {"chat_template": "x"},
        {"model": {"dtype": "float16"}},
        {"model": {"device": "cuda"}},
    ):
        seen.add(replace(DEPLOYMENT, **change).fingerprint(OVERT))
    assert len(seen) == 8
    assert all(len(text) == 19 and text.startswith("fp_") for text in seen)


def test_the_body_tells_by_itself_only_where_the_profile_has_an_object_for_it() -> None:
    always = replace(DEPLOYMENT, always_reports=True)
    assert {name: params(name, "chat", always).report is not None for name in NAMES} == {
        "overt": True,
        "openai": False,
        "vllm": True,
        "sglang": True,
    }
    for name in NAMES:
        assert params(name, "chat").report is None
        assert params(name, "chat", overt={"report": True}).report is not None


def test_the_operator_s_reasoning_field() -> None:
    deployment = replace(DEPLOYMENT, reasoning_field="reasoning")
    assert params("overt", "chat", deployment).reasoning_field == "reasoning"
    assert params("sglang", "chat", deployment).reasoning_field == "reasoning_content"
    assert set(BASE) == {"chat", "completions"}
