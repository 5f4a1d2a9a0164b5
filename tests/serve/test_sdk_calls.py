"""The helpers of OpenAI's SDKs and of the AI SDK for calls and structured answers, in four formats of calls."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from overt import _core
from serve.node import run_node
from serve.scripted import scripted, word
from serve.server import Server

MODEL = "SmolLM2-135M-Instruct"
VOCABULARIES: dict[str, dict[str, list[str]]] = {
    "hermes": {"plain": ["<tool_call>", "</tool_call>"], "special": []},
    "llama3_json": {"plain": [], "special": ["<|python_tag|>", "<|eom_id|>", "<|eot_id|>"]},
    "mistral": {"plain": [], "special": ["[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"]},
    "qwen3_coder": {"plain": ["<tool_call>", "</tool_call>", "<function=", "</function>"], "special": []},
}
"""The tokens of each family's vocabulary that its calls are written with."""

TEMPLATE = (
    "{% if tools %}Tools: {{ tools | tojson }} {% endif %}{% set last = messages[-1] %}"
    "{{ last.role }}: {{ last.content or '' }} assistant: "
)
"""The last message alone: the scripted model answers by a word of it."""

SAID = ["It is", " 20", " °C", " in Paris."]
ARGUMENTS = {"city": "Paris", "days": 2}
OTHERS = {"city": 'Zürich "x"', "days": 10}


class Weather(BaseModel):
    """The weather of a city."""

    city: str
    days: int


WEATHER: Any = openai.pydantic_function_tool(Weather, name="get_weather")


def _tokens(text: str, vocabulary: list[str]) -> list[str]:
    """The text as tokens: those of the vocabulary whole, and few characters each of the rest."""
    tokens: list[str] = []
    while text:
        whole = next((token for token in vocabulary if text.startswith(token)), None)
        # No token reaches over the beginning of one that the vocabulary has.
        ends = [place for token in vocabulary if (place := text.find(token)) > 0]
        tokens.append(whole or text[: min([7, *ends])])
        text = text[len(tokens[-1]) :]
    return tokens


def _calls(parser: str, *arguments: dict[str, Any]) -> list[str]:
    calls = [{"name": "get_weather", "arguments": given} for given in arguments]
    text = _core.write_calls(parser, json.dumps(calls).encode(), json.dumps([WEATHER]).encode())
    vocabulary = VOCABULARIES[parser]
    return _tokens(text, vocabulary["plain"] + vocabulary["special"])


@pytest.fixture(scope="module", params=sorted(VOCABULARIES))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    parser: str = request.param
    vocabulary = VOCABULARIES[parser]
    answers = {
        "vocabulary": [token for tokens in vocabulary.values() for token in tokens] or [" "],
        "call": _calls(parser, ARGUMENTS),
        "two": _calls(parser, ARGUMENTS, OTHERS),
        "said": SAID,
        "object": ['{"ci', 'ty": "Pa', 'ris", "days"', ": 2}"],
    }
    folder = tmp_path_factory.mktemp(parser)
    flags = ("--tool-call-parser", parser, "--reasoning-parser", "none")
    with scripted(folder, answers, *flags, special=vocabulary["special"], template=TEMPLATE) as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def _asked(name: str) -> list[Any]:
    return [{"role": "user", "content": f"What is the weather in Paris? {word(name)}"}]


def test_parse_gives_an_object_of_the_model(client: openai.OpenAI) -> None:
    answer = client.chat.completions.parse(model=MODEL, messages=_asked("object"), response_format=Weather)
    assert answer.choices[0].finish_reason == "stop"
    assert answer.choices[0].message.parsed == Weather(**ARGUMENTS)
    with pytest.raises(openai.LengthFinishReasonError):
        client.chat.completions.parse(model=MODEL, messages=_asked("object"), response_format=Weather, max_tokens=2)


def test_parse_gives_arguments_of_the_model(client: openai.OpenAI) -> None:
    for choice in ("auto", "required"):
        answer = client.chat.completions.parse(
            model=MODEL,
            messages=_asked("two"),
            tools=[WEATHER],
            tool_choice=choice,  # type: ignore[arg-type]
        )
        assert answer.choices[0].finish_reason == "tool_calls"
        calls = answer.choices[0].message.tool_calls
        assert calls is not None
        assert [call.function.parsed_arguments for call in calls] == [Weather(**ARGUMENTS), Weather(**OTHERS)]
    one = client.chat.completions.parse(model=MODEL, messages=_asked("two"), tools=[WEATHER], parallel_tool_calls=False)
    assert [call.function.parsed_arguments for call in one.choices[0].message.tool_calls or ()] == [
        Weather(**ARGUMENTS)
    ]


def test_an_object_may_stand_beside_tools(client: openai.OpenAI) -> None:
    both = client.chat.completions.parse(
        model=MODEL, messages=_asked("object"), tools=[WEATHER], response_format=Weather
    )
    assert both.choices[0].message.parsed == Weather(**ARGUMENTS)
    called = client.chat.completions.parse(
        model=MODEL, messages=_asked("call"), tools=[WEATHER], response_format=Weather
    )
    assert called.choices[0].message.parsed is None
    assert [call.function.parsed_arguments for call in called.choices[0].message.tool_calls or ()] == [
        Weather(**ARGUMENTS)
    ]


def _events(client: openai.OpenAI, name: str, **asked: Any) -> tuple[list[Any], Any]:
    with client.chat.completions.stream(model=MODEL, messages=_asked(name), **asked) as stream:
        return list(stream), stream.get_final_completion()


def test_a_stream_of_calls_has_events(client: openai.OpenAI) -> None:
    events, final = _events(client, "two", tools=[WEATHER], stream_options={"include_usage": True})
    deltas = [event for event in events if event.type == "tool_calls.function.arguments.delta"]
    done = [event for event in events if event.type == "tool_calls.function.arguments.done"]
    assert [event.parsed_arguments for event in done] == [Weather(**ARGUMENTS), Weather(**OTHERS)]
    for index, event in enumerate(done):
        mine = [delta.arguments_delta for delta in deltas if delta.index == index]
        assert "".join(mine) == event.arguments
        assert len(mine) > 2, "they come as they are made"
    calls = final.choices[0].message.tool_calls
    assert [json.loads(call.function.arguments) for call in calls] == [ARGUMENTS, OTHERS]
    assert len({call.id for call in calls}) == 2
    assert final.choices[0].finish_reason == "tool_calls"
    assert final.usage.completion_tokens > 0


def test_a_stream_of_an_object_has_events(client: openai.OpenAI) -> None:
    events, final = _events(client, "object", response_format=Weather)
    texts = [event.delta for event in events if event.type == "content.delta"]
    assert len(texts) > 2
    (done,) = [event for event in events if event.type == "content.done"]
    assert done.parsed == final.choices[0].message.parsed == Weather(**ARGUMENTS)


def test_a_conversation_goes_on_after_a_call(client: openai.OpenAI) -> None:
    messages = _asked("call")
    message = client.chat.completions.create(model=MODEL, messages=messages, tools=[WEATHER]).choices[0].message
    assert message.tool_calls is not None
    messages += [message]
    messages += [
        {"role": "tool", "tool_call_id": call.id, "content": f"20 °C {word('said')}"} for call in message.tool_calls
    ]
    final = client.chat.completions.create(model=MODEL, messages=messages, tools=[WEATHER])
    assert final.choices[0].message.content == "".join(SAID)


@pytest.mark.parametrize("script", ["calls.mjs", "ai.mjs"])
def test_node(server: Server, script: str) -> None:
    words = json.dumps({name: word(name) for name in ("call", "two", "said", "object")})
    told = run_node(script, f"{server.url}/v1", MODEL, words)
    assert told["checks"] >= 10
