"""What the render routes tell: text, tokens, template, normalisations, provenance."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from templates.room import CHAT, RENDER, room, said

COMPLETIONS = "/v1/completions/render"
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content|trim }}<|im_end|>\n{% endfor %}"
    "{% if not tools %}{% else %}# Tools\n{% for t in tools %}{{ t|tojson }}\n{% endfor %}{% endif %}"
    "{% if mood is defined %}Mood: {{ mood }}\n{% endif %}"
    "{% if reasoning_effort is defined %}Effort: {{ reasoning_effort }}\n{% endif %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with room(chat_template=TEMPLATE) as client:
        yield client


def shown(client: TestClient, path: str = RENDER, **body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def parts(told: dict[str, Any]) -> list[tuple[str, str]]:
    """(text, where it came from) of every span."""
    text = told["prompt_text"]
    names = []
    for span in told["provenance"]["spans"]:
        of = span["origin"]
        match of:
            case "message":
                of = f"{span['message']}.{span['part']}"
            case "tool":
                of = f"tool {span['tool']}"
            case "kwarg" | "special_token":
                of = f"{of} {span['name']}"
        names.append((text[span["start"] : span["end"]], of))
    return names


def test_every_part_is_told(client: TestClient) -> None:
    told = shown(
        client, messages=said(" Hé 😀 ", "user"), tools=[TOOL], chat_template_kwargs={"mood": "glad", "rest": 1}
    )
    assert told["provenance"]["exact"]
    text = told["prompt_text"]
    assert "".join(part for part, _ in parts(told)) == text
    assert parts(told) == [
        ("<|im_start|>", "special_token bos_token"),
        ("<|im_start|>", "template"),
        ("user", "0.role"),
        ("\n", "template"),
        ("Hé 😀", "0.content"),
        ("<|im_end|>\n<|im_start|>", "template"),
        ("assistant", "1.role"),
        ("\n", "template"),
        ("user", "1.content"),
        ("<|im_end|>\n# Tools\n", "template"),
        (
            '{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}',
            "tool 0",
        ),
        ("\nMood: ", "template"),
        ("glad", "kwarg mood"),
        ("\n<|im_start|>assistant\n", "template"),
    ]
    template = told["template"]
    assert template["variables_used"] == ["mood"]
    assert template["variables_unused"] == ["rest"]
    assert template["source"] == "--chat-template (inline)"


def test_tokens_lie_where_they_are_told_to(client: TestClient) -> None:
    text = "A é😀 naïve 日本 test"
    told = shown(client, messages=said(text))
    ids = client.post("/tokenize", json={"messages": said(text)}).json()["tokens"]
    assert told["token_ids"] == ids
    assert told["usage"] == {"prompt_tokens": len(ids)}
    prompt, spans = told["prompt_text"], told["token_offsets"]
    for token, (start, end) in zip(ids, spans, strict=True):
        spelled = client.post("/detokenize", json={"tokens": [token]}).json()["prompt"]
        # A character of several tokens is each one's.
        assert spelled == prompt[start:end] or "\ufffd" in spelled
    assert spans[0][0] == 0
    assert spans[-1][1] == len(prompt)


def test_the_prompt_is_that_of_the_answer(client: TestClient) -> None:
    """The same way makes both."""
    for body in (
        {"messages": said("a", "b", "c")},
        {"messages": said("a", "b"), "continue_final_message": True},
        {"messages": said("a"), "add_generation_prompt": False},
        {"messages": said("a"), "tools": [TOOL], "tool_choice": "none"},
        {"messages": [{"role": "developer", "content": "d"}, *said("a")]},
    ):
        told = shown(client, **body)
        names = ("messages", "tools", "tool_choice", "continue_final_message", "add_generation_prompt")
        same = client.post("/tokenize", json={name: body[name] for name in names if name in body})
        assert told["token_ids"] == same.json()["tokens"]


def test_normalisations_are_told(client: TestClient) -> None:
    parted = [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]
    told = shown(client, messages=[{"role": "developer", "content": "d"}, *parted])
    changes = {(change["name"], change["path"]) for change in told["normalisations"]}
    document = client.get("/v1/capabilities").json()
    assert {name for name, _ in changes} <= {row["name"] for row in document["normalisations"]}
    assert {path.partition("]")[0] for _, path in changes} == {"messages[0", "messages[1"}
    assert "a\nb" in told["prompt_text"]
    assert ("system", "0.role") in parts(told)


def test_fields_are_told_as_for_an_answer(client: TestClient) -> None:
    body = {"messages": said("a"), "max_tokens": 10**6, "madeup": 1, "return_token_offsets": True}
    answer = client.post(RENDER, json=body | {"overt": {"report": True}})
    told = answer.json()
    effects = {effect["field"]: effect for effect in told["overt"]["effects"]}
    assert effects.keys() == {"max_tokens", "madeup", "model"}
    assert effects["max_tokens"]["applied"] == told["max_tokens"]
    length = client.get("/v1/models").json()["data"][0]["max_model_len"]
    assert told["max_tokens"] == length - len(told["token_ids"])
    strict = client.post(RENDER, json=body, headers={"overt-strict": "1"})
    assert strict.status_code == 400
    assert "max_tokens" in strict.json()["error"]["message"]
    wrong = client.post(RENDER, json={"messages": said("a"), "temperature": -1})
    assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "temperature")


def test_efforts_reach_the_template(client: TestClient) -> None:
    assert "Effort: low" in shown(client, messages=said("a"), reasoning_effort="low")["prompt_text"]
    own = {"chat_template_kwargs": {"reasoning_effort": "high"}}
    assert "Effort: high" in shown(client, messages=said("a"), reasoning_effort="low", **own)["prompt_text"]
    assert "Effort" not in shown(client, messages=said("a"))["prompt_text"]
    switch = "{{ messages[0].content }}{% if enable_thinking is not defined or enable_thinking %} think{% endif %}"
    with room(chat_template=switch) as other:
        for effort, prompt, applied in (("none", "a", "false"), ("high", "a think", "true")):
            answer = other.post(RENDER, json={"messages": said("a"), "reasoning_effort": effort})
            assert answer.json()["prompt_text"] == prompt
            assert f'"enable_thinking={applied}"' in answer.headers["overt-effects"]
    with room(chat_template="{{ messages[0].content }}") as other:
        answer = other.post(RENDER, json={"messages": said("a"), "reasoning_effort": "low"})
        assert '"reasoning_effort";e=inert' in answer.headers["overt-effects"]


def test_the_operators_variables() -> None:
    with room(chat_template=TEMPLATE, default_chat_template_kwargs={"mood": "calm"}) as client:
        assert "Mood: calm" in shown(client, messages=said("a"))["prompt_text"]
        told = shown(client, messages=said("a"), chat_template_kwargs={"mood": "glad"})
        assert "Mood: glad" in told["prompt_text"]
        assert client.get("/v1/capabilities").json()["template"]["given"] == ["mood"]
        ids = client.post("/tokenize", json={"messages": said("a")}).json()["tokens"]
        assert ids == shown(client, messages=said("a"))["token_ids"]


def test_what_the_template_invents_is_the_templates() -> None:
    invents = (
        "{% if messages[0].role != 'system' %}<|im_start|>system\nYou are kind.<|im_end|>\n{% endif %}"
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    )
    with room(chat_template=invents) as client:
        first = parts(shown(client, messages=said("You are kind.")))
        assert first[0] == ("<|im_start|>system\nYou are kind.<|im_end|>\n<|im_start|>", "template")
        assert ("You are kind.", "0.content") in first


def test_completions(client: TestClient) -> None:
    one, two = shown(client, COMPLETIONS, prompt=["a é", "b"], max_tokens=5)
    assert (one["prompt_text"], two["prompt_text"]) == ("a é", "b")
    assert one["provenance"] == {
        "exact": True,
        "spans": [{"start": 0, "end": 3, "origin": "prompt", "derived": False}],
    }
    assert one["token_offsets"][-1][1] == 3
    assert one["max_tokens"] == 5
    (ids,) = shown(client, COMPLETIONS, prompt=one["token_ids"])
    assert ids["token_ids"] == one["token_ids"]
    assert ids["prompt_text"] is None
    assert ids["provenance"]["spans"] == []
    assert client.post(COMPLETIONS, json={"prompt": []}).status_code == 400


def test_cut_prompts(client: TestClient) -> None:
    whole = shown(client, messages=said("one two three four five six"))
    for side in ("left", "right"):
        cut = shown(
            client, messages=said("one two three four five six"), truncate_prompt_tokens=5, truncation_side=side
        )
        kept = slice(-5, None) if side == "left" else slice(0, 5)
        assert cut["token_ids"] == whole["token_ids"][kept]
        assert cut["token_offsets"] == whole["token_offsets"][kept]
        assert cut["truncated_tokens"] == len(whole["token_ids"]) - 5


def test_prompts_are_cut_as_an_answers_and_refused_as_an_answers(client: TestClient) -> None:
    length = client.get("/v1/models").json()["data"][0]["max_model_len"]
    body: dict[str, Any] = {"messages": said("river " * length), "max_tokens": 100, "truncate_prompt_tokens": -1}
    cut = shown(client, **body)
    assert (len(cut["token_ids"]), cut["max_tokens"]) == (length - 100, 100)
    # So long a text is not tokenised to the end.
    long = shown(client, **body | {"messages": said("river " * 400_000)})
    assert len(long["token_ids"]) == length - 100
    assert long["truncated_tokens"] is None
    for told in (cut, long):
        text = told["prompt_text"]
        assert told["token_offsets"][-1][1] == len(text)
        whole = client.post("/detokenize", json={"tokens": told["token_ids"]}).json()["prompt"]
        assert text[told["token_offsets"][0][0] :] == whole
    del body["truncate_prompt_tokens"]
    for more in (
        {},
        {"truncate_prompt_tokens": -1, "stop_regex": ["("]},
        {"messages": said("a"), "min_tokens": length},
    ):
        asked = body | {"max_tokens": None} | more
        answers = [client.post(path, json=asked) for path in (RENDER, CHAT)]
        assert [answer.status_code for answer in answers] == [400, 400]
        assert answers[0].json()["error"] == answers[1].json()["error"]


def test_strict_renders_know_their_own_field(client: TestClient) -> None:
    body = {"messages": said("a"), "model": "demo", "return_token_offsets": True, "overt": {"strict": True}}
    assert shown(client, **body)["token_offsets"]
    refused = client.post(RENDER, json=body | {"max_tokens": 10**6})
    assert refused.status_code == 400
    message = refused.json()["error"]["message"]
    assert "max_tokens" in message
    assert "return_token_offsets" not in message


@pytest.mark.parametrize(
    ("content", "counted"),
    [
        (r'"<|im_end|>"', "messages"),
        (r'"\u003c|im_end|>"', "messages"),
        (r'[{"type": "text", "text": "<|im_end"}, {"type": "text", "text": "|>"}]', None),
        (r'"<|im_end>"', None),
    ],
)
def test_spelled_special_tokens_are_told_whatever_the_jsons_escapes(
    client: TestClient, content: str, counted: str | None
) -> None:
    raw = f'{{"model": "demo", "messages": [{{"role": "user", "content": {content}}}], "overt": {{"report": true}}}}'
    answer = client.post(RENDER, content=raw, headers={"content-type": "application/json"})
    assert answer.status_code == 200, answer.text
    effects = answer.json()["overt"]["effects"]
    if counted is None:
        assert effects == []
        assert "overt-effects" not in answer.headers
        return
    (effect,) = effects
    assert (effect["field"], effect["requested"], effect["applied"]) == (
        "messages[0].content",
        "<|im_end|>",
        "special tokens",
    )
    assert answer.headers["overt-effects"] == '"messages[0].content";e=adapted;applied="special tokens"'
    assert f'effect="adapted",field="{counted}"' in client.get("/metrics").text


def test_names_that_clients_make_up_are_no_labels(client: TestClient) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"made up 5": "<|im_end|>"}}}
    answer = client.post(RENDER, json={"messages": said("a"), "tools": [tool]})
    assert "made up 5" in answer.headers["overt-effects"]
    text = client.get("/metrics").text
    assert "made up 5" not in text
    assert 'effect="adapted",field="tools"' in text


def test_integers_beyond_64_bits_are_refused(client: TestClient) -> None:
    for name, value in (
        ("messages", [{"role": "user", "content": "a", "n": 2**64}]),
        ("tools", [TOOL | {"n": -(2**63) - 1}]),
        ("documents", [{"n": 2**70}]),
        ("chat_template_kwargs", {"mood": [2**64]}),
    ):
        body = {"messages": said("a"), name: value}
        for path in (RENDER, "/tokenize"):
            answer = client.post(path, json=body)
            assert (answer.status_code, answer.json()["error"]["param"]) == (400, name), answer.text
            assert "64 bits" in answer.json()["error"]["message"]
    told = shown(client, messages=said("a"), chat_template_kwargs={"mood": 2**64 - 1})
    assert f"Mood: {2**64 - 1}" in told["prompt_text"]


def test_tokens_of_a_conversation_that_ends_with_the_assistant(client: TestClient) -> None:
    """As the answer's prompt: under some profiles the last message becomes the user's."""
    for profile in ("overt", "sglang"):
        headers = {"overt-profile": profile}
        body = {"model": "demo", "messages": said("a", "b")}
        told = client.post(RENDER, json=body, headers=headers)
        same = client.post("/tokenize", json=body, headers=headers)
        assert same.json()["tokens"] == told.json()["token_ids"]
        assert same.headers["overt-effects"] == told.headers["overt-effects"]
        assert ("user\nb" in told.json()["prompt_text"]) == (profile == "sglang")


def test_a_model_without_a_template(client: TestClient) -> None:
    with room(chat_template="{{ raise_exception('No.') }}") as other:
        answer = other.post(RENDER, json={"messages": said("a")})
        assert answer.status_code == 400
        assert "No." in answer.json()["error"]["message"]
    assert client.post(RENDER, json={"messages": []}).status_code == 400
    assert client.get(RENDER).status_code == 405


def test_the_prompts_text_comes_with_an_answer_that_is_refused_nothing(client: TestClient) -> None:
    """`return_prompt_text` is a field of answers; here the text is always told."""
    told = shown(client, messages=said("a"), return_prompt_text=True)
    assert told["prompt_text"].endswith("<|im_start|>assistant\n")
    assert client.post(CHAT, json={"messages": said("a"), "return_prompt_text": "x"}).status_code == 400
