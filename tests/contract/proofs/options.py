"""Ids and labels, and this server's own options."""

from typing import Any

from contract.proofs.registry import proof
from contract.proofs.talk import ABSENT
from contract.proofs.trial import Trial
from overt.contract.field import ALL, GENERATE

UNKNOWN: dict[str, Any] = {"zzz": 1}


@proof(GENERATE, "request_id", "rid")
def request_id(trial: Trial) -> None:
    prefix = {"chat": "chatcmpl-", "completions": "cmpl-"}[trial.route]
    made = trial.ask(ABSENT).json["id"]
    assert made.startswith(prefix)
    assert trial.ask(ABSENT).json["id"] != made
    assert trial.ask("river-7").json["id"] == prefix + "river-7"
    assert {chunk["id"] for chunk in trial.ask("river-8", stream=True).chunks} == {prefix + "river-8"}
    unusable = trial.ask("two words")
    assert unusable.effects == {trial.field.name: {"e": "inert"}}
    # The header comes first.
    assert trial.ask("a", headers={"x-request-id": "b"}).json["id"] == prefix + "b"


@proof(GENERATE, "metadata")
def metadata(trial: Trial) -> None:
    for on in ("demo", "tiny"):
        assert "metadata" not in trial.ask(ABSENT, on).json
        labels = {"stage": "test", "n": "\u00fc \u201c"}
        assert trial.ask(labels, on).json["metadata"] == labels
        assert trial.ask(labels | {"n": "2"}, on).json["metadata"] == labels | {"n": "2"}


@proof(ALL, "overt")
def overt(trial: Trial) -> None:
    for value in (ABSENT, {}, {"strict": False}):
        assert trial.ask(value, **UNKNOWN).effects == {"zzz": {"e": "inert"}}
    trial.ask({"strict": True}, **UNKNOWN).refuses(None, "not_honoured")


@proof(ALL, "overt.strict")
def overt_strict(trial: Trial) -> None:
    plain = trial.ask(ABSENT, overt={})
    assert trial.ask(True, overt={}).masked == plain.masked
    for value in (ABSENT, False):
        assert trial.ask(value, overt={}, **UNKNOWN).masked == plain.masked
    refusal = trial.ask(True, overt={}, aaa=[1], **UNKNOWN)
    refusal.refuses(None, "not_honoured")
    assert "`zzz`" in refusal.error["message"]
    assert "`aaa`" in refusal.error["message"]


@proof(GENERATE, "overt.report")
def overt_report(trial: Trial) -> None:
    for value in (ABSENT, False):
        assert "overt" not in trial.ask(value, overt={}, **UNKNOWN).json
    answer = trial.ask(True, overt={}, **UNKNOWN)
    assert answer.reported["zzz"]["requested"] == 1
    assert answer.reported["zzz"]["reason"]
    assert answer.json["overt"]["profile"] == "overt"
    streamed = trial.ask(True, overt={}, stream=True, **UNKNOWN)
    assert streamed.reported == answer.reported
    assert not any("overt" in chunk for chunk in streamed.chunks[1:])
    assert trial.ask(True, overt={}).json["overt"]["effects"] == []
