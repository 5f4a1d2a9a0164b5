"""What a client reads when a body is wrong."""

import json
import re
from pathlib import Path

import pytest

from contract.ask import DEPLOYMENT
from overt.contract.errors import CODES, ApiError
from overt.contract.models import validate

PLAN = DEPLOYMENT.plan("chat", DEPLOYMENT.profile)
CHAT = '"messages": [{"role": "user"}]'


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ("", None, "The body is empty: send a JSON object."),
        ("[", None, "The body is not valid JSON in UTF-8 (line 1, column 1)."),
        ("null", None, "The body must be a JSON object."),
        ("[]", None, "The body must be a JSON object."),
        ("{}", "messages", "`messages` is required: a list of at least one message object, 10000 at most."),
        (
            '{"messages": []}',
            "messages",
            "`messages` must be a list of at least one message object, 10000 at most, and is [].",
        ),
        ('{"messages": [{}, 1]}', "messages[1]", "`messages[1]` must be an object, and is 1."),
        (
            f'{{{CHAT}, "temperature": 3}}',
            "temperature",
            "`temperature` must be a number from 0 to 2, and is 3.",
        ),
        (
            f'{{{CHAT}, "temperature": NaN}}',
            "temperature",
            "`temperature` must be a number from 0 to 2, and is NaN.",
        ),
        (
            f'{{{CHAT}, "temperature": "1"}}',
            "temperature",
            '`temperature` must be a number from 0 to 2, and is "1".',
        ),
        (f'{{{CHAT}, "top_p": 0}}', "top_p", "`top_p` must be a number above 0 and at most 1, and is 0."),
        (f'{{{CHAT}, "top_k": -2}}', "top_k", "`top_k` must be an integer of at least -1, and is -2."),
        (f'{{{CHAT}, "n": true}}', "n", "`n` must be an integer from 1 to 128, and is true."),
        (f'{{{CHAT}, "n": "1"}}', "n", '`n` must be an integer from 1 to 128, and is "1".'),
        (f'{{{CHAT}, "n": 1.5}}', "n", "`n` must be an integer from 1 to 128, and is 1.5."),
        (f'{{{CHAT}, "stream": 1}}', "stream", "`stream` must be true or false, and is 1."),
        (
            f'{{{CHAT}, "seed": 9223372036854775808}}',
            "seed",
            "`seed` must be an integer of 64 bits, and is 9223372036854775808.",
        ),
        (
            f'{{{CHAT}, "stop": ["a", "b", "c", 4]}}',
            "stop[3]",
            "`stop[3]` must be a non-empty string, and is 4.",
        ),
        (
            f'{{{CHAT}, "stop": ""}}',
            "stop",
            '`stop` must be a non-empty string or a list of up to 32 of them, and is "".',
        ),
        (
            f'{{{CHAT}, "stop": {json.dumps(["x"] * 33)}}}',
            "stop",
            "`stop` must be a non-empty string or a list of up to 32 of them, and is a list of 33.",
        ),
        (
            f'{{{CHAT}, "stop_token_ids": [1, -1]}}',
            "stop_token_ids[1]",
            "`stop_token_ids[1]` must be an integer of at least 0, and is -1.",
        ),
        (
            f'{{{CHAT}, "stream_options": {{"include_usage": "yes"}}}}',
            "stream_options.include_usage",
            '`stream_options.include_usage` must be true or false, and is "yes".',
        ),
        (
            f'{{{CHAT}, "cache_salt": ""}}',
            "cache_salt",
            '`cache_salt` must be a non-empty string, and is "".',
        ),
        (f'{{{CHAT}, "user": "{"u" * 60}", "n": 0}}', "n", "`n` must be an integer from 1 to 128, and is 0."),
        (
            f'{{{CHAT}, "logprob_token_ids": [5]}}',
            "logprob_token_ids",
            "`logprob_token_ids` is known, but this server does not implement it yet: it comes later.",
        ),
        (
            f'{{{CHAT}, "repetition_penalty": 0}}',
            "repetition_penalty",
            "`repetition_penalty` must be a number from 0.01 to 10, and is 0.",
        ),
        (
            f'{{{CHAT}, "typical_p": 1.5}}',
            "typical_p",
            "`typical_p` must be a number above 0 and at most 1, and is 1.5.",
        ),
        (
            f'{{{CHAT}, "logprobs": true, "top_logprobs": -1}}',
            "top_logprobs",
            "`top_logprobs` must be an integer from 0 to 20, and is -1.",
        ),
        (
            f'{{{CHAT}, "allowed_token_ids": []}}',
            "allowed_token_ids",
            "`allowed_token_ids` must be a list of 1 to 4096 integers of at least 0, and is [].",
        ),
        (
            f'{{{CHAT}, "bad_words": "x"}}',
            "bad_words",
            '`bad_words` must be a list of up to 128 non-empty strings, and is "x".',
        ),
        (
            f'{{{CHAT}, "bad_words": ["x", ""]}}',
            "bad_words[1]",
            '`bad_words[1]` must be a non-empty string, and is "".',
        ),
        (
            f'{{{CHAT}, "logit_bias": [1]}}',
            "logit_bias",
            "`logit_bias` must be an object of up to 4096 numbers from -100 to 100 by token id, and is [1].",
        ),
        (
            f'{{{CHAT}, "functions": ["f"]}}',
            "functions[0]",
            '`functions[0]` must be an object, and is "f".',
        ),
        (
            f'{{{CHAT}, "thinking_token_budget": -2}}',
            "thinking_token_budget",
            "`thinking_token_budget` must be an integer from -1 to 2147483647, and is -2.",
        ),
        (
            f'{{{CHAT}, "guided_choice": ["x", 1]}}',
            "guided_choice[1]",
            "`guided_choice[1]` must be a non-empty string, and is 1.",
        ),
        (
            f'{{{CHAT}, "service_tier": "best"}}',
            "service_tier",
            '`service_tier` must be one of "auto", "default", "flex", "scale", "priority", "fast", and is "best".',
        ),
        (
            f'{{{CHAT}, "metadata": {{"a": 1}}}}',
            "metadata.a",
            "`metadata.a` must be a string of up to 512 characters, and is 1.",
        ),
        (
            f'{{{CHAT}, "routed_dp_rank": 1}}',
            "routed_dp_rank",
            "`routed_dp_rank` must be 0: this server has one data-parallel rank, and is 1.",
        ),
    ],
)
def test_messages(body: str, param: str | None, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        validate(PLAN, body.encode())
    assert (caught.value.status, caught.value.param, caught.value.message) == (400, param, message)
    assert caught.value.type == "invalid_request_error"


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages": [{"role": "\\ud800"}]}',
        b'{"messages": [{"role": "\xff"}]}',
        b'{"messages": [{"role": "user"}]} trailing',
        b'{"messages": [{"role": "user"}], "seed": ' + b"9" * 5000 + b"}",
        b"[" * 5000,
        b'{"messages": ' + b'[{"a":' * 3000,
        b"\x00",
    ],
)
def test_bodies_that_are_no_json(body: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        validate(PLAN, body)
    assert caught.value.status == 400
    assert "Input should" not in caught.value.message
    assert "http" not in caught.value.message


def test_long_values_are_shortened() -> None:
    with pytest.raises(ApiError) as caught:
        validate(PLAN, json.dumps({"messages": "x" * 10_000}).encode())
    assert len(caught.value.message) < 200


def test_the_shape_of_errors() -> None:
    error = ApiError(400, "m é", param="n", code="c")
    assert json.loads(error.body()) == {
        "error": {"message": "m é", "type": "invalid_request_error", "param": "n", "code": "c"}
    }
    assert json.loads(error.body("vllm"))["error"]["code"] == 400
    assert json.loads(error.body("sglang"))["object"] == "error"
    # The request's own profile comes before the server's.
    error.shape = "sglang"
    assert json.loads(error.body("vllm"))["object"] == "error"
    assert ApiError(429, "full").headers == {"retry-after": "1"}
    assert ApiError(429, "full").type == "rate_limit_error"
    assert ApiError(503, "gone").type == "server_error"
    assert ApiError(400, "bad").headers == {}
    # A name with a lone surrogate can only come from this side; it must not break the answer.
    assert b"?" in ApiError(400, "\ud800", param="\ud800").body()


def test_every_code_that_is_used_is_in_the_table() -> None:
    root = Path(__file__).parents[2]
    used = {
        (code, file.name)
        for pattern, file in [
            *(
                (r'code="([a-z_]+)"', file)
                for folder in ("api", "contract")
                for file in (root / "python" / "overt" / folder).rglob("*.py")
            ),
            *((r'(?:\.code\(|Some\()"([a-z_]+)"', file) for file in (root / "rust/overt-front/src").rglob("error.rs")),
            *((r'\.code\("([a-z_]+)"', file) for file in (root / "rust/overt-front/src").rglob("*.rs")),
        ]
        for code in re.findall(pattern, file.read_text(encoding="utf-8"))
    }
    assert len(used) > 10
    assert {(code, file) for code, file in used if code not in CODES} == set()
