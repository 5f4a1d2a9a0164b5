"""Reasoning: where it stands, whether it is told, how long it may be."""

from typing import Any

import pytest

from calls.said import ANSWERS, F, calls, reasoning, refused, streamed, told, whole
from serve.scripted import ask
from serve.server import Server

# --- reasoning ---


def test_reasoning_stands_in_a_field_of_its_own(server: Server) -> None:
    message, finish, usage = whole(server, ask("thought"))
    assert (reasoning(message), message["content"], finish) == ("hm, so", "yes.", "stop")
    assert 0 < usage["completion_tokens_details"]["reasoning_tokens"] < usage["completion_tokens"]
    deltas, _, streamed_usage = streamed(server, ask("thought"))
    reasoned = [reasoning(delta) for delta in deltas if "reasoning" in delta]
    assert "".join(reasoned) == "hm, so"
    assert len(reasoned) > 1, "it comes as it is made"
    assert "".join(delta.get("content", "") for delta in deltas) == "yes."
    assert streamed_usage["completion_tokens_details"] == usage["completion_tokens_details"]


def test_reasoning_is_left_out_where_it_is_not_to_be_included(server: Server) -> None:
    plain = whole(server, ask("thought"))[2]
    body = ask("thought", include_reasoning=False)
    message, _, usage = whole(server, body)
    assert (message["content"], {"reasoning", "reasoning_content"} & set(message)) == ("yes.", set())
    assert usage["completion_tokens"] == plain["completion_tokens"], "it was made all the same"
    assert usage["completion_tokens_details"] == plain["completion_tokens_details"]
    deltas, _, _ = streamed(server, body)
    assert all(set(delta) == {"content"} for delta in deltas)
    assert "".join(delta["content"] for delta in deltas) == "yes."
    message, finish, _ = whole(server, ask("thought and call", tools=[F], include_reasoning=False))
    assert (calls(message), message["content"], finish) == ([("f", {"a": 1})], None, "tool_calls")


def test_reasoning_stays_in_the_content_where_it_is_not_to_be_separate(server: Server) -> None:
    body = ask("thought", separate_reasoning=False)
    text = "".join(ANSWERS["thought"])
    message, _, _ = whole(server, body)
    assert (message["content"], "reasoning" in message) == (text, False)
    deltas, _, _ = streamed(server, body)
    assert "".join(delta["content"] for delta in deltas) == text
    message, finish, _ = whole(server, ask("thought and call", tools=[F], separate_reasoning=False))
    assert (calls(message), message["content"], finish) == ([("f", {"a": 1})], "<think>hm</think>", "tool_calls")


def test_reasoning_comes_in_one_piece_where_it_is_not_to_be_streamed(server: Server) -> None:
    deltas, _, _ = streamed(server, ask("thought", stream_reasoning=False))
    assert [reasoning(delta) for delta in deltas if "reasoning" in delta] == ["hm, so"]
    assert "".join(delta.get("content", "") for delta in deltas) == "yes."
    deltas, _, _ = streamed(server, ask("thought and call", tools=[F], stream_reasoning=False))
    assert reasoning(deltas[0]) == "hm"
    assert '"stream_reasoning";e=inert' in told(server, ask("thought", stream_reasoning=False)), "there is no stream"


def test_fields_about_reasoning_are_inert_where_none_is_read(bare: Server) -> None:
    for field in ("include_reasoning", "separate_reasoning", "stream_reasoning"):
        assert f'"{field}";e=inert' in told(bare, ask("thought", **{field: False}, stream=True))
    message, _, usage = whole(bare, ask("thought"))
    assert message["content"] == "".join(ANSWERS["thought"])
    assert "completion_tokens_details" not in usage


def test_budgets_of_thinking_are_refused_or_inert_where_they_cannot_be_kept(server: Server, bare: Server) -> None:
    for wrong in (-2, 1.5, "3", 2**31):
        refused(server, ask("thought", thinking_token_budget=wrong), "thinking_token_budget")
    assert '"thinking_token_budget";e=inert' in told(bare, ask("thought", thinking_token_budget=3))
    assert "thinking_token_budget" not in told(server, ask("thought", thinking_token_budget=3))


@pytest.mark.parametrize("budget", [0, 1, 3, 19])
def test_a_budget_closes_the_thinking(server: Server, budget: int) -> None:
    opened: dict[str, Any] = {"chat_template_kwargs": {"tail": "<think>\n"}}
    for name, fields in (("long thought", {}), ("opened thought", opened)):
        free = whole(server, ask(name, **fields))
        assert (reasoning(free[0]).split(), free[0]["content"]) == (["hm"] * 20, "yes")
        body = ask(name, thinking_token_budget=budget, **fields)
        message, finish, usage = whole(server, body)
        assert reasoning(message).split() == ["hm"] * budget, name
        # The tokens that close it are of it, too.
        assert budget <= usage["completion_tokens_details"]["reasoning_tokens"] <= budget + 8
        assert "<think>" not in message["content"]
        # Where the end of the thinking takes the place of the last words, they are not said.
        assert message["content"].endswith("yes") or budget > 10
        assert finish == "stop"
        assert "".join(reasoning(delta) for delta in streamed(server, body)[0]).split() == ["hm"] * budget
        for unbounded in (-1, 21, 1000):
            same = whole(server, ask(name, thinking_token_budget=unbounded, **fields))
            assert (same[0], same[2]["completion_tokens"]) == (free[0], free[2]["completion_tokens"]), unbounded
