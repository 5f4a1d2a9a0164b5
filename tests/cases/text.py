"""From tokens to text: characters cut by tokens, stop strings over tokens, special tokens."""

from typing import Any

from cases.corpus import Case, on
from cases.servers import asks, tokens_of
from cases.streams import told
from cases.talk import CHAT, COMPLETIONS, both, refused, still_serves, streamed, whole
from serve.schema import check_streamed_completion
from serve.server import Server, text_of


@on(
    "scripted",
    "detok-zwj-family",
    "detok-czech-2-bytes",
    "detok-space-token-while-pending",
    "detok-incomplete-at-end",
    "detok-invalid-then-valid",
)
def _cut_characters(server: Server, case: Case) -> None:
    body = told(case)
    if case.input["end"] == "length":
        body["max_tokens"] = len(case.input["token_bytes_hex"])
    (choice,) = both(server, COMPLETIONS, body).choices
    assert choice.text in (case.expected["text"], *case.expected.get("alternatives", ()))
    assert choice.finish == ("length" if case.input["end"] == "length" else "stop")
    pieces = [text_of([chunk]) for chunk in server.chunks(COMPLETIONS, body)]
    if "\ufffd" not in case.expected["text"]:
        assert not any("\ufffd" in piece for piece in pieces)


@on("scripted", "detok-legit-fffd-run")
def _real_replacement_characters(server: Server, case: Case) -> None:
    body = told(case) | {"max_tokens": 500, "stream_options": {"include_usage": True, "continuous_usage_stats": True}}
    chunks = server.chunks(COMPLETIONS, body)
    most, sent = case.expected["max_hold_back_tokens"], 0
    for chunk in chunks:
        check_streamed_completion(chunk)
        sent += len(text_of([chunk]))
        made = chunk["usage"]["completion_tokens"]
        assert made - 1 - most <= sent <= made, "a token that ends the answer has no text"
    assert text_of(chunks) == case.expected["text"]
    assert whole(server, COMPLETIONS, told(case) | {"max_tokens": 500}).choices[0].text == case.expected["text"]
    ten = body | {"prompt": asks(case.id, "ten times"), "max_tokens": 5000, "stream_options": None}
    (long,) = both(server, COMPLETIONS, ten).choices
    assert long.text == case.expected["text"][:-1] * 10 + case.expected["text"][-1]


@on("scripted", "detok-prompt-ends-mid-char")
def _prompt_ends_mid_character(server: Server, case: Case) -> None:
    ask = server.post("/tokenize", {"prompt": asks(case.id)}).json()["tokens"]
    prompt = tokens_of(case.id, "prompt")
    assert server.post("/detokenize", {"tokens": prompt}).json()["prompt"] == "Hello world \ufffd"
    (choice,) = both(server, COMPLETIONS, case.body | {"prompt": ask + prompt}).choices
    assert case.expected["text_must_not_contain"] not in choice.text
    assert choice.text in case.expected["text_any_of"]


@on(
    "scripted",
    "stop-spans-tokens",
    "stop-false-alarm",
    "stop-partial-at-eos",
    "stop-first-of-many",
)
def _stop_strings(server: Server, case: Case) -> None:
    stops = case.body["stop"]
    for cut in ("as_given", "per_char", "all_in_one"):
        answer = both(server, COMPLETIONS, told(case, cut) | {"max_tokens": 128})
        (choice,) = answer.choices
        assert choice.text == case.expected["text"], cut
        assert choice.finish == case.expected["finish_reason"]
        output = "".join(case.input["model_output"]["pieces"])
        hit = next((stop for stop in stops if output.startswith(stop, len(choice.text))), None)
        assert choice.stop_reason == hit, cut


@on("scripted", "stop-empty-string")
def _empty_stop_string(server: Server, case: Case) -> None:
    for stream in (False, True):
        refused(server, COMPLETIONS, told(case) | {"stream": stream}, param="stop", status=400)
        refused(server, COMPLETIONS, told(case) | {"stream": stream, "stop": ""}, param="stop", status=400)
    (choice,) = both(server, COMPLETIONS, told(case) | {"stop": []}).choices
    assert (choice.text, choice.finish) == (case.expected["text"], case.expected["finish_reason"])
    still_serves(server)


@on("scripted", "stop-token-special-skip")
def _special_stop_token(server: Server, case: Case) -> None:
    (special,) = case.input["model_output"]["special_token_pieces"]
    (token,) = server.post("/tokenize", {"prompt": special}).json()["tokens"]
    body: dict[str, Any] = told(case) | {"stop_token_ids": [token]}
    (choice,) = both(server, CHAT, body).choices
    assert (choice.text, choice.finish) == (case.expected["content"], case.expected["finish_reason"])
    shown = body | {"skip_special_tokens": False, "include_stop_str_in_output": True}
    (choice,) = both(server, CHAT, shown).choices
    assert choice.text == case.expected["content"] + special
    # Hidden it stays where the stop is to be part of the text.
    hidden = body | {"include_stop_str_in_output": True}
    assert streamed(server, CHAT, hidden).choices == whole(server, CHAT, hidden).choices
