"""One field under proof."""

import json
from typing import TYPE_CHECKING, Any

from contract.proofs.talk import ABSENT, QUESTION, Absent, Answer
from overt.contract.field import Field, Route

if TYPE_CHECKING:
    from contract.proofs.servers import Servers

Body = dict[str, Any]


class Trial:
    """Asks the servers for one field with different values, and remembers what was compared."""

    def __init__(self, servers: "Servers", route: Route, field: Field) -> None:
        self.servers = servers
        self.route = route
        self.field = field
        self._values: dict[str, set[str]] = {}
        self._told: set[str] = set()

    def ask(
        self, value: Any = ABSENT, /, on: str = "tiny", *, headers: dict[str, str] | None = None, **rest: Any
    ) -> Answer:
        """Sends the least request of the route with the field at `value` and the fields of `rest`.

        `ABSENT` leaves a field out. `prompt` is the text of the one message in a chat. A member of an object is put
        into the object of `rest`.
        """
        sent_headers = dict(headers or {})
        body = least(self.route, rest)
        self._note(on, body, sent_headers, value)
        if not isinstance(value, Absent):
            if self.field.location == "header":
                sent_headers[self.field.name] = value
            else:
                outer, _, inner = self.field.name.partition(".")
                body[outer] = {**body.get(outer, {}), inner: value} if inner else value
        answer = self.servers[on].ask(self.route, body, sent_headers)
        if answer.status == 200 and not isinstance(value, Absent):
            self._told.add("told" if self.field.name in answer.effects else "honoured")
        return answer

    def _note(self, on: str, body: Body, headers: dict[str, str], value: Any) -> None:
        # The field's own place is not a part of the rest.
        rest = {key: part for key, part in body.items() if key != self.field.name}
        said = "absent" if isinstance(value, Absent) else json.dumps(value)
        if isinstance(value, Absent) and self.field.location == "body" and self.field.name in body:
            said = json.dumps(body[self.field.name])
        self._values.setdefault(json.dumps([on, rest, headers], sort_keys=True), set()).add(said)

    def finish(self) -> None:
        """What every proof has to show: two requests differed in the field alone, and it was served as sent."""
        assert any(len(values) > 1 for values in self._values.values()), "no two requests differ in the field alone"
        assert "honoured" in self._told, "no answer came of a request with the field that was served as sent"

    def noted(self, on: str, body: Body, headers: dict[str, str], value: Any) -> None:
        """The same for requests that a proof sends by itself."""
        self._note(on, body, headers, value)
        self._told.add("honoured")


def least(route: Route, rest: Body) -> Body:
    """The least request of a route with further fields; those that are `ABSENT` are left out."""
    fields = dict(rest)
    prompt = fields.pop("prompt", QUESTION)
    body: Body = {"model": "m"}
    match route:
        case "chat":
            body |= {"messages": [{"role": "user", "content": prompt}], "temperature": 0, "max_tokens": 4}
        case "completions":
            body |= {"prompt": prompt, "temperature": 0, "max_tokens": 4}
        case "tokenize":
            body |= {} if "messages" in fields else {"prompt": prompt}
        case "detokenize":
            body |= {"tokens": [70, 71, 72]}
        case "parse":
            body |= {"text": prompt}
    body |= fields
    return {name: value for name, value in body.items() if not isinstance(value, Absent)}
