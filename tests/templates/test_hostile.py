"""Templates that would never end, and requests that are too much: refused, and the server goes on."""

import json

import pytest

from templates.room import CHAT, RENDER, room, said

BOMBS = {
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "macros": "{% macro m() %}{% set x = m() %}{% set x = m() %}{% endmacro %}{{ m() }}",
    "lists": "{% set ns = namespace(s=[1, 2]) %}{% for i in range(40) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"
    "{{ ns.s|length }}",
    "growing": "{% macro m(l) %}{{ m(l + l) }}{% endmacro %}{{ m([1]) }}",
    "texts": "{% set ns = namespace(s='ab') %}{% for i in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
    "width": "{{ '%1000000000d' % 1 }}",
    "times": "{{ 'x' * 10**9 }}",
    "range": "{{ range(10**12)|list|length }}",
    "power": "{{ 9**(9**9) }}",
    "depth": "{% set ns = namespace(s=[]) %}{% for i in range(90000) %}{% set ns.s = [ns.s] %}{% endfor %}"
    "{{ ns.s|tojson }}",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name: str) -> None:
    with room(chat_template=BOMBS[name]) as client:
        for path in (RENDER, CHAT):
            answer = client.post(path, json={"messages": said("Hi")})
            assert answer.status_code == 400, answer.text
            message = answer.json()["error"]["message"]
            assert "line 1 of the chat template" in message
        assert client.get("/health").status_code == 200
        assert client.post("/tokenize", json={"prompt": "still here"}).status_code == 200


def test_requests_that_are_too_much() -> None:
    with room() as client:
        for messages in (said("Hi") * 100_000, [{"role": "user", "content": "word " * 400_000}]):
            for path in (RENDER, CHAT):
                answer = client.post(path, json={"messages": messages})
                assert (answer.status_code, answer.json()["error"]["param"]) == (400, "messages")
        deep = f'{{"messages": {json.dumps(said("x"))}, "chat_template_kwargs": {{"a": {"[" * 50_000}{"]" * 50_000}}}}}'
        answer = client.post(RENDER, content=deep, headers={"content-type": "application/json"})
        assert answer.status_code == 400
        assert "nested" in answer.json()["error"]["message"]
        wide = {"a": ["x" * 100] * 50_000}
        assert client.post(RENDER, json={"messages": said("x"), "chat_template_kwargs": wide}).status_code == 200
