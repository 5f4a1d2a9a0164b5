"""What the answer is held to."""

import json
import re
from collections.abc import Callable
from typing import Any

from contract.proofs.registry import proof
from contract.proofs.talk import ABSENT, Answer
from contract.proofs.trial import Trial
from overt.contract.field import GENERATE

ROOM: dict[str, Any] = {"max_tokens": 400}
"""More than what is held here can take."""
WORDS = ["north", "south-west", "n\u00f6"]
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"enum": [7, 8]}, "w": {"enum": WORDS}},
    "required": ["n", "w"],
    "additionalProperties": False,
}
TIGHT = re.compile(r'\{"n":[78],"w":"[^"]*"\}')
"""The schema's JSON without white space."""
EBNF = 'root ::= "<" word ("," word)? ">"\nword ::= "ab" | "cd"\n'
LARK = 'start: "<" WORD ("," WORD)? ">"\nWORD: "ab" | "cd"\n'
LIST = re.compile("<(ab|cd)(,(ab|cd))?>")
TAGS: dict[str, Any] = {
    "type": "structural_tag",
    "format": {
        "type": "tag",
        "begin": "<n>",
        "content": {"type": "json_schema", "json_schema": {"enum": [7, 8]}},
        "end": "</n>",
    },
}
TAGGED = re.compile("<n>[78]</n>")
FREE_TAGS: dict[str, Any] = {
    "type": "structural_tag",
    "structures": [{"begin": "<n>", "schema": {"enum": [7, 8]}, "end": "</n>"}],
    "triggers": ["<n"],
}
UNHELD = {"type": "array", "contains": {"type": "string"}}
"""A schema that nothing could be held to."""

Check = Callable[[str], object]


def fits(text: str) -> bool:
    """Whether a text is JSON of the schema."""
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and value.keys() == {"n", "w"} and value["n"] in (7, 8) and value["w"] in WORDS


def an_object(text: str) -> bool:
    """Whether a text is a JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def hold(trial: Trial, value: Any, check: Check, on: str = "tiny", **rest: Any) -> Answer:
    """The answer is of that form with the field, greedy or drawn, in one piece or streamed, and is not without it."""
    cut: dict[str, Any] = rest | {"max_tokens": 16}
    assert not check(trial.ask(ABSENT, on, **cut).text)
    answer = trial.ask(value, on, **rest, **ROOM)
    assert check(answer.text), answer.text
    assert answer.text.startswith(trial.ask(value, on, **cut).text)
    assert answer.finish == "stop"
    assert answer.effects == {}
    assert trial.ask(value, on, **rest, **ROOM, stream=True).texts == answer.texts
    drawn = trial.ask(value, on, **rest, **ROOM | {"temperature": 1.0, "n": 3, "seed": 5})
    assert all(map(check, drawn.texts)), drawn.texts
    return answer


def thought(trial: Trial) -> dict[str, Any]:
    """A prompt behind whose thinking the demo model's answer begins."""
    if trial.route == "completions":
        return {"prompt": "Name a river.\n<think></think>"}
    turns = [{"role": "user", "content": "Name a river."}, {"role": "assistant", "content": "<think></think>"}]
    return {"messages": turns, "continue_final_message": True}


def objects(trial: Trial, value: Any) -> None:
    """Any object: the random model would write one for ever, so it is led to its end."""
    (end,) = trial.servers["tiny"].ask("tokenize", {"prompt": "}", "add_special_tokens": False}).json["tokens"]
    hold(trial, value, an_object, logit_bias={str(end): 60})
    started = trial.ask(value, "demo", **thought(trial), max_tokens=6)
    assert started.text.lstrip().startswith("{")


@proof(GENERATE, "response_format")
def response_format(trial: Trial) -> None:
    trial.ask(ABSENT)
    # Its prompt is in the prefix cache.
    plain = trial.ask(ABSENT)
    assert trial.ask({"type": "text"}).masked == plain.masked
    for name in ({}, {"name": "n", "strict": True}):
        described = {"type": "json_schema", "json_schema": {"schema": SCHEMA, **name}}
        hold(trial, described, fits)
    objects(trial, {"type": "json_object"})
    hold(trial, TAGS, TAGGED.fullmatch)
    trial.ask({"type": "xml"}).refuses("response_format.type")
    trial.ask({"type": "json_schema"}).refuses("response_format.json_schema")
    refusal = trial.ask({"type": "json_schema", "json_schema": {"name": "n", "schema": UNHELD}})
    refusal.refuses("response_format.json_schema.schema.contains")


@proof(GENERATE, "structured_outputs")
def structured_outputs(trial: Trial) -> None:
    trial.ask(ABSENT)
    plain = trial.ask(ABSENT)
    assert trial.ask({}).masked == plain.masked
    cases: tuple[tuple[dict[str, Any], Check], ...] = (
        ({"json": SCHEMA, "disable_any_whitespace": True}, TIGHT.fullmatch),
        ({"json": json.dumps(SCHEMA), "whitespace_pattern": " "}, fits),
        ({"regex": "[xyz]{3}-[0-9]"}, re.compile("[xyz]{3}-[0-9]").fullmatch),
        ({"choice": WORDS}, WORDS.__contains__),
        ({"grammar": EBNF}, LIST.fullmatch),
        ({"grammar": LARK}, LIST.fullmatch),
        ({"structural_tag": json.dumps(TAGS)}, TAGGED.fullmatch),
    )
    for value, check in cases:
        hold(trial, value, check)
    whole = {"json": {"type": "object", "properties": {"n": {"enum": [7]}}}, "disable_additional_properties": True}
    assert an_object(hold(trial, whole, an_object).text)
    objects(trial, {"json_object": True})
    for value, param in (
        ({"zzz": 1}, "structured_outputs.zzz"),
        ({"regex": "a", "choice": ["a"]}, "structured_outputs.choice"),
        ({"json": UNHELD}, "structured_outputs.json.contains"),
        ({"regex": "("}, "structured_outputs.regex"),
        ({"grammar": "root ::= nothing"}, "structured_outputs.grammar"),
        ({"choice": []}, "structured_outputs.choice"),
        ({"json": SCHEMA, "disable_any_whitespace": 1}, "structured_outputs.disable_any_whitespace"),
    ):
        trial.ask(value).refuses(param)
    # One constraint a request, wherever it stands.
    trial.ask({"regex": "a"}, response_format={"type": "json_object"}).refuses("structured_outputs.regex")
    trial.ask({"regex": "a"}, use_beam_search=True, n=2).refuses("structured_outputs")


@proof(GENERATE, "guided_json", "json_schema")
def a_schema(trial: Trial) -> None:
    for value in (SCHEMA, json.dumps(SCHEMA)):
        hold(trial, value, fits)
    assert json.loads(hold(trial, {"const": [1, "\u00fc"]}, lambda text: "\u00fc" in text).text) == [1, "\u00fc"]
    for value in ([1], "{", UNHELD):
        wrong = trial.ask(value)
        assert (wrong.status, wrong.error["param"].partition(".")[0]) == (400, trial.field.name)


@proof(GENERATE, "guided_json_object")
def guided_json_object(trial: Trial) -> None:
    objects(trial, True)


@proof(GENERATE, "guided_regex", "regex")
def a_pattern(trial: Trial) -> None:
    for pattern in ("[xyz]{3}-[0-9]", "a|bc|def", "^\u00fc+!$"):
        hold(trial, pattern, re.compile(pattern).fullmatch)
    for value in ("(", "a(?=b)"):
        trial.ask(value).refuses(trial.field.name)


@proof(GENERATE, "guided_choice")
def guided_choice(trial: Trial) -> None:
    hold(trial, WORDS, WORDS.__contains__)
    hold(trial, WORDS, WORDS.__contains__, "demo", **thought(trial))
    assert hold(trial, ["only this"], lambda text: text == "only this").text == "only this"
    trial.ask(["a", 1]).refuses("guided_choice[1]")


@proof(GENERATE, "guided_grammar")
def guided_grammar(trial: Trial) -> None:
    for grammar in (EBNF, LARK):
        hold(trial, grammar, LIST.fullmatch)
    trial.ask("root ::= nothing").refuses("guided_grammar")


@proof(GENERATE, "ebnf")
def ebnf(trial: Trial) -> None:
    hold(trial, EBNF, LIST.fullmatch)
    trial.ask("root ::= nothing").refuses("ebnf")


@proof(GENERATE, "structural_tag")
def structural_tag(trial: Trial) -> None:
    for value in (TAGS, json.dumps(TAGS)):
        hold(trial, value, TAGGED.fullmatch)
    # Free text, until a trigger begins a tag: the bias makes it begin.
    begin, *_ = trial.servers["tiny"].ask("tokenize", {"prompt": "<", "add_special_tokens": False}).json["tokens"]
    rest: dict[str, Any] = {"logit_bias": {str(begin): 30}, "max_tokens": 60, "stop": "</n>"}
    rest |= {"include_stop_str_in_output": True}
    n, *_ = trial.servers["tiny"].ask("tokenize", {"prompt": "n", "add_special_tokens": False}).json["tokens"]
    rest["logit_bias"] |= {str(n): 29}
    assert "</n>" not in trial.ask(ABSENT, **rest).text
    assert re.search("<n>[78]</n>$", trial.ask(FREE_TAGS, **rest).text)
    trial.ask({"type": "structural_tag"}).refuses("structural_tag")


@proof(GENERATE, "guided_whitespace_pattern")
def guided_whitespace_pattern(trial: Trial) -> None:
    one = {"type": "object", "properties": {"n": {"const": 7}}, "required": ["n"], "additionalProperties": False}
    rest: dict[str, Any] = {"guided_json": one, "logit_bias": _blanks(trial), **ROOM}

    def held(value: Any) -> str:
        answer = trial.ask(value, **rest)
        assert (answer.effects, answer.finish) == ({}, "stop")
        assert json.loads(answer.text) == {"n": 7}
        return answer.text

    loose = held(ABSENT)
    assert loose != '{"n":7}'
    assert re.fullmatch(r'\{GG"n"GG:GG7GG\}'.replace("GG", r"(?: |\n[ \t]{0,64})?"), loose)
    assert held("") == held("~{0}") == '{"n":7}'
    assert held(r"\t\t") == '{\t\t"n"\t\t:\t\t7\t\t}'
    trial.ask(ABSENT)
    alone = trial.ask(" ")
    assert alone.masked == trial.ask(ABSENT).masked
    assert alone.effects == {"guided_whitespace_pattern": {"e": "inert"}}
    beside = trial.ask(" ", guided_choice=["yes", "no"], **ROOM)
    assert beside.effects == {"guided_whitespace_pattern": {"e": "inert"}}
    trial.ask("(", **rest).refuses("guided_whitespace_pattern")


def _blanks(trial: Trial) -> dict[str, float]:
    """Biases for white space."""
    spelt = trial.servers["tiny"].ask("tokenize", {"prompt": " \n\t", "add_special_tokens": False})
    return {str(token): 30 for token in spelt.json["tokens"]}
