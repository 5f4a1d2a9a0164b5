"""Every field of every route has its proof, by its effect; no field is accepted silently."""

import random
import string
from typing import Any

import pytest

from contract.proofs.adapted import CASES, Case
from contract.proofs.inert import CASES as INERT_CASES
from contract.proofs.inert import MISSPELT, UNKNOWN, Beside, check_inert
from contract.proofs.ledger import LEDGER
from contract.proofs.refused import check_noops, check_refused
from contract.proofs.registry import PROOFS, Key, declared
from contract.proofs.servers import Servers
from contract.proofs.talk import PATHS
from contract.proofs.trial import Trial, least
from overt.contract.deployment import Deployment
from overt.contract.field import Field, Route
from overt.contract.fields import by_name

DECLARED = declared()
MODELS = ("demo", "tiny")
TOLD_AT_NOTHING = {"tools", "service_tier"}
"""An empty list of tools is reported, and an answer names the tier that was asked for."""


def _of(effect: str) -> list[Any]:
    return [
        pytest.param(key, row, id="-".join(key[::2]) + (":header" if key[1] == "header" else ""))
        for key, row in DECLARED.items()
        if row.effect == effect
    ]


def _at_nothing() -> list[Any]:
    rows = ((case, case.values[1]) for case in _of("honoured"))
    return [case for case, row in rows if row.noop and row.name not in TOLD_AT_NOTHING]


def test_every_honoured_field_has_a_proof_and_every_proof_a_field() -> None:
    honoured = {key for key, row in DECLARED.items() if row.effect in ("honoured", "adapted")}
    assert honoured - PROOFS.keys() == set()
    assert PROOFS.keys() - honoured == set()


@pytest.mark.parametrize(("key", "row"), _of("honoured") + _of("adapted"))
def test_honoured(servers: Servers, key: Key, row: Field) -> None:
    trial = Trial(servers, key[0], row)
    PROOFS[key](trial)
    trial.finish()
    LEDGER.proven.add(key)


@pytest.mark.parametrize(("key", "row"), _of("refused"))
def test_refused(servers: Servers, key: Key, row: Field) -> None:
    check_refused(servers["tiny"], key[0], row)
    check_noops(servers["tiny"], key[0], row)
    LEDGER.proven.add(key)


@pytest.mark.parametrize(("key", "row"), _of("inert"))
def test_inert(servers: Servers, key: Key, row: Field) -> None:
    for name in MODELS:
        check_inert(servers[name], key[0], row)
    LEDGER.proven.add(key)


@pytest.mark.parametrize(("key", "row"), _at_nothing())
def test_honoured_at_nothing(servers: Servers, key: Key, row: Field) -> None:
    check_noops(servers["tiny"], key[0], row)


@pytest.mark.parametrize("name", ["demo", "tiny", "scripted"])
def test_what_a_deployment_does_at_rest(servers: Servers, name: str) -> None:
    """Fields that are honoured elsewhere, and not by this server."""
    standings = servers[name].standings()
    assert standings.keys() == DECLARED.keys()
    for key, row in DECLARED.items():
        match standings[key]:
            case "inert" if row.effect != "inert":
                check_inert(servers[name], key[0], row)
            case "refused" if row.effect != "refused":
                check_refused(servers[name], key[0], row)
            case effect:
                assert effect in (row.effect, "adapted")


def test_what_deployments_do_at_rest_differs(servers: Servers) -> None:
    found = {name: served.standings() for name, served in servers.items()}
    for name, effects in {
        "demo": ("inert", "adapted"),
        "tiny": ("honoured", "adapted"),
        "scripted": ("honoured",) * 2,
    }.items():
        shown, called = effects
        assert found[name]["tokenize", "body", "tools"] == shown
        assert found[name]["chat", "body", "tools"] == called
    assert found["demo"]["chat", "body", "enable_thinking"] == "inert"
    for field, effects in {
        "include_reasoning": ("honoured", "inert", "honoured"),
        "thinking_token_budget": ("honoured", "inert", "honoured"),
        "parallel_tool_calls": ("honoured", "inert", "honoured"),
        "response_format": ("honoured", "honoured", "refused"),
    }.items():
        assert tuple(found[name]["chat", "body", field] for name in ("demo", "tiny", "scripted")) == effects
    assert found["demo"]["completions", "body", "suffix"] == "refused"
    assert found["scripted"]["completions", "body", "cache_salt"] == "inert"


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case.field}-{case.profile}") for case in CASES])
def test_adapted(servers: Servers, case: Case) -> None:
    for route in case.routes:
        row = by_name(route)[case.field.partition("[")[0]]
        case.check(Trial(servers, route, row))


@pytest.mark.parametrize("case", INERT_CASES, ids=str)
def test_inert_beside_another_field(servers: Servers, case: Beside) -> None:
    for route in case.routes:
        case.check(servers["tiny"], route)


@pytest.mark.parametrize("parser", [None, "hermes"])
def test_tools_that_the_template_does_not_show_can_still_be_called(parser: str | None) -> None:
    for name in ("tools", "functions"):
        row = by_name("chat")[name]
        hidden = Deployment(("m",), 10, chat_template="{{ messages }}", parser=parser)
        shown = Deployment(("m",), 10, chat_template="{{ messages }}{{ tools }}", parser=parser)
        assert row.standing(hidden, hidden.profile).effect == ("inert" if parser is None else "adapted")
        assert row.standing(shown, shown.profile).effect == ("adapted" if parser is None else "honoured")


@pytest.mark.parametrize("name", ["documents", "add_generation_prompt"])
def test_what_the_template_does_not_read_is_inert(name: str) -> None:
    row = by_name("chat")[name]
    for text, effect in (("{{ messages }}", "inert"), (f"{{{{ messages }}}}{{{{ {name} }}}}", "honoured")):
        deployment = Deployment(("m",), 10, chat_template=text, parser="hermes")
        assert row.standing(deployment, deployment.profile).effect == effect


def test_what_is_adapted_at_rest_has_a_case(servers: Servers) -> None:
    cases = {(route, case.field) for case in CASES for route in case.routes}
    for served in servers.values():
        adapted = {(route, name) for (route, _, name), effect in served.standings().items() if effect == "adapted"}
        assert adapted <= cases


# --- fields that nobody declared ---


@pytest.mark.parametrize("route", PATHS)
def test_no_undeclared_field_is_accepted_silently(servers: Servers, route: Route) -> None:
    rng = random.Random(route)
    made = ["".join(rng.choices(string.ascii_letters + "_", k=rng.randint(1, 12))) for _ in range(24)]
    names = [name for name in dict.fromkeys((*UNKNOWN, *made)) if name not in by_name(route)]
    values = [1, "x", True, [], {}, {"a": 1}, 0, "", False]
    plain = servers["tiny"].ask(route, least(route, {})).masked
    for start in range(0, len(names), 8):
        sent = {name: values[(start + index) % len(values)] for index, name in enumerate(names[start : start + 8])}
        answer = servers["tiny"].ask(route, least(route, sent)).ok()
        silent = [name for name in sent if answer.effects.get(name, {}).get("e") != "inert"]
        LEDGER.undeclared += len(sent)
        LEDGER.silent += silent
        assert silent == []
        assert answer.masked == plain
    near = MISSPELT[route]
    told = servers["tiny"].ask(route, least(route, dict.fromkeys(near, 1))).ok().effects
    LEDGER.undeclared += len(near)
    assert {name: effect.get("nearest") for name, effect in told.items()} == near
    for name in (*near, *names[:4]):
        strict = servers["tiny"].ask(route, least(route, {name: 1, "overt": {"strict": True}}))
        strict.refuses(None, "not_honoured")
        assert f"`{name}`" in strict.error["message"]


@pytest.mark.parametrize("route", ["chat", "completions"])
@pytest.mark.parametrize("outer", ["stream_options", "overt"])
def test_no_undeclared_member_is_accepted_silently(servers: Servers, route: Route, outer: str) -> None:
    body = least(route, {"stream": True, outer: {"zzz": 1, "\u00fc": 2}})
    assert servers["tiny"].ask(route, body).ok().effects == {
        f"{outer}.zzz": {"e": "inert"},
        f"{outer}.\u00fc": {"e": "inert"},
    }
    LEDGER.undeclared += 2


def test_no_undeclared_key_of_a_message_is_accepted_silently(servers: Servers) -> None:
    part = {"type": "text", "text": "Hi", "zzz": 1}
    body = least("chat", {"messages": [{"role": "user", "content": [part], "yyy": 1}]})
    told = servers["tiny"].ask("chat", body).ok().effects
    LEDGER.undeclared += 2
    silent = [name for name in ("yyy", "zzz") if not any(path.endswith(f".{name}") for path in told)]
    LEDGER.silent += silent
    assert silent == []


# --- the count ---


def test_all_declared_fields_are_proven(request: pytest.FixtureRequest) -> None:
    print("\n".join(LEDGER.lines()))
    chosen = {_params(item).get("key") for item in request.session.items} - {None}
    if chosen != DECLARED.keys() or hasattr(request.config, "workerinput"):
        pytest.skip("only a part of the proofs was run here")
    assert DECLARED.keys() - LEDGER.proven == set()
    assert LEDGER.silent == []


def _params(item: Any) -> dict[str, Any]:
    spec = getattr(item, "callspec", None)
    return spec.params if spec is not None else {}
