"""Request headers that mean something, here or elsewhere."""

from overt.contract import standings
from overt.contract.field import ALL, GENERATE, INT32, Field, Kind, Origin, Route, Status


def _header(
    name: str,
    meaning: str,
    *,
    kind: Kind = "string",
    origin: Origin = "openai",
    routes: tuple[Route, ...] = ALL,
    condition: str = "",
    form: str = "",
    effect: Status = "honoured",
    reason: str = "",
    advice: str = "leave it out",
    low: float | None = None,
    high: float | None = None,
    noop: tuple[str, ...] = (),
) -> Field:
    return Field(
        name,
        routes,
        kind,
        meaning,
        origin,
        location="header",
        condition=condition,
        form=form,
        effect=effect,
        reason=reason,
        advice="" if effect == "honoured" else advice,
        low=low,
        high=high,
        noop=noop,
    )


def _key(name: str, meaning: str, origin: Origin) -> Field:
    return Field(name, ALL, "string", meaning, origin, location="header", rest=standings.authorization)


def _inert(name: str, meaning: str, origin: Origin, reason: str, advice: str = "leave it out") -> Field:
    return _header(
        name, meaning, origin=origin, routes=GENERATE, effect="inert", reason=reason, advice=advice, noop=("",)
    )


_OVERRIDE = "headers do not override bodies here"
_ONE_ENGINE = "one engine serves all requests"

HEADERS = (
    _key("authorization", "`Bearer` and a key of the server.", "openai"),
    _key("x-api-key", "The same, as Anthropic's clients send it.", "openai"),
    _header(
        "content-type",
        "What the body is.",
        condition="JSON in UTF-8: `application/json` or a kind of it; absent is taken for it",
    ),
    _header("content-encoding", "How the body is packed.", condition="only `identity`: packed bodies are a 415"),
    _header("content-length", "Bytes of the body.", kind="integer", low=0, condition="at most --max-body-bytes"),
    _header(
        "x-request-id",
        "Comes back in the response, and is the answer's id behind its prefix; absent: one is made.",
        origin="vllm",
        condition="1 to 128 printable ASCII characters without spaces",
    ),
    _header(
        "x-data-parallel-rank",
        "Which replica serves.",
        kind="integer",
        origin="vllm",
        form="0: this server has one data-parallel rank",
    ),
    _header(
        "x-vllm-priority",
        "The request's priority; it comes before the body's.",
        kind="integer",
        origin="vllm",
        routes=GENERATE,
        low=-INT32,
        high=INT32 - 1,
    ),
    _header(
        "endpoint-load-metrics-format",
        "The response's header `endpoint-load-metrics` tells the server's load.",
        origin="vllm",
        form="TEXT or JSON",
    ),
    _header("overt-profile", "The profile for this request.", origin="overt"),
    _header("overt-strict", "Served as sent or not at all.", origin="overt", form="0 or 1"),
    # --- inert ---
    _inert("x-session-id", "Which conversation the request belongs to.", "vllm",
           "prefixes are found by their content, wherever they were first sent"),
    _inert("traceparent", "The trace that the request is a part of.", "vllm", "traces are not exported"),
    _inert("tracestate", "What vendors add to `traceparent`.", "vllm", "traces are not exported"),
    _inert("openai-organization", "Whom OpenAI bills.", "openai", "there are no organizations here"),
    _inert("openai-project", "Whom OpenAI bills.", "openai", "there are no projects here"),
    _inert("idempotency-key", "Marks repetitions of one request.", "openai", "every request is served anew"),
    _inert("x-smg-routing-key", "Groups requests for a router.", "sglang", _ONE_ENGINE, "use `user` for a fair share"),
    _inert("x-custom-labels", "Labels for the server's metrics.", "sglang", "metrics have no labels of clients"),
    _inert("x-sglext-return-input-ids", "The prompt's ids with the answer.", "sglang", _OVERRIDE,
           "use `return_token_ids`"),
    _inert("x-sglext-return-output-ids", "The answer's ids with it.", "sglang", _OVERRIDE, "use `return_token_ids`"),
    _inert("x-sglext-ids-framed", "Ids in an event of their own.", "sglang", _OVERRIDE, "use `return_token_ids`"),
    _inert("x-override-rid", "The answer's id.", "sglang", _OVERRIDE, "use `x-request-id`"),
    _inert("x-override-priority", "The request's priority.", "sglang", _OVERRIDE, "use `priority`"),
    _inert("x-override-conversation-id", "Which conversation the request belongs to.", "sglang", _OVERRIDE),
    _inert("x-override-routed-dp-rank", "Which replica serves.", "sglang", _ONE_ENGINE),
    _inert("x-override-disagg-prefill-dp-rank", "Which replica prefilled.", "sglang", _ONE_ENGINE),
    _inert("x-override-bootstrap-host", "Where the prefill server is.", "sglang", _ONE_ENGINE),
    _inert("x-override-bootstrap-port", "Where the prefill server is.", "sglang", _ONE_ENGINE),
    _inert("x-override-bootstrap-room", "Which prefill to fetch.", "sglang", _ONE_ENGINE),
    # --- refused ---
    _header("x-body-compressed", "How the body is packed.", origin="sglang", effect="refused",
            reason="packed bodies are not read", advice="send plain JSON"),
)  # fmt: skip
